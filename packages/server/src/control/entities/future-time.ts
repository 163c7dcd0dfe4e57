// Checks that an end is in the future. An end in the past is a mistake, such as a wrong year or unit.

import { ServerError } from "../../base/errors.js";

/** The latest time that a date can be. */
const DATE_MS_MAX = 8_640_000_000_000_000;

/**
 * Does nothing if a time is in the future, or absent.
 *
 * @throws ServerError `SLUICE_REQUEST_INVALID` that names the field.
 */
export function mustBeAhead(field: string, atMs: number | undefined, nowMs: number): void {
  if (atMs === undefined || atMs > nowMs) return;
  const date = Math.abs(atMs) <= DATE_MS_MAX ? `, which is ${new Date(atMs).toISOString()}` : "";
  const seen = `${field} must be in the future, got ${atMs}${date}`;
  throw new ServerError("SLUICE_REQUEST_INVALID", seen);
}
