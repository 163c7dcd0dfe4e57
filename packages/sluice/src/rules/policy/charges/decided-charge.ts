// A charge together with its verdict. Both are values: what becomes of a verdict later, since another rule refused
// or no request can wait, is another decided charge.

import type { Verdict } from "../../../base/decision.js";
import type { Counter } from "../../../stores/store.js";
import type { CompiledRule } from "../compile/compile.js";
import { withDelay } from "../compile/delay.js";
import type { RuleLimit } from "../compile/rule-limits.js";
import type { MeterPlace } from "../meter-place.js";
import type { RuleCharge } from "./request-charges.js";

/** A charge that was decided, as operators may see it: with its key. */
export interface DecidedCharge {
  readonly rule: MeterPlace;
  /** The key as it is counted, `user:42`: hash it before it is logged. */
  readonly key: string;
  /** What the request costs under the limit. */
  readonly units: number;
  /** Whether it counts and never refuses. */
  readonly shadow: boolean;
  readonly verdict: Verdict;
  /** False if the store was not asked about this limit, since another was known to refuse. */
  readonly isKnown: boolean;
}

/** A charge of a rule, and what was answered to it under the rule's own numbers. */
export class DecidedRuleCharge implements DecidedCharge {
  readonly charge: RuleCharge;
  readonly verdict: Verdict;
  readonly isKnown: boolean;

  constructor(charge: RuleCharge, verdict: Verdict, isKnown: boolean) {
    this.charge = charge;
    this.verdict = verdict;
    this.isKnown = isKnown;
  }

  get rule(): CompiledRule {
    return this.charge.rule;
  }

  get ruleLimit(): RuleLimit {
    return this.charge.ruleLimit;
  }

  get counter(): Counter {
    return this.charge.counter;
  }

  get key(): string {
    return this.charge.key;
  }

  get units(): number {
    return this.charge.units;
  }

  get nowMs(): number {
    return this.charge.nowMs;
  }

  get shadow(): boolean {
    return this.charge.shadow;
  }
}

/**
 * A store's verdict as the rule has it. `untaken` is what the verdict allows and has not charged: the cost under
 * `peek`, else 0.
 */
export function toDecided(
  charge: RuleCharge,
  verdict: Verdict,
  untaken: number,
): DecidedRuleCharge {
  const { limit, isEnlarged } = charge.ruleLimit.kind;
  const counted = charge.counter.limit;
  if (!verdict.allowed) charge.rule.sample?.noteRefusal();
  return new DecidedRuleCharge(
    charge,
    isEnlarged ? withDelay(verdict, { limit, counted, untaken }) : verdict,
    // A deny cache only ever refuses: what it lets pass, it did not ask about.
    !verdict.allowed || verdict.source !== "deny-cache",
  );
}

/** Where requests can't wait, one that would have to is refused until then. */
export function refuseIfDelayed(decided: DecidedRuleCharge): DecidedRuleCharge {
  const { charge, verdict, isKnown } = decided;
  if (!verdict.allowed || verdict.delayMs === 0 || charge.shadow) return decided;
  const { limit, resetMs, delayMs, source } = verdict;
  const refused = { allowed: false, limit, remaining: 0, retryAfterMs: delayMs, resetMs };
  return new DecidedRuleCharge(charge, { ...refused, delayMs: 0, source }, isKnown);
}

/** The first `taken` of them were charged and are refunded, so their verdicts no longer say how their limits stand. */
export function forgetTaken(
  results: readonly DecidedRuleCharge[],
  taken: number,
): readonly DecidedRuleCharge[] {
  if (taken === 0) return results;
  return results.map((decided, i) => (i < taken ? toUnknown(decided) : decided));
}

/** Sorts by the order of rules. */
export function byOrder(a: DecidedRuleCharge, b: DecidedRuleCharge): number {
  return a.rule.order - b.rule.order;
}

function toUnknown(decided: DecidedRuleCharge): DecidedRuleCharge {
  const { charge, verdict, isKnown } = decided;
  return isKnown && verdict.allowed ? new DecidedRuleCharge(charge, verdict, false) : decided;
}
