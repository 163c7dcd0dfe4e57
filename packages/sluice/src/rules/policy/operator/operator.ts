// What operators do to single keys of a rule: block, reset, refund. A key may be counted in several
// places, one for each tier: an operator, who names a rule and a key, means them all.

import { type Clock, type TimeOptions, timeOf, toWholeMs, wallMsOf } from "../../../base/clock.js";
import { SluiceError, show } from "../../../base/errors.js";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import { nearestName } from "../../../base/nearest-name.js";
import { refundCharges, unblockCharges } from "../../../limiter/operator.js";
import { toCost, toDurationMs } from "../../../limiter/verb-input.js";
import type { Charge } from "../../../stores/store.js";
import { describeKey, toPrefix } from "../../identity-keys/key.js";
import { toDimensions, toKeyText } from "../../identity-keys/written-key.js";
import type { Dimension } from "../../rule.js";
import type { CompiledRule, CompiledRules } from "../compile/compile.js";
import type { RuleLimit } from "../compile/rule-limits.js";

/** How a key is reset or refunded. */
export interface ActOptions extends TimeOptions {
  /** Makes a durable rule act once for it, so that an act whose outcome is not known can be sent again. */
  readonly requestId?: string | undefined;
}

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

  block(forMs: number, options?: TimeOptions): MaybePromise<void> {
    const nowMs = this.#nowMs(options);
    const untilMs = nowMs + toDurationMs(forMs);
    const { store } = this.#rule.lane;
    const scopes = this.#scopes();
    if (scopes.length === 0) {
      const seen = `rule ${show(this.#rule.definition.id)} has no limit for ${show(this.#key)}`;
      throw new SluiceError("SLUICE_RULE_KEY_INVALID", seen);
    }
    return inBatches(scopes, (some) =>
      all(some.map((scope) => store.block(scope, this.#key, { untilMs, nowMs }))),
    );
  }

  /**
   * Ends the key's blocks everywhere under the rule, also where its override or the rule itself has no limit now, and
   * forgets its level, which is kept under the id of the rule. Returns whether there was a block.
   */
  unblock(options?: TimeOptions): MaybePromise<boolean> {
    const nowMs = this.#nowMs(options);
    const { lane, definition } = this.#rule;
    const charges = this.#toCharges(this.#blockPlaces(), 0, nowMs);
    let wasBlocked = false;
    const ended = inBatches(charges, (some) =>
      andThen(unblockCharges(lane.store, some, nowMs), (was) => {
        wasBlocked ||= was;
      }),
    );
    const isDone = charges.some(({ counter }) => counter.scope === definition.id);
    const forgotten = isDone
      ? ended
      : andThen(ended, () => lane.store.unblock(definition.id, this.#key));
    return andThen(forgotten, () => wasBlocked);
  }

  /** How long the longest block of the key still lasts; see `Policy.blockedMs`. */
  blockedMs(options?: TimeOptions): MaybePromise<number | undefined> {
    const nowMs = this.#nowMs(options);
    const { store } = this.#rule.lane;
    let longest = 0;
    let isKnown = true;
    const looked = inBatches(
      this.#charges(0, nowMs, () => true),
      (some) =>
        andThen(store.peek(some, { blockNowMs: nowMs }), (verdicts) => {
          for (const { blockedMs = 0, source } of verdicts) {
            longest = Math.max(longest, blockedMs);
            isKnown &&= source !== "fallback";
          }
        }),
    );
    return andThen(looked, () => (longest > 0 || isKnown ? longest : undefined));
  }

  reset(options: ActOptions = {}): MaybePromise<void> {
    const { store } = this.#rule.lane;
    const charges = this.#charges(0, this.#nowMs(options), () => true);
    return inBatches(withRequestId(charges, options.requestId), (some) => store.reset(some));
  }

  /** Returns the whole units that were refunded: the most under any limit, since not all need have been used. */
  refund(cost: number, options: ActOptions = {}): MaybePromise<number> {
    const units = toCost(cost);
    // A permit is released by the request that holds it.
    const counted = this.#charges(units, this.#nowMs(options), ({ kind }) => !kind.isPermit);
    const charges = withRequestId(counted, options.requestId);
    const { store } = this.#rule.lane;
    let most = 0;
    const refunded = inBatches(charges, (some) =>
      andThen(refundCharges(store, some), (returned) => {
        most = Math.max(most, returned);
      }),
    );
    return andThen(refunded, () => most);
  }

  #scopes(): string[] {
    return [...new Set(this.#limits().map(({ counter }) => counter.scope))];
  }

  #nowMs(options: TimeOptions | undefined): number {
    return timeOf(options) ?? toWholeMs(this.#clock.now());
  }

  #charges(cost: number, nowMs: number, isMeant: (limit: RuleLimit) => boolean): Charge[] {
    return this.#toCharges(this.#limits().filter(isMeant), cost, nowMs);
  }

  #toCharges(limits: readonly RuleLimit[], cost: number, nowMs: number): Charge[] {
    const key = this.#key;
    return limits.map(({ counter, kind }) => {
      const countedMs = kind.isQuota ? wallMsOf(this.#clock) : nowMs;
      return { counter, key, cost, nowMs: countedMs, isAnyTier: true };
    });
  }

  /** The limits under which the key may be blocked: an escalation blocks it in the rule and all of its tiers. */
  #blockPlaces(): readonly RuleLimit[] {
    const { limits, tiers } = this.#rule;
    const shared = this.#inCalendar([limits, ...tiers.values()]);
    return [...toLargest([this.#limits(), ...shared])];
  }

  /** The limits under which the key may be counted: its own, else those of the rule, each tier and each exception. */
  #limits(): readonly RuleLimit[] {
    const { limits, tiers, overrides, exceptions } = this.#rule;
    const own = overrides.get(this.#key);
    if (own !== undefined) return this.#inCalendar([own]).flat();
    const lists = [limits, ...tiers.values()];
    if (exceptions === undefined) return [...toLargest(this.#inCalendar(lists))];
    const places = exceptions.placesOf(this.#key, { wallMs: wallMsOf(this.#clock) });
    const { instead, perhaps, apart } = places;
    const together = this.#inCalendar(instead ?? [...lists, ...perhaps]);
    return [...toLargest(together), ...this.#inCalendar(apart).flat()];
  }

  /** The limits by the calendar of the key's tenant, where that makes a difference. */
  #inCalendar(lists: readonly (readonly RuleLimit[])[]): readonly (readonly RuleLimit[])[] {
    const { calendars } = this.#rule;
    if (calendars === undefined) return lists;
    return lists.map((limits) =>
      limits.length === 0 ? limits : calendars.limitsOfKey(limits, this.#key),
    );
  }
}

/**
 * One limit for each place in which a key may be counted. Where several may hold in one place the largest is taken:
 * under a smaller one what was used would be cut.
 */
function toLargest(lists: readonly (readonly RuleLimit[])[]): Iterable<RuleLimit> {
  const byPlace = new Map<string, RuleLimit>();
  for (const ruleLimit of lists.flat()) {
    const { scope, part, limit } = ruleLimit.counter;
    const place = JSON.stringify([scope, part, limit.algorithm]);
    const known = byPlace.get(place);
    if (known === undefined || known.counter.limit.capacity < limit.capacity)
      byPlace.set(place, ruleLimit);
  }
  return byPlace.values();
}

/** Each charge has an id of its own: several may be of the same counter. */
function withRequestId(
  charges: readonly Charge[],
  requestId: string | undefined,
): readonly Charge[] {
  if (requestId === undefined) return charges;
  return charges.map((charge, i) => ({ ...charge, requestId: `${requestId}#${i}` }));
}

/** The rule of that id, switched off or not. */
export function ruleOf({ byId }: CompiledRules, ruleId: string): CompiledRule {
  const rule = byId.get(ruleId);
  if (rule !== undefined) return rule;
  const meant = nearestName(String(ruleId), [...byId.keys()]);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  throw new SluiceError("SLUICE_RULE_UNKNOWN", `got ${show(ruleId)}${hint}`);
}

/** The key as it is counted, also where the rule falls back to the address. */
function toCountedKey({ definition: rule }: CompiledRule, key: string, ipv6Prefix: number): string {
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

/** A key may be counted by thousands of exceptions, and a store takes only this many charges in one call. */
const BATCH_MAX = 128;

/** Does something to a list, part by part, one after the other. */
function inBatches<T>(
  items: readonly T[],
  operate: (some: readonly T[]) => MaybePromise<void>,
  from = 0,
): MaybePromise<void> {
  if (from >= items.length) return undefined;
  const done = operate(items.slice(from, from + BATCH_MAX));
  return andThen(done, () => inBatches(items, operate, from + BATCH_MAX));
}

function all(calls: readonly MaybePromise<void>[]): MaybePromise<void> {
  return calls.some(isThenable) ? Promise.all(calls).then(() => undefined) : undefined;
}
