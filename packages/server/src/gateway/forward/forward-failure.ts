// What happens to a request that failed: whether it may be sent again, and which status the client gets.

import type { Exchange } from "sluice-http1";
import type { ProblemStatus } from "../gateway-replies.js";
import type { UpstreamFailure } from "../upstream/upstream-caller.js";

const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);
const NOT_SENT: ReadonlySet<UpstreamFailure["kind"]> = new Set([
  "connect",
  "tls",
  "connect-timeout",
  "busy",
]);

const STATUS: Readonly<Record<UpstreamFailure["kind"], ProblemStatus>> = {
  connect: 502,
  tls: 502,
  "connect-timeout": 504,
  busy: 503,
  closed: 502,
  broken: 502,
  "response-timeout": 504,
  "idle-timeout": 504,
};

/** Whether a request may be sent twice: it is idempotent, and has no body that is already gone. */
export function isRepeatable({ method, body }: Exchange): boolean {
  return body === undefined && IDEMPOTENT.has(method);
}

/**
 * Whether another backend may be tried: for a request that was not sent, and for a repeatable one if no byte of a response
 * came back. A request that took too long is not sent again: it would only add load.
 */
export function mayGoElsewhere(
  { kind, hasResponse }: UpstreamFailure,
  exchange: Exchange,
): boolean {
  if (hasResponse) return false;
  return NOT_SENT.has(kind) || (kind === "closed" && isRepeatable(exchange));
}

/**
 * Whether the failure says nothing about the backend: it may have closed the connection because of a body that is too
 * large or too slow for it. Otherwise one client with such bodies could have it ejected for all.
 */
export function isUnclear({ kind }: UpstreamFailure, { body }: Exchange): boolean {
  return kind === "closed" && body?.isComplete === false;
}

/**
 * The status of the answer to a request that failed.
 *
 * @param isClientFault - Whether the client caused the failure.
 */
export function statusOf({ kind }: UpstreamFailure, isClientFault: boolean): ProblemStatus {
  return isClientFault ? 408 : STATUS[kind];
}
