// The part of the headers about a limit that never changes: its name and its promise. Written once for each limit
// of each rule, so that a request only puts strings together.

import type { Limit } from "../../limits/limits.js";
import type { RuleCharge } from "../../rules/policy/charges/request-charges.js";
import type { LimitTexts } from "../../rules/policy/compile/rule-limits.js";
import type { Rule } from "../../rules/rule.js";

/** The largest integer of a structured field. */
export const INTEGER_MAX = 999_999_999_999_999;

/** What headers show of a rule. */
export interface ShownRule {
  readonly definition: Pick<Rule, "id" | "settle">;
}

/** A limit that was charged, and its rule. */
interface Described extends Pick<RuleCharge, "ruleLimit" | "counter"> {
  readonly rule: ShownRule;
}

/** The strings of the limit that was charged. Kept with the limit: a look-up costs more, the more rules there are. */
export function textsOf(charge: Described): LimitTexts {
  const { ruleLimit } = charge;
  ruleLimit.texts ??= write(charge);
  return ruleLimit.texts;
}

function write({ rule, ruleLimit, counter }: Described): LimitTexts {
  const { id, settle } = rule.definition;
  const name = counter.part === 0 ? id : `${id}/${counter.part + 1}`;
  const limit = `${Math.min(INTEGER_MAX, ruleLimit.limit.capacity)}`;
  const windowMs = windowMsOf(ruleLimit.limit);
  const windowSeconds = Math.min(INTEGER_MAX, Math.ceil(windowMs / 1000));
  const window =
    windowMs < 1000 || windowMs === Number.POSITIVE_INFINITY ? "" : `;w=${windowSeconds}`;
  let unit = "";
  if (ruleLimit.isPermit) unit = ';qu="concurrent-requests"';
  else if (settle?.kind === "bytes") unit = ';qu="content-bytes"';
  // Joined, which makes one string of its characters. A template makes a tree of its parts, all of which each
  // response would go through again (bench service/rules-scale).
  const namedPolicy = ['"', name, '";q=', limit, unit, window].join("");
  const namedState = ['"', name, '";r='].join("");
  return {
    name,
    namedPolicy,
    namedState,
    namedLines: ["RateLimit-Policy: ", namedPolicy, "\r\nRateLimit: ", namedState].join(""),
    legacyLines: ["X-RateLimit-Limit: ", limit, "\r\nX-RateLimit-Remaining: "].join(""),
    policy: [limit, window].join(""),
    limit,
    windowSeconds: windowMs === Number.POSITIVE_INFINITY ? windowMs : windowSeconds,
  };
}

const DAY_MS = 86_400_000;
/** A month by its longest, so that a client that spreads its requests over it stays below the quota. */
const PERIOD_MS = { day: DAY_MS, week: 7 * DAY_MS, month: 31 * DAY_MS };

/**
 * In which time the limit's units come back: a window's length, a bucket's time to refill from empty. Infinity
 * where there is no such time.
 */
function windowMsOf(limit: Limit): number {
  switch (limit.algorithm) {
    case "concurrency":
      return Number.POSITIVE_INFINITY;
    case "quota":
      return PERIOD_MS[limit.period];
    case "tokenBucket":
    case "leakyBucket":
      return limit.recoveryMs;
    default:
      return limit.windowMs;
  }
}
