// The part of the headers about a limit that never changes: its name, written once for each limit of each rule, and
// its promise, written once for all limits that are equal. A request only puts strings together.

import type { Limit } from "../../limits/limits.js";
import type { RuleCharge } from "../../rules/policy/charges/request-charges.js";
import type { KindTexts, LimitKind } from "../../rules/policy/compile/rule-limits.js";
import type { Rule } from "../../rules/rule.js";

/** The largest integer of a structured field. */
export const INTEGER_MAX = 999_999_999_999_999;

/** What headers show of a rule. */
export interface ShownRule {
  readonly definition: Pick<Rule, "id">;
}

/** A limit that was charged, and its rule. */
interface Described extends Pick<RuleCharge, "ruleLimit" | "counter"> {
  readonly rule: ShownRule;
}

/** The name of the limit that was charged: `login`; for the second limit of a rule `login/2`, which is not a valid rule id. */
export function nameOf({ rule, counter }: Described): string {
  const { id } = rule.definition;
  return counter.part === 0 ? id : `${id}/${counter.part + 1}`;
}

// Strings are kept with their limit: a look-up costs more, the more rules there are. They are joined, which makes one
// string of their characters. A template makes a tree of its parts, all of which each response would go through again
// (bench service/rules-scale).

/** `"login";`. */
export function labelOf(charge: Described): string {
  const { ruleLimit } = charge;
  ruleLimit.label ??= ['"', nameOf(charge), '";'].join("");
  return ruleLimit.label;
}

/** `RateLimit-Policy: "login";q=100;w=60`, and in the next line `RateLimit: "login";r=`. */
export function namedLinesOf(charge: Described): string {
  const { ruleLimit } = charge;
  if (ruleLimit.namedLines === undefined) {
    const label = labelOf(charge);
    const { quota } = textsOf(ruleLimit.kind);
    const parts = ["RateLimit-Policy: ", label, quota, "\r\nRateLimit: ", label, "r="];
    ruleLimit.namedLines = parts.join("");
  }
  return ruleLimit.namedLines;
}

/** The strings of all limits of a kind. */
export function textsOf(kind: LimitKind): KindTexts {
  kind.texts ??= write(kind);
  return kind.texts;
}

function write(kind: LimitKind): KindTexts {
  const limit = `${Math.min(INTEGER_MAX, kind.limit.capacity)}`;
  const windowMs = windowMsOf(kind.limit);
  const windowSeconds = Math.min(INTEGER_MAX, Math.ceil(windowMs / 1000));
  const window =
    windowMs < 1000 || windowMs === Number.POSITIVE_INFINITY ? "" : `;w=${windowSeconds}`;
  let unit = "";
  if (kind.isPermit) unit = ';qu="concurrent-requests"';
  else if (kind.isInBytes) unit = ';qu="content-bytes"';
  return {
    quota: ["q=", limit, unit, window].join(""),
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
