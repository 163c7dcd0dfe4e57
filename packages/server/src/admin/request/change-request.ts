// Who asks for a change and why, as the audit log has it, out of a request.

import { createHash } from "node:crypto";
import { ServerError } from "../../base/errors.js";
import { randomId } from "../../base/random-id.js";
import type { ChangeRequest } from "../../control/changes/changes.js";
import type { KeyedChange } from "../../control/changes/keyed-acts.js";
import type { AdminRequest } from "../route.js";

/** Says why a change is made, where the body has no `reason`. */
const REASON_HEADER = "sluice-reason";
const REASON_LENGTH_MAX = 1_000;
const KEY_LENGTH_MAX = 255;

/**
 * The change that a request asks for.
 *
 * @throws ServerError `SLUICE_REQUEST_INVALID` if the reason or the Idempotency-Key is too long.
 */
export function toChange(request: AdminRequest): ChangeRequest {
  const { caller, message, input } = request;
  const said = (input as { readonly reason?: string } | undefined)?.reason;
  const reason = said ?? String(message.headers[REASON_HEADER] ?? "");
  if (reason.length > REASON_LENGTH_MAX)
    throw invalid(`a reason has at most ${REASON_LENGTH_MAX} characters`);
  const keyed = toKeyedChange(request);
  const id = keyed?.request ?? randomId(32);
  return { id, keyOwner: keyed?.owner, actor: caller.name, origin: caller.origin, reason };
}

/**
 * The Idempotency-Key of a request, with who sent it and what it asks; undefined for a request without one.
 *
 * @throws ServerError `SLUICE_REQUEST_INVALID` if the key is empty or too long.
 */
export function toKeyedChange(request: AdminRequest): KeyedChange | undefined {
  const { caller, message, input } = request;
  const key = message.headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || key === "" || key.length > KEY_LENGTH_MAX)
    throw invalid(`an Idempotency-Key has 1 to ${KEY_LENGTH_MAX} characters`);
  const who = caller.tokenId ?? caller.name;
  // The same key means the same request only from the same caller, and with the same content.
  return {
    owner: toHash([who, key]),
    request: toHash([who, key, message.method, message.url, input]),
  };
}

function toHash(content: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("base64url");
}

function invalid(seen: string): ServerError {
  return new ServerError("SLUICE_REQUEST_INVALID", seen);
}
