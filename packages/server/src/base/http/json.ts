// JSON off a request, for every listener that takes it.

import { isUtf8 } from "node:buffer";
import { ServerError, show } from "../errors.js";

const JSON_TYPE = "application/json";

/**
 * Looks at the `Content-Type` of a request. A page of elsewhere can make a browser send a form, but not JSON.
 *
 * @throws ServerError `SLUICE_MEDIA_TYPE`.
 */
export function mustBeJson(type: string | undefined): void {
  if (type === JSON_TYPE) return;
  const [essence] = (type ?? "").split(";", 1);
  if (essence.trim().toLowerCase() === JSON_TYPE) return;
  throw new ServerError("SLUICE_MEDIA_TYPE", `got ${show(type)}`);
}

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
