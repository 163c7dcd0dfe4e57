// What a request under a limiter may say besides its key.

import type { TimeOptions } from "../base/clock.js";

/** Options of a request. */
export interface RequestOptions extends TimeOptions {
  /** Whole units, 0 to 2^53 - 1; default 1. A cost of 0 asks and charges nothing. */
  cost?: number;
  /** Makes the same request, sent twice, count once. Never take it from an untrusted client. */
  requestId?: string;
  /**
   * The caller, if many callers share the key: an identity, checked like a key. It chooses
   * the shard of a split limit and has no other effect.
   */
  caller?: string;
}

/** Options of a `peek`. */
export type PeekRequest = Pick<RequestOptions, "cost" | "caller" | "nowMs">;
