// Counts decisions. Every request passes here, so no object is created for one, the numbers of a rule are found once,
// and everything else waits until a scrape.

import type { DecisionSource } from "sluice";
import type { DecidedCharge, PolicyDecision, RefusalReason, Rule } from "sluice/rules";
import {
  type CountedVerdict,
  INLINE_KEY_TYPE,
  INLINE_RULE,
  type LimitVerdict,
  type ListenerName,
} from "../reported.js";
import { AnomalyWatch, type AnomalyWatchOptions } from "./anomaly-watch.js";
import { DistinctKeys, hashText } from "./distinct-keys.js";
import type { KeySampling } from "./key-sampling.js";
import type { OutcomeCounts } from "./outcome-counts.js";
import { Periods } from "./periods.js";
import { OTHER_RULES, type RuleMeter, type RuleMeters } from "./rule-meters.js";
import { SecondHistory } from "./second-history.js";

/** Rates cover one to two of these. */
export const RATE_PERIOD_MS = 5_000;
/** The requests in one of these from which a key is hot: 100 a second. */
export const HOT_HITS = 500;
/** A key is tracked if it came in the last one to two of these. */
export const KEYS_PERIOD_MS = 300_000;
/** The most types of keys with separate counts; further ones are `other`. */
export const KEY_TYPES_MAX = 100;

/** How decisions of a listener ended. `unmatched`: no rule counted the request. */
export interface ListenerCounts {
  allowed: number;
  delayed: number;
  blocked: number;
  unmatched: number;
}

/** What a tally is made with. */
export interface TallyOptions {
  readonly meters: RuleMeters;
  /** A monotonic reading, in milliseconds. */
  readonly readMs: () => number;
  readonly seed: number;
  /** Finds a rule that refused before it could charge anything. */
  readonly toRule: (ruleId: string) => Rule | undefined;
  /** Numbers from 0 to below 1. */
  readonly chance: () => number;
  /** Called when a figure departs from its baseline, and when that has ended. */
  readonly onAnomaly: AnomalyWatchOptions["onChanged"];
  /** Sees the hash of each key, and so decides whether the decision is sampled. */
  readonly sampling: KeySampling;
}

/** Numbers of decisions by rule, listener, source and type of key. */
export class DecisionTally {
  readonly listeners = new Map<ListenerName, ListenerCounts>();
  readonly sources: Record<DecisionSource, number> = {
    memory: 0,
    store: 0,
    lease: 0,
    "deny-cache": 0,
    fallback: 0,
  };
  /** Requests of addresses in a denylist. */
  listRefusals = 0;
  /** What rules in shadow mode would have refused. */
  shadowBlocked = 0;
  readonly history = new SecondHistory(() => totalsOf(this));
  readonly anomalies: AnomalyWatch;
  readonly rates: Periods;
  readonly #options: TallyOptions;
  readonly #keyPeriods: Periods;
  readonly #keyTypes = new Map<string, DistinctKeys>();
  #keyPeriod = 0;
  /** Whether what is reported is of the instant that was read last. */
  #isHeld = false;
  // Most decisions come through the same listener as the one before.
  #listener: ListenerName | undefined = undefined;
  #listenerCounts = newListenerCounts();
  // Of the decision that is being counted:
  #period = 0;
  #isAllowed = true;
  #reason: RefusalReason = "limit";
  #isDelayed = false;
  // And of the rule whose charges come just now:
  #rule: Rule | undefined;
  #charge: DecidedCharge | undefined;
  #isRuleDelayed = false;
  #refusedKey: string | undefined;
  #refusedHash = 0;

  constructor(options: TallyOptions) {
    this.#options = options;
    const { seed, chance, onAnomaly } = options;
    this.anomalies = new AnomalyWatch({
      readTotals: () => totalsOf(this),
      seed,
      chance,
      onChanged: onAnomaly,
    });
    this.rates = new Periods(RATE_PERIOD_MS, options.readMs);
    this.#keyPeriods = new Periods(KEYS_PERIOD_MS, options.readMs);
  }

  /** Counts a decision. */
  count(listener: ListenerName, decision: PolicyDecision): void {
    this.#begin(decision.allowed);
    if (!decision.allowed) {
      this.#reason = decision.reason ?? "limit";
      if (decision.block?.list !== undefined) this.listRefusals++;
    }
    decision.eachCharge(this.#see);
    const isMatched = this.#rule !== undefined;
    this.#endRule();
    if (!decision.allowed && isBeforeCharges(this.#reason)) {
      this.#countRefusing(decision.rule, this.#reason);
    }
    this.#countListener(listener, isMatched || !decision.allowed);
    if (isMatched) this.sources[decision.source]++;
  }

  /** Counts a decision that no policy made. */
  countLimits(
    listener: ListenerName,
    isAllowed: boolean,
    limitVerdicts: readonly LimitVerdict[],
  ): void {
    this.#begin(isAllowed);
    this.#reason = "limit";
    for (const { rule, keyType, key, shadow, verdict } of limitVerdicts) {
      this.#note(verdict, key);
      this.#countCharge(this.#options.meters.named(listener, rule, keyType), key, shadow, true);
    }
    this.#countListener(listener, limitVerdicts.length > 0);
    const bound = limitVerdicts.find(({ verdict }) => !verdict.allowed) ?? limitVerdicts[0];
    if (bound !== undefined) this.sources[bound.verdict.source]++;
  }

  /** Counts a decision by a limit that came with its request: `countLimits` of one, without the list. */
  countInline(listener: ListenerName, key: string, verdict: CountedVerdict): void {
    this.#begin(verdict.allowed);
    this.#reason = "limit";
    this.#note(verdict, key);
    const meter = this.#options.meters.named(listener, INLINE_RULE, INLINE_KEY_TYPE);
    this.#countCharge(meter, key, false, true);
    this.#countListener(listener, true);
    this.sources[verdict.source]++;
  }

  /** Counts what is reported before `report` returns as of now: reading the clock is much of it. */
  atOneInstant<T>(report: () => T): T {
    this.#moveTo(this.#options.readMs());
    this.#isHeld = true;
    try {
      return report();
    } finally {
      this.#isHeld = false;
    }
  }

  #begin(isAllowed: boolean): void {
    // All decisions of one instant are in the same periods (bench service/batch).
    if (!this.#isHeld) this.#moveTo(this.#options.readMs());
    this.#options.sampling.begin();
    this.#isAllowed = isAllowed;
    this.#isDelayed = false;
  }

  #moveTo(nowMs: number): void {
    this.#period = this.rates.at(nowMs);
    this.#rollKeys(this.#keyPeriods.at(nowMs));
    this.#options.sampling.moveTo(nowMs);
    this.history.begin(nowMs);
    this.anomalies.begin(nowMs);
  }

  /** How many different keys of each type came in the last five to ten minutes, estimated. */
  *trackedKeys(): Generator<[keyType: string, keys: number]> {
    this.#rollKeys(this.#keyPeriods.current);
    for (const [type, keys] of this.#keyTypes) yield [type, keys.estimate];
  }

  /** One function for all decisions, so that none has to be made for each. */
  readonly #see = (rule: Rule, charge: DecidedCharge): void => {
    if (rule !== this.#rule) {
      this.#endRule();
      this.#rule = rule;
      this.#charge = charge;
    }
    this.#note(charge.verdict, charge.key);
  };

  #note({ allowed, delayMs }: CountedVerdict, key: string): void {
    if (!allowed) this.#refusedKey = key;
    else if (delayMs > 0) this.#isRuleDelayed = true;
  }

  #endRule(): void {
    const rule = this.#rule;
    const charge = this.#charge;
    if (rule === undefined || charge === undefined) return;
    const { key, shadow, isKnown } = charge;
    this.#countCharge(this.#options.meters.of(rule, charge.rule), key, shadow, isKnown);
    this.#rule = undefined;
  }

  #countCharge(meter: RuleMeter, key: string, shadow: boolean, isKnown: boolean): void {
    meter.rollTo(this.#period);
    meter.keys ??= this.#keysOf(meter.keyType);
    // The key is hashed once, for all that know keys by a hash.
    const hash = meter.keys.add(key);
    if (meter.hottest.hit(key, hash)) meter.hotKeysDetected++;
    if (meter.isByAddress) this.anomalies.seeAddress(key, hash);
    this.#options.sampling.see(hash);
    if (this.#refusedKey !== undefined)
      this.#refusedHash = this.#hashOf(this.#refusedKey, key, hash);
    if (shadow) this.#countShadow(meter, isKnown);
    else this.#countEnforced(meter);
    this.#refusedKey = undefined;
    this.#isRuleDelayed = false;
  }

  /** The hash of the key that was refused, mostly the one that was just hashed. */
  #hashOf(refusedKey: string, key: string, hash: number): number {
    return refusedKey === key ? hash : hashText(refusedKey, this.#options.seed);
  }

  #countEnforced(meter: RuleMeter): void {
    if (this.#isAllowed) {
      if (this.#isRuleDelayed) {
        meter.delayed++;
        this.#isDelayed = true;
      } else meter.allowed++;
    } else if (this.#refusedKey !== undefined) {
      meter.blocked[this.#reason]++;
      meter.refuse(this.#refusedKey, this.#refusedHash);
    }
  }

  #countShadow(meter: RuleMeter, isKnown: boolean): void {
    if (this.#refusedKey !== undefined) {
      meter.shadowBlocked++;
      this.shadowBlocked++;
      meter.refuse(this.#refusedKey, this.#refusedHash);
    } else if (isKnown) meter.shadowAllowed++;
  }

  /** A request that a rule refuses before it is charged has no charge under it. */
  #countRefusing(ruleId: string | undefined, reason: RefusalReason): void {
    if (ruleId === undefined) return;
    const meter = this.#options.meters.ofId(ruleId, this.#options.toRule);
    meter.rollTo(this.#period);
    meter.blocked[reason]++;
  }

  #countListener(listener: ListenerName, isMatched: boolean): void {
    if (listener !== this.#listener) this.#enter(listener);
    const counts = this.#listenerCounts;
    if (!this.#isAllowed) counts.blocked++;
    else if (!isMatched) counts.unmatched++;
    else if (this.#isDelayed) counts.delayed++;
    else counts.allowed++;
  }

  #enter(listener: ListenerName): void {
    this.#listener = listener;
    this.#listenerCounts = this.listeners.get(listener) ?? newListenerCounts();
    this.listeners.set(listener, this.#listenerCounts);
  }

  #keysOf(keyType: string): DistinctKeys {
    const known = this.#keyTypes.get(keyType);
    if (known !== undefined) return known;
    const name = this.#keyTypes.size < KEY_TYPES_MAX ? keyType : OTHER_RULES;
    const keys = this.#keyTypes.get(name) ?? new DistinctKeys(this.#options.seed);
    this.#keyTypes.set(name, keys);
    return keys;
  }

  #rollKeys(period: number): void {
    const periods = period - this.#keyPeriod;
    if (periods <= 0) return;
    this.#keyPeriod = period;
    for (const keys of this.#keyTypes.values()) keys.roll(periods);
  }
}

/** The request has no identity that the rule counts by, or an operator switched the rule to deny. */
function isBeforeCharges(reason: RefusalReason): boolean {
  return reason === "identity" || reason === "denied";
}

function newListenerCounts(): ListenerCounts {
  return { allowed: 0, delayed: 0, blocked: 0, unmatched: 0 };
}

/** The totals of a tally. */
export function totalsOf(tally: DecisionTally): OutcomeCounts {
  const totals = { allowed: 0, delayed: 0, blocked: 0, shadowBlocked: tally.shadowBlocked };
  for (const { allowed, delayed, blocked, unmatched } of tally.listeners.values()) {
    totals.allowed += allowed + unmatched;
    totals.delayed += delayed;
    totals.blocked += blocked;
  }
  return totals;
}
