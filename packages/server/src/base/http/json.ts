// JSON bodies of requests, for every listener that accepts them.

import { isUtf8 } from "node:buffer";
import { ServerError, show } from "../errors.js";

const JSON_TYPE = "application/json";

/**
 * Checks the `Content-Type` of a request. A page of another origin can make a browser send a form, but not JSON.
 *
 * @throws ServerError `SLUICE_MEDIA_TYPE`.
 */
export function mustBeJson(type: string | undefined): void {
  if (type === JSON_TYPE) return;
  const [essence] = (type ?? "").split(";", 1);
  if (essence.trim().toLowerCase() === JSON_TYPE) return;
  throw new ServerError("SLUICE_MEDIA_TYPE", `got ${show(type)}`);
}

/** What invalid UTF-8 is decoded to. */
const REPLACED = "\ufffd";

/** @throws ServerError if it is not JSON, or not UTF-8: two different keys must never become one. */
export function parseJson(body: Buffer): unknown {
  const text = body.toString();
  if (text.includes(REPLACED) && !isUtf8(body)) {
    throw new ServerError("SLUICE_REQUEST_INVALID", "the body is not UTF-8");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ServerError("SLUICE_REQUEST_INVALID", `the body is not JSON: ${why}`);
  }
}
