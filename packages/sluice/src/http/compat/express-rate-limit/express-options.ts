// The options of the Express middleware: ours, and those that users of express-rate-limit know, which
// keep their meaning.

import type { NextFunction, Request, Response } from "express";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import type { LimitOrRate } from "../../../limits/rate.js";
import type { RateLimitOptions } from "../../handler/http-options.js";
import type { HeaderForm } from "../../response/rate-limit-headers.js";

/** A value that depends on the request, or a promise of it. */
export type ValueOf<T> = (request: Request, response: Response) => MaybePromise<T>;

/** Answers a refused request in place of the usual response. The headers are already set. */
export type RefusalHandler = (
  request: Request,
  response: Response,
  next: NextFunction,
  options: ExpressOptions,
) => unknown;

/** Options of the Express middleware without a policy. */
export interface ExpressOptions
  extends Omit<RateLimitOptions<Request>, "limit" | "skip" | "headers"> {
  /** The form of the RateLimit headers; default `"draft-11"`. As a boolean: `legacyHeaders`. */
  headers?: HeaderForm | boolean;
  /**
   * A limit such as `tokenBucket(…)` or `"100/minute"`, or several; or the number of requests in each `windowMs`, or a
   * function that chooses it. With 0 every request is refused. Numbers may be strings. Default 5.
   */
  limit?: LimitOrRate | readonly LimitOrRate[] | number | string | ValueOf<number>;
  /** The former name of `limit` as a number or a function; `limit` beside it holds. */
  max?: number | string | ValueOf<number>;
  /** How long a window is, where `limit` is a number; default 60,000. */
  windowMs?: number;
  /** Returns the key to count by, in place of `key`: a number or a non-empty string. */
  keyGenerator?: ValueOf<string | number>;
  /** Requests that are not counted at all. */
  skip?: ValueOf<boolean>;
  /** Answers refused requests. */
  handler?: RefusalHandler;
  /**
   * What `response.send` sends to refused requests, in place of `body`. Default, if `limit` is a number or a
   * function and `body` is not given: the message of express-rate-limit.
   */
  message?: unknown;
  /** The status of refused requests, 400 to 599; default 429. */
  statusCode?: number;
  /** `true` is `"draft-6"`, `false` is `headers: "none"`. Default: as `headers` says. */
  standardHeaders?: boolean | "draft-6" | "draft-7" | "draft-8";
  /**
   * The Retry-After of refusals in whole seconds from 1, in place of the true one, which is sent if a function
   * returns anything else.
   */
  retryAfter?: number | ValueOf<number>;
  /** Does not count requests that fail. A request whose client disconnects stays counted. Default false. */
  skipFailedRequests?: boolean;
  /** Counts only requests that fail. Default false. */
  skipSuccessfulRequests?: boolean;
  /** Whether a request was successful; default: a status below 400. If it throws or rejects, the request counts. */
  requestWasSuccessful?: ValueOf<boolean>;
  /** Where handlers find what is left; default `"rateLimit"`: `req.rateLimit.remaining`. */
  requestPropertyName?: string;
  /** The name in the RateLimit headers: `name`, under another name. */
  identifier?: string;
  /** How many bits of an IPv6 address are one client, 1 to 128 (or false); default 64. */
  ipv6Subnet?: number | false | ValueOf<number | false>;
  /** `true` is `onStoreFailure: "open"`, `false` is `"throw"`. Default: `"local"`. */
  passOnStoreError?: boolean;
  /** Accepted, without effect: options are always checked when they are given. */
  validate?: unknown;
}
