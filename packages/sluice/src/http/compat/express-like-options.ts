// Options that hono-rate-limiter took over from express-rate-limit, translated into ours: which responses count, in which
// form the RateLimit headers are, and what can't be given together.

import { andThen, type MaybePromise } from "../../base/maybe-promise.js";
import { anyFunction, nonEmptyString } from "../../base/shapes/code-options.js";
import {
  anything,
  choice,
  either,
  type Field,
  flag,
  optional,
  wholeNumber,
} from "../../base/shapes/shapes.js";
import type { HeaderForm } from "../response/rate-limit-headers.js";

/** Options of which only one of a pair may be given. */
export const EXPRESS_LIKE_PAIRS = [
  ["key", "keyGenerator"],
  ["headers", "standardHeaders"],
  ["body", "message"],
  ["body", "handler"],
  ["when", "skipFailedRequests"],
  ["when", "skipSuccessfulRequests"],
  ["settle", "skipFailedRequests"],
  ["settle", "skipSuccessfulRequests"],
  ["skipFailedRequests", "skipSuccessfulRequests"],
] as const;

const STATUS = { min: 400, max: 599 };

type StandardHeaders = boolean | "draft-6" | "draft-7" | "draft-8";

const standardHeaders = either<StandardHeaders>("true, false, draft-6, draft-7 or draft-8", [
  { fits: (value) => typeof value === "boolean", shape: flag },
  { fits: () => true, shape: choice(["draft-6", "draft-7", "draft-8"]) },
]);

/** The options that both have. How long a window is, is checked with its limit. */
export const EXPRESS_LIKE_FIELDS = {
  windowMs: optional(anything()),
  keyGenerator: optional(anyFunction),
  handler: optional(anyFunction),
  message: optional(anything()),
  statusCode: optional(wholeNumber(STATUS)),
  standardHeaders: optional(standardHeaders),
  skipFailedRequests: optional(flag),
  skipSuccessfulRequests: optional(flag),
  requestWasSuccessful: optional(anyFunction),
  requestPropertyName: optional(nonEmptyString),
} satisfies Record<string, Field<unknown>>;

/** What both call a failure, as rules write it. */
const FAILURES = ["4xx", "5xx"];

/** Which responses count. `Args` is what the framework's functions get. */
export interface CountedResponses<Args extends unknown[] = never> {
  readonly skipFailedRequests?: boolean;
  readonly skipSuccessfulRequests?: boolean;
  readonly requestWasSuccessful?: (...args: Args) => MaybePromise<boolean>;
}

/** Says whether a response counts; undefined if its status alone does, as {@link toCounted} has it. */
export function toIsCounted<Args extends unknown[]>(
  options: CountedResponses<Args>,
): ((...args: Args) => MaybePromise<boolean>) | undefined {
  const { requestWasSuccessful, skipFailedRequests, skipSuccessfulRequests } = options;
  if (requestWasSuccessful === undefined) return undefined;
  if (!skipFailedRequests && !skipSuccessfulRequests) return undefined;
  return (...args) =>
    andThen(
      requestWasSuccessful(...args),
      (isSuccess) => Boolean(isSuccess) === Boolean(skipFailedRequests),
    );
}

/** `when` or `settle` of the rule. With a function that decides, what is counted is settled by code. */
export function toCounted(options: CountedResponses, isByFunction: boolean): object {
  if (isByFunction) return { settle: "code" };
  if (options.skipFailedRequests) return { when: { statusNot: FAILURES } };
  return options.skipSuccessfulRequests ? { when: { status: FAILURES } } : {};
}

/** `standardHeaders` as a form of the headers. */
export function toHeaderForm(form: StandardHeaders): HeaderForm {
  if (form === true) return "draft-6";
  return form === false ? "none" : form;
}
