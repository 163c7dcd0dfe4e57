// The options of the Fastify plugin: ours, and those that users of @fastify/rate-limit know, which keep
// their meaning.

import type { FastifyRequest, preHandlerHookHandler } from "fastify";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import type { LimitOrRate } from "../../../limits/rate.js";
import type { Store } from "../../../stores/store.js";
import type { HttpOptions, RateLimitOptions } from "../../handler/http-options.js";
import type { RefusalContext } from "../../response/refusal.js";
import type { ForeignStoreClass } from "./foreign-store.js";

/** Where in the life of a request it is counted. */
export type FastifyHook = "onRequest" | "preParsing" | "preValidation" | "preHandler";

/** A value that depends on the request and the key under which it is counted. */
export type ValueByKey<T> = (request: FastifyRequest, key: string) => MaybePromise<T>;

/** What `errorResponseBuilder` gets. */
export interface ErrorResponseContext {
  /** 429, or 403 for a banned caller. */
  readonly statusCode: number;
  readonly ban: boolean;
  /** How long to wait, as "1 minute". */
  readonly after: string;
  readonly max: number;
  /** How long to wait, in milliseconds. */
  readonly ttl: RefusalContext["retryAfterMs"];
}

/** Options of a limit, for all routes or in `config.rateLimit` of one. */
export interface FastifyLimitOptions extends Omit<RateLimitOptions<FastifyRequest>, "limit"> {
  /** A limit such as `tokenBucket(…)` or `"100/minute"`, or several, in place of `max` and `timeWindow`. */
  limit?: LimitOrRate | readonly LimitOrRate[];
  /** How many requests in each `timeWindow`; default 1,000. With 0 every request is refused. */
  max?: number | ValueByKey<number>;
  /** In milliseconds, or a string: `"1 minute"`, `"30s"`; default 60,000. */
  timeWindow?: number | string | ValueByKey<number>;
  /** Returns the key to count by, in place of `key`: a number or a non-empty string. */
  keyGenerator?: (request: FastifyRequest) => MaybePromise<string | number>;
  /** Keys that are not counted, as `keyGenerator` returns them, or addresses without it; or a function. */
  allowList?: readonly (string | number)[] | ValueByKey<boolean>;
  /** How many refusals in a window it takes until the response is 403; default: never. */
  ban?: number;
  /** A refused request starts the window again: the caller has to pause for all of it. Default false. */
  continueExceeding?: boolean;
  /** As `continueExceeding`, and each refusal doubles the wait that is shown. Default false. */
  exponentialBackoff?: boolean;
  /** How many bits of an IPv6 address are one client, 1 to 128; default 64. */
  ipv6Subnet?: number;
  /** Default `"onRequest"`. */
  hook?: FastifyHook;
  /** Makes what is thrown for a refused request: Fastify's error handling answers it. */
  errorResponseBuilder?: (
    request: FastifyRequest,
    context: ErrorResponseContext,
  ) => MaybePromise<object>;
  /** Called for each request that passes. Exceptions that it and the next two throw go to `onError`. */
  onExceeding?: (request: FastifyRequest, key: string) => unknown;
  /** Called for each request that is refused. */
  onExceeded?: (request: FastifyRequest, key: string) => unknown;
  /** Called for each refusal of a banned caller. */
  onBanReach?: (request: FastifyRequest, key: string) => unknown;
  /** `true` is `onStoreFailure: "open"`, `false` is `"throw"`. Default: `"local"`. */
  skipOnError?: boolean;
  /** RateLimit-Limit, -Remaining and -Reset in place of the X- ones; default: as `headers` says. */
  enableDraftSpec?: boolean;
  /** Headers that refusals go without, by lower-case name: `{ "retry-after": false }`. */
  addHeaders?: Readonly<Record<string, boolean>>;
  /** Headers that other responses go without. */
  addHeadersOnExceeding?: Readonly<Record<string, boolean>>;
  /** Routes with the same one share their counters; default: each route has its own. */
  groupId?: string;
}

/** Options of the plugin over a policy. */
export type FastifyPolicyOptions = HttpOptions<FastifyRequest> & {
  /** Where in the life of a request it is counted; default `"onRequest"`. */
  hook?: FastifyHook;
};

/** Options of the plugin without a policy. */
export interface FastifyOptions extends Omit<FastifyLimitOptions, "store"> {
  /** Whether routes without `config.rateLimit`, and requests without a route, count; default true. */
  global?: boolean;
  /** The prefix of counter names: `name`, under another name. */
  nameSpace?: string;
  /** Where the counters are; or a store class that was written for @fastify/rate-limit. */
  store?: Store | ForeignStoreClass;
  /** How many keys are kept in memory, if there is no `store`. */
  cache?: number;
}

declare module "fastify" {
  interface FastifyInstance {
    /** A hook for a handler that has none of its own, such as that of 404; default: the plugin's limit. */
    rateLimit(options?: FastifyLimitOptions): preHandlerHookHandler;
  }
  interface FastifyContextConfig {
    /** Limits of this route alone, or `false` for none. */
    rateLimit?: FastifyLimitOptions | false;
  }
}
