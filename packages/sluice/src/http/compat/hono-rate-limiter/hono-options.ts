// The options of the Hono middleware: ours, and those that users of hono-rate-limiter know, which keep
// their meaning.

import type { Context, Next } from "hono";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import type { PeerOptions } from "../../exchange/fetch/fetch-options.js";
import type { RateLimitOptions } from "../../handler/http-options.js";
import type { LimitOrNumber } from "../handler-choice.js";

/** A value that depends on the request. */
export type OfContext<T> = (c: Context) => MaybePromise<T>;

/** Answers a refused request, or lets it go on by `next`. The headers are already set. */
export type HonoRefusalHandler = (c: Context, next: Next, options: HonoOptions) => unknown;

/** Options of the Hono middleware without a policy. */
export interface HonoOptions extends Omit<RateLimitOptions<Context>, "limit">, PeerOptions {
  /**
   * A limit such as `tokenBucket(…)` or `"100/minute"`, or several; or the number of requests in each `windowMs`, or a
   * function that chooses it. Default 5.
   */
  limit?: LimitOrNumber<Context>;
  /** How long a window is, where `limit` is a number; default 60,000. */
  windowMs?: number;
  /** Returns the key to count by, in place of `key`: a number or a non-empty string. */
  keyGenerator?: OfContext<string | number>;
  /** Answers refused requests. */
  handler?: HonoRefusalHandler;
  /** The body of refusals: a string is sent as text, anything else as JSON. */
  message?: unknown;
  /** The status of refused requests, 400 to 599; default 429. */
  statusCode?: number;
  /** `true` is `"draft-6"`, `false` is `headers: "none"`. Default: as `headers` says. */
  standardHeaders?: boolean | "draft-6" | "draft-7" | "draft-8";
  /** Does not count requests that fail. A request whose client disconnects stays counted. Default false. */
  skipFailedRequests?: boolean;
  /** Counts only requests that fail. Default false. */
  skipSuccessfulRequests?: boolean;
  /** Whether a request was successful; default: a status below 400. `c.res` is the response. */
  requestWasSuccessful?: OfContext<boolean>;
  /** Where handlers find what was decided: `c.get(…)`; default `"rateLimit"`. */
  requestPropertyName?: string;
}
