// Who asks for a change and why, as the audit log has it, out of a request.

import { createHash } from "node:crypto";
import { ServerError } from "../base/errors.js";
import type { ChangeRequest } from "../control/changes/changes.js";
import { randomSecret } from "./auth/random.js";
import type { AdminRequest } from "./route.js";

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
  return { id: toId(request), actor: caller.name, origin: caller.origin, reason };
}

/** The same key means the same change only from the same caller, and with the same content. */
function toId({ caller, message, input }: AdminRequest): string {
  const key = message.headers["idempotency-key"];
  if (key === undefined) return randomSecret();
  if (typeof key !== "string" || key === "" || key.length > KEY_LENGTH_MAX)
    throw invalid(`an Idempotency-Key has 1 to ${KEY_LENGTH_MAX} characters`);
  const who = caller.tokenId ?? caller.name;
  const content = JSON.stringify([who, key, message.method, message.url, input]);
  return createHash("sha256").update(content).digest("base64url");
}

function invalid(seen: string): ServerError {
  return new ServerError("SLUICE_REQUEST_INVALID", seen);
}
