// The options of the Koa middleware: ours, and those that users of koa-ratelimit know, which keep their
// meaning.

import type { Context } from "koa";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import type { RateLimitOptions } from "../../handler/http-options.js";

/** The unit of a length of time whose name, taken over from koa-ratelimit, does not say it. */
export type Milliseconds = number;

/** Names of the headers that report the caller's limit. */
export interface KoaFieldNames {
  /** Default `X-RateLimit-Remaining`. */
  remaining?: string;
  /** In seconds since 1970; default `X-RateLimit-Reset`. */
  reset?: string;
  /** Default `X-RateLimit-Limit`. */
  total?: string;
}

/** Options of the Koa middleware without a policy. */
export interface KoaOptions extends Omit<RateLimitOptions<Context>, "limit" | "headers"> {
  /** A limit such as `tokenBucket(…)` or `"100/minute"`, or several, in place of `max` and `duration`. Default: 2,500 in an hour. */
  limit?: RateLimitOptions<Context>["limit"];
  /** How many requests in each `duration`; default 2,500. With 0 every request is refused. */
  max?: number;
  /** How long a window is; default 3,600,000. */
  duration?: Milliseconds;
  /** Returns the key to count by, in place of `key`; `false`: the request is not counted. */
  id?: (ctx: Context) => MaybePromise<string | number | false>;
  /** Requests that are not counted: `skip`, under another name. */
  whitelist?: (ctx: Context) => MaybePromise<boolean>;
  /** Requests that are refused with 403, whatever the limit. */
  blacklist?: (ctx: Context) => MaybePromise<boolean>;
  /** The body of refusals, in place of `body`: a string, or an object that is sent as JSON. */
  errorMessage?: string | object;
  /** The status of refusals, 400 to 599; default 429. */
  status?: number;
  /** Throws refusals with `ctx.throw`, so that the application's error handling answers them. Default false. */
  throw?: boolean;
  /** The form of the RateLimit headers, or names in place of `X-RateLimit-*`. */
  headers?: RateLimitOptions["headers"] | KoaFieldNames;
  /** Sends no header but Retry-After. Default false. */
  disableHeader?: boolean;
  /** Called for each refusal; `onRefused`, under another name. */
  onLimited?: (ctx: Context) => unknown;
}
