// A set of rules made ready to decide: matchers, keys, counters and stores found once, so that a
// request only looks them up.

import type { Limit } from "../limits.js";
import type { Counter, FailurePolicy } from "../stores/store.js";
import { toDelayed } from "./delay.js";
import { compileKey, type KeyOf, needsIdentity } from "./key.js";
import type { Lane, Lanes } from "./lanes.js";
import { Matcher } from "./matcher.js";
import type { Match, Rule, RuleSet } from "./rule.js";

/** One limit of a rule, as it is charged. */
export interface RuleLimit {
  readonly counter: Counter;
  /** The limit as the rule has it: what is counted differs from it where a rule delays. */
  readonly limit: Limit;
  readonly isQuota: boolean;
  readonly isPermit: boolean;
}

/** A rule, ready to be charged. */
export interface CompiledRule {
  readonly rule: Rule;
  readonly match: Match;
  readonly lane: Lane;
  readonly keyOf: KeyOf;
  readonly limits: readonly RuleLimit[];
  readonly tiers: ReadonlyMap<string, readonly RuleLimit[]>;
  readonly overrides: ReadonlyMap<string, readonly RuleLimit[]>;
  /** Whether something of it is settled when the response is there. */
  readonly isHeld: boolean;
  readonly isShadow: boolean;
}

/** A set of rules, ready to decide. */
export interface CompiledRules {
  readonly ruleSet: RuleSet;
  readonly isOn: boolean;
  /** Rules that need no more than what every request shows. */
  readonly early: Matcher<CompiledRule>;
  /** Rules that need to know who the caller is, or what its body says. */
  readonly late: Matcher<CompiledRule>;
}

/** What compiling needs besides the rules. */
export interface CompileOptions {
  readonly lanes: Lanes;
  readonly counters: CounterRegistry;
  readonly onStoreFailure: FailurePolicy;
  /** Rules that are switched off, whatever the set says. */
  readonly off: ReadonlySet<string>;
}

/** Makes rules ready. Of equal priority the first of the file comes first. */
export function compileRules(ruleSet: RuleSet, options: CompileOptions): CompiledRules {
  const enabled = ruleSet.rules.filter((rule) => rule.isEnabled && !options.off.has(rule.id));
  const extraPermitMs = Math.max(0, ...enabled.map((rule) => rule.delayMsMax));
  const compiled = enabled
    .map((rule) => compileRule(rule, extraPermitMs, options))
    .sort((a, b) => b.rule.priority - a.rule.priority);
  return {
    ruleSet,
    isOn: ruleSet.isEnabled && compiled.length > 0,
    early: new Matcher(compiled.filter(({ rule }) => !isLate(rule))),
    late: new Matcher(compiled.filter(({ rule }) => isLate(rule))),
  };
}

function isLate(rule: Rule): boolean {
  const identities = ["user", "tenant", "tier"];
  return (
    rule.key.some(needsIdentity) ||
    rule.tiers.size > 0 ||
    identities.some((name) => rule.match.attributes.has(name))
  );
}

function compileRule(rule: Rule, extraPermitMs: number, options: CompileOptions): CompiledRule {
  const { lanes, counters, onStoreFailure } = options;
  const lane = lanes.of(rule);
  const toRuleLimits = (limits: readonly Limit[], scope: string) =>
    limits.map((limit, part): RuleLimit => {
      const isPermit = limit.algorithm === "concurrency";
      const counter = counters.of({
        scope,
        part,
        limit: toDelayed(limit, rule, extraPermitMs),
        onStoreFailure: rule.onStoreFailure ?? onStoreFailure,
        ...(rule.timeoutMs === undefined ? {} : { timeoutMs: rule.timeoutMs }),
      });
      return { counter, limit, isQuota: limit.algorithm === "quota", isPermit };
    });
  const toEach = (
    entries: ReadonlyMap<string, readonly Limit[]>,
    toScope: (name: string) => string,
  ) => new Map([...entries].map(([name, limits]) => [name, toRuleLimits(limits, toScope(name))]));
  const limits = toRuleLimits(rule.limits, rule.id);
  const hasPermits = [rule.limits, ...rule.tiers.values(), ...rule.overrides.values()].some(
    (list) => list.some(({ algorithm }) => algorithm === "concurrency"),
  );
  return {
    rule,
    match: rule.match,
    lane,
    keyOf: compileKey(rule.key),
    limits,
    tiers: toEach(rule.tiers, (tier) => scopeOfTier(rule, tier)),
    overrides: toEach(rule.overrides, () => rule.id),
    isHeld: hasPermits || rule.when !== undefined || rule.settle !== undefined,
    isShadow: rule.onExceed === "shadow",
  };
}

/**
 * Whose tier it is decides whether what was used carries over. A caller that is counted by its
 * identity takes it along to another tier. Where callers of several tiers share a key, an address
 * for one, each tier counts apart: taking turns would otherwise clip the use of the larger one.
 */
export function scopeOfTier(rule: Rule, tier: string): string {
  const isOwn = rule.key.some(
    ({ kind }) => kind === "user" || kind === "apiKey" || kind === "tenant",
  );
  return isOwn ? rule.id : `${rule.id}/${tier}`;
}

/** Counters by what they say: equal ones are one object, also over a change of rules. */
export class CounterRegistry {
  #known = new Map<string, Counter>();
  #next = new Map<string, Counter>();

  /** The counter that says the same, or this one. */
  of(counter: Counter): Counter {
    const name = JSON.stringify(counter);
    const known = this.#known.get(name) ?? this.#next.get(name) ?? counter;
    this.#next.set(name, known);
    return known;
  }

  /** Forgets all that were not asked for since the last time. */
  turn(): void {
    this.#known = this.#next;
    this.#next = new Map();
  }
}
