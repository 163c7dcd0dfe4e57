// Checks the request id that a function in code returned.

import { SluiceError, show } from "../../base/errors.js";
import { drop } from "../../base/maybe-promise.js";

/**
 * The id of a request; undefined if it has none. Any other value could be the same id for all requests, of which only the first would
 * count.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID`.
 */
export function toRequestId(answer: unknown): string | undefined {
  if (answer === undefined || (typeof answer === "string" && answer !== "")) return answer;
  drop(answer);
  const seen = `requestId must return a string or undefined, not a promise; got ${show(answer)}`;
  throw new SluiceError("SLUICE_OPTION_INVALID", seen);
}
