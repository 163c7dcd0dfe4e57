// The options of a NestJS application: those of every framework, several limits by name, and functions
// that see the ExecutionContext beside the request.

import type { ExecutionContext } from "@nestjs/common";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import type { LimitOrRate } from "../../../limits/rate.js";
import type { RateLimitOptions } from "../../handler/http-options.js";
import type { SimpleOptions } from "../../handler/limits-in-code.js";
import type { RefusalBody, RefusalContext, WrittenBody } from "../../response/refusal.js";

/** The limits that a controller or handler declares. */
export interface OwnLimit {
  readonly options: NestOptions;
  /** The rule's id if the options give none: `CatsController.findAll`. */
  readonly name: string;
}

/**
 * A function of a request, which may declare it as the platform's own type, and of the ExecutionContext:
 * `context.getHandler()`, `context.getClass()`. Requests for `statusPath` have no context.
 */
export type OfRequest<T> = {
  ask(request: object, context: ExecutionContext): MaybePromise<T>;
}["ask"];

/** How requests are counted: by which key, at which cost, and which not at all. */
interface NestFunctions {
  /**
   * What is counted by: dimensions, among which `"handler"` counts each handler of a controller apart, or
   * a function whose answer is the key. Undefined: the request is not counted. Default `"ip"`.
   */
  key?: string | readonly string[] | OfRequest<string | undefined>;
  /** Whole units from 0; default 1. */
  cost?: number | OfRequest<number>;
  /** Requests that are not counted. */
  skip?: OfRequest<boolean>;
}

type OfOneLimit = Omit<
  SimpleOptions,
  keyof NestFunctions | "limit" | "store" | "clock" | "onStoreFailure"
>;

/** One of several limits. Options that it omits come from the options around it. */
export interface NestLimit extends OfOneLimit, NestFunctions {
  /** By which `@RateLimit` and `@SkipRateLimit` refer to it; also the rule's id. Default `"default"`. */
  name?: string;
  /** May be left out in `@RateLimit`, where the module has a limit of that name. */
  limit?: LimitOrRate | readonly LimitOrRate[];
}

/** The options of one limit or several. */
export interface NestOptions
  extends Omit<RateLimitOptions, keyof NestFunctions | "limit" | "body">,
    NestFunctions {
  /** One limit, or several that count by the same key and have no names. */
  limit?: LimitOrRate | readonly LimitOrRate[];
  /** Up to 8 limits with names, in place of `limit`. They are decided together. */
  limits?: readonly NestLimit[];
  /** The body of a refusal: `"problem"` (default), `"text"`, `"minimal"`, or a function that writes it. */
  body?:
    | Exclude<RefusalBody, (...args: never[]) => unknown>
    | ((refusal: RefusalContext, context: ExecutionContext) => WrittenBody);
}
