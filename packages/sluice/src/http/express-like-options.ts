// Options that hono-rate-limiter took over from express-rate-limit, said in ours: which responses count, in which
// form the RateLimit fields are, and what can't be given together.

import { type OptionSite, oneOf } from "../options.js";
import type { HeaderForm } from "./headers.js";

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

/** What both call a failure, as rules write it. */
const FAILURES = ["4xx", "5xx"];

/** Which responses count. */
export interface CountedResponses {
  readonly skipFailedRequests?: boolean;
  readonly skipSuccessfulRequests?: boolean;
}

/** `when` or `settle` of the rule. With a function that decides, what is counted is settled by code. */
export function toCounted(options: CountedResponses, isByFunction: boolean): object {
  if (isByFunction) return { settle: "code" };
  if (options.skipFailedRequests) return { when: { statusNot: FAILURES } };
  return options.skipSuccessfulRequests ? { when: { status: FAILURES } } : {};
}

/** `standardHeaders` as a form of the fields. */
export function toHeaderForm(site: OptionSite, standardHeaders: unknown): HeaderForm {
  if (standardHeaders === true) return "draft-6";
  if (standardHeaders === false) return "none";
  return oneOf(site, "standardHeaders", standardHeaders, ["draft-6", "draft-7", "draft-8"]);
}
