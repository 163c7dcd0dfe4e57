// When a refused caller may retry, computed once for the whole response, so that Retry-After, the RateLimit
// headers and the body agree. Jitter only adds to it, so that a caller that waits is never too early.

import { INTEGER_MAX } from "./limit-description.js";

/** The wait of one refusal. */
export interface Retry {
  /** As it was decided; Infinity if waiting does not help, undefined if it is not known. */
  readonly decidedMs: number | undefined;
  /** As it is shown to the caller; Infinity if no time is shown. */
  readonly shownMs: number;
  /** The same in whole seconds, rounded up, at least 1; undefined if no time is shown. */
  readonly seconds: number | undefined;
}

/** The random part of a wait. */
export interface Jitter {
  readonly jitterMsMax: number;
  readonly random: RandomUpTo;
}

/** A whole number from 0 to `max`, both included. */
export type RandomUpTo = (max: number) => number;

/** The wait that a refusal states, with up to `jitterMsMax` of jitter. */
export function toRetry(waitMs: number | undefined, { jitterMsMax, random }: Jitter): Retry {
  if (waitMs === undefined) return UNKNOWN;
  if (waitMs === Number.POSITIVE_INFINITY) return NEVER;
  const shownMs = Math.max(1, waitMs + (jitterMsMax === 0 ? 0 : random(jitterMsMax)));
  const seconds = Math.min(INTEGER_MAX, Math.ceil(shownMs / 1000));
  return { decidedMs: waitMs, shownMs, seconds };
}

const NEVER: Retry = {
  decidedMs: Number.POSITIVE_INFINITY,
  shownMs: Number.POSITIVE_INFINITY,
  seconds: undefined,
};

const UNKNOWN: Retry = { ...NEVER, decidedMs: undefined };

/** The system's. */
export const systemRandom: RandomUpTo = (max) => {
  const [word] = crypto.getRandomValues(new Uint32Array(1));
  return word % (max + 1);
};
