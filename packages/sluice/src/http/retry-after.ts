// When a refused caller may come back, told once for the whole response: Retry-After, the RateLimit
// fields and the body agree. Chance only adds to it, so that whoever waits is never too early.

import { INTEGER_MAX } from "./headers-limit.js";

/** The wait of one refusal. */
export interface Retry {
  /** As it was decided; Infinity if waiting does not help. */
  readonly withoutJitterMs: number;
  /** As it is told. */
  readonly ms: number;
  /** The same in whole seconds, rounded up, at least 1; undefined if waiting does not help. */
  readonly seconds: number | undefined;
}

/** The wait that a refusal tells, with up to `jitterMs` added by chance. */
export function toRetry(retryAfterMs: number, jitterMs: number): Retry {
  if (retryAfterMs === Number.POSITIVE_INFINITY) return NEVER;
  const ms = Math.max(1, retryAfterMs + (jitterMs === 0 ? 0 : randomUpTo(jitterMs)));
  const seconds = Math.min(INTEGER_MAX, Math.ceil(ms / 1000));
  return { withoutJitterMs: retryAfterMs, ms, seconds };
}

const NEVER: Retry = {
  withoutJitterMs: Number.POSITIVE_INFINITY,
  ms: Number.POSITIVE_INFINITY,
  seconds: undefined,
};

function randomUpTo(max: number): number {
  const [word] = crypto.getRandomValues(new Uint32Array(1));
  return word % (max + 1);
}
