// The response to a request that was shed: 503 with Retry-After, never 429, since the caller has done nothing wrong.

import { type ProblemKind, TYPES, toKind, toProblem } from "../response/problem-body.js";
import { bytesOf, type WholeResponse } from "../response/refusal.js";
import { type RandomUpTo, systemRandom, toRetry } from "../response/retry-after.js";

/** Why a request was shed: too many are in flight, or the circuit breaker is open. */
export type ShedReason = "overloaded" | "circuit-open";

const KINDS: Readonly<Record<ShedReason, ProblemKind>> = {
  overloaded: toKind({
    type: `${TYPES}temporary-reduced-capacity`,
    status: 503,
    title: "Service Unavailable",
    code: "OVERLOADED",
    sentence: "The service has more requests than it can answer",
  }),
  "circuit-open": toKind({
    type: `${TYPES}temporary-reduced-capacity`,
    status: 503,
    title: "Service Unavailable",
    code: "CIRCUIT_OPEN",
    sentence: "The service keeps failing and gets no requests for a moment",
  }),
};

/** When the caller of a shed request may try again. */
export interface ShedRetry {
  readonly retryAfterMs: number;
  /** The most random jitter that is added, so that not all callers come back at the same time. */
  readonly jitterMsMax: number;
  /** Default: the system's. */
  readonly random?: RandomUpTo;
}

/** The whole response to a shed request. Retry-After is in whole seconds, rounded up. */
export function toShedResponse(
  reason: ShedReason,
  { retryAfterMs, jitterMsMax, random = systemRandom }: ShedRetry,
): WholeResponse {
  const retry = toRetry(retryAfterMs, { jitterMsMax, random });
  const kind = KINDS[reason];
  const body = toProblem(kind, [], retry);
  const fields = [
    ...["Cache-Control", "no-store"],
    ...["Content-Type", "application/problem+json"],
    ...["Content-Length", `${bytesOf(body)}`],
    ...["Retry-After", `${retry.seconds}`],
  ];
  return { status: kind.status, fields, body };
}
