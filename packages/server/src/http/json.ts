// JSON off a request, for every door that takes it.

import { isUtf8 } from "node:buffer";
import { ServerError } from "../errors.js";

/** What bytes that are no UTF-8 become. */
const REPLACED = "\ufffd";

/** @throws ServerError if it is no JSON, or no UTF-8: two keys must never become one. */
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
