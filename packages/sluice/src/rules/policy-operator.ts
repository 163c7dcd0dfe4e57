// What operators do to single keys of a rule: block, reset, refund. A key may be counted in several
// places, one for each tier: an operator, who names a rule and a key, means them all.

import { type Clock, countedMsOf, toWholeMs } from "../clock.js";
import { SluiceError, show } from "../errors.js";
import { toCost, toDurationMs } from "../limiter-input.js";
import { andThen, isThenable, type MaybePromise } from "../maybe-promise.js";
import type { Charge, Standing } from "../stores/store.js";
import type { CompiledRule, CompiledRules, RuleLimit } from "./compile.js";
import { describeKey, toPrefix } from "./key.js";
import { toDimensions, toKeyText } from "./key-text.js";
import type { Dimension } from "./rule.js";

/** One key of one rule. */
export class RuleKey {
  readonly #rule: CompiledRule;
  readonly #key: string;
  readonly #clock: Clock;

  /** @throws SluiceError if there is no such rule, or the key is not of its kind. */
  constructor(compiled: CompiledRules, ruleId: string, key: string, clock: Clock) {
    this.#rule = ruleOf(compiled, ruleId);
    this.#key = toCountedKey(this.#rule, key, compiled.ruleSet.ipv6Prefix);
    this.#clock = clock;
  }

  block(forMs: number): MaybePromise<void> {
    const nowMs = toWholeMs(this.#clock.now());
    const untilMs = nowMs + toDurationMs(forMs);
    const { store } = this.#rule.lane;
    const scopes = this.#scopes();
    if (scopes.length === 0) {
      const seen = `rule ${show(this.#rule.rule.id)} has no limit for ${show(this.#key)}`;
      throw new SluiceError("SLUICE_RULE_KEY_INVALID", seen);
    }
    return all(scopes.map((scope) => store.block(scope, this.#key, { untilMs, nowMs })));
  }

  unblock(): MaybePromise<void> {
    const { store } = this.#rule.lane;
    return all(this.#scopes().map((scope) => store.unblock(scope, this.#key)));
  }

  reset(): MaybePromise<void> {
    return this.#rule.lane.store.reset(this.#charges(0, () => true));
  }

  /** Returns the whole units that were given back: the most under any limit, since not all need have been used. */
  refund(cost: number): MaybePromise<number> {
    const units = toCost(cost);
    // A permit is given back by who holds it.
    const charges = this.#charges(units, ({ isPermit }) => !isPermit);
    if (charges.length === 0) return 0;
    // The store does not say how much it took back, so what is in use is read before and after.
    return andThen(this.#usedOf(charges), (before) =>
      andThen(this.#rule.lane.store.refund(charges), () =>
        andThen(this.#usedOf(charges), (after) => toRefunded(units, before, after)),
      ),
    );
  }

  /** What is in use under each limit; undefined if the store did not answer, which the refund itself reports. */
  #usedOf(charges: readonly Charge[]): MaybePromise<readonly number[] | undefined> {
    const read = (standings: readonly Standing[]) => standings.map(({ used }) => used);
    try {
      const asked = this.#rule.lane.store.debit(charges.map((charge) => ({ ...charge, cost: 0 })));
      return isThenable(asked) ? asked.then(read, () => undefined) : read(asked);
    } catch {
      return undefined;
    }
  }

  #scopes(): string[] {
    return [...new Set(this.#limits().map(({ counter }) => counter.scope))];
  }

  #charges(cost: number, isMeant: (limit: RuleLimit) => boolean): Charge[] {
    const { clock, key } = { clock: this.#clock, key: this.#key };
    return this.#limits()
      .filter(isMeant)
      .map(({ counter, isQuota }) => {
        return { counter, key, cost, nowMs: countedMsOf(clock, isQuota) };
      });
  }

  /** The limits under which the key may be counted: its own, else those of the rule and each tier. */
  #limits(): readonly RuleLimit[] {
    const { limits, tiers, overrides } = this.#rule;
    return overrides.get(this.#key) ?? [...limits, ...[...tiers.values()].flat()];
  }
}

/** The rule of that id, switched off or not. */
export function ruleOf({ byId }: CompiledRules, ruleId: string): CompiledRule {
  const rule = byId.get(ruleId);
  if (rule !== undefined) return rule;
  throw new SluiceError("SLUICE_RULE_UNKNOWN", `got ${show(ruleId)}`);
}

/** The key as it is counted, also where the rule falls back to the address. */
function toCountedKey({ rule }: CompiledRule, key: string, ipv6Prefix: number): string {
  const own = toKeyText(rule.key, key, { ipv6Prefix });
  if (own !== undefined) return own;
  const byIp =
    rule.onMissing === "ip" ? toKeyText([{ kind: "ip" }], key, { ipv6Prefix }) : undefined;
  if (byIp !== undefined) return byIp;
  const seen = `rule ${show(rule.id)} counts by ${describeKey(rule.key)}, got ${show(key)}`;
  const meant = toMeantKey(rule.key, key, ipv6Prefix);
  const hint = meant === undefined ? "" : `; did you mean ${show(meant)}?`;
  throw new SluiceError("SLUICE_RULE_KEY_INVALID", seen + hint);
}

/** The key if only the names of its parts were left out: `ip:203.0.113.10` for `203.0.113.10`. */
function toMeantKey(
  dimensions: readonly Dimension[],
  key: string,
  ipv6Prefix: number,
): string | undefined {
  const parts = key.split("|");
  const isNamed = toDimensions(key) !== undefined;
  if (isNamed || parts.length !== dimensions.length) return undefined;
  const prefixed = parts.map((part, i) => toPrefix(dimensions[i]) + part.trim()).join("|");
  return toKeyText(dimensions, prefixed, { ipv6Prefix });
}

function all(calls: readonly MaybePromise<void>[]): MaybePromise<void> {
  return calls.some(isThenable) ? Promise.all(calls).then(() => undefined) : undefined;
}

type Uses = readonly number[] | undefined;

/** Less than a unit that was in use counts as one: it was made whole. Traffic in between can blur it, within `units`. */
function toRefunded(units: number, before: Uses, after: Uses): number {
  if (before === undefined || after === undefined) return units;
  const most = Math.max(...before.map((used, i) => used - after[i]));
  return Math.min(units, Math.max(0, Math.ceil(most - ROUNDING)));
}

/** What the arithmetic of doubles may leave over. */
const ROUNDING = 1e-6;
