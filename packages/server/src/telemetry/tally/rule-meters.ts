// The counts of each rule: plain numbers, found by the rule's id. A bounded number of rules have separate
// numbers; all others are counted together, so that a rule set can't flood a monitoring system.

import {
  type CostSettled,
  describeKey,
  type EstimateReason,
  type MeterPlace,
  type RefusalReason,
  type Rule,
} from "sluice/rules";
import type { ListenerName } from "../reported.js";
import type { DistinctKeys } from "./distinct-keys.js";
import { HeavyKeys, type HeavyKeysOptions } from "./heavy-keys.js";

/** The most rules with separate values of the label `rule`; further ones are `other`. */
export const RULE_LABELS_MAX = 1_000;

/** The value of `rule`, and of `key_type`, for all that have no meter of their own. */
export const OTHER_RULES = "other";

/** Characters of the label `endpoint`. */
const ENDPOINT_CHARS_MAX = 120;

interface Totals {
  allowed: number;
  blocked: number;
  shadowBlocked: number;
}

/** What requests under a rule with `settle` reserved, and what became of it. */
interface SettledUnits {
  reserved: number;
  settled: number;
  /** Requests whose real cost was not known, by why. */
  readonly estimates: Partial<Record<EstimateReason, number>>;
}

/** The numbers of one rule since the process started, or since the rule was last new. */
export class RuleMeter {
  readonly owner: RuleMeters;
  readonly rule: string;
  /** The patterns of paths that the rule is about; `*` if it is about all. Never a path of a request. */
  readonly endpoint: string;
  readonly keyType: string;
  readonly isByAddress: boolean;
  allowed = 0;
  delayed = 0;
  readonly blocked: Record<RefusalReason, number> = {
    limit: 0,
    blocked: 0,
    identity: 0,
    store: 0,
    denied: 0,
    "unknown-api-key": 0,
    "unchecked-api-key": 0,
  };
  shadowAllowed = 0;
  shadowBlocked = 0;
  hotKeysDetected = 0;
  /** How often callers were blocked, by level; nothing at 0. */
  readonly escalations: number[] = [];
  /** Undefined until a request is settled. */
  settledUnits: SettledUnits | undefined = undefined;
  /** The different keys of its type, which other rules may share; undefined until the first comes. */
  keys: DistinctKeys | undefined = undefined;
  /** Keys by requests, and by refusals once there is one. */
  readonly hottest: HeavyKeys;
  #refused: HeavyKeys | undefined;
  readonly #watch: HeavyKeysOptions;
  #period = 0;
  /** The totals when this period began, and when the last one did. */
  #mark: Totals = { allowed: 0, blocked: 0, shadowBlocked: 0 };
  #markBefore: Totals = this.#mark;

  constructor(
    owner: RuleMeters,
    names: { rule: string; endpoint: string; keyType: string },
    watch: HeavyKeysOptions,
  ) {
    this.owner = owner;
    this.rule = names.rule;
    this.endpoint = names.endpoint;
    this.keyType = names.keyType;
    this.isByAddress = names.keyType === "ip";
    this.#watch = watch;
    this.hottest = new HeavyKeys(watch);
  }

  get totals(): Totals {
    const { limit, blocked, identity, store, denied } = this.blocked;
    return {
      allowed: this.allowed + this.delayed,
      blocked: limit + blocked + identity + store + denied,
      shadowBlocked: this.shadowBlocked,
    };
  }

  /** What came in this period and the last one. */
  get recent(): Totals {
    const { allowed, blocked, shadowBlocked } = this.totals;
    return {
      allowed: allowed - this.#markBefore.allowed,
      blocked: blocked - this.#markBefore.blocked,
      shadowBlocked: shadowBlocked - this.#markBefore.shadowBlocked,
    };
  }

  /** Keys by how often they were refused. */
  get mostRefused(): Iterable<{ key: string; hits: number }> {
    return this.#refused ?? [];
  }

  /** Counts a refusal of a key, by its hash in {@link DistinctKeys}. */
  refuse(key: string, hash: number): void {
    this.#refused ??= new HeavyKeys(this.#watch);
    this.#refused.hit(key, hash);
  }

  /** Counts a request that was settled. */
  settle({ reserved, settled, reason }: CostSettled): void {
    this.settledUnits ??= { reserved: 0, settled: 0, estimates: {} };
    const units = this.settledUnits;
    units.reserved += reserved;
    units.settled += settled;
    if (reason !== undefined) units.estimates[reason] = (units.estimates[reason] ?? 0) + 1;
  }

  /** Counts a caller that was blocked. */
  escalate(level: number): void {
    this.escalations[level] = (this.escalations[level] ?? 0) + 1;
  }

  /** Goes on to a period; to be called before anything is counted or read. */
  rollTo(period: number): void {
    const periods = period - this.#period;
    if (periods <= 0) return;
    this.#period = period;
    const { totals } = this;
    this.#markBefore = periods === 1 ? this.#mark : totals;
    this.#mark = totals;
    this.hottest.roll(periods);
    this.#refused?.roll(periods);
  }
}

/** The meters of all rules that were seen. */
export class RuleMeters {
  readonly #watch: HeavyKeysOptions;
  readonly #byId = new Map<string, RuleMeter>();
  /** The meters of limits that are not rules, with the listener that has them. */
  readonly #byName = new Map<
    string,
    { readonly meter: RuleMeter; readonly listener: ListenerName }
  >();
  readonly #others: RuleMeter;
  // Most decisions are under the limit of the one before (bench service/batch).
  #latestName: string | undefined;
  #latest: RuleMeter;

  constructor(watch: HeavyKeysOptions) {
    this.#watch = watch;
    const names = { rule: OTHER_RULES, endpoint: "*", keyType: OTHER_RULES };
    this.#others = new RuleMeter(this, names, watch);
    this.#latest = this.#others;
  }

  /**
   * The meter of a rule, made at its first decision. It is kept in `place`: a look-up by id costs more, the more
   * rules there are (bench service/rules-scale).
   */
  of(rule: Rule, place: MeterPlace): RuleMeter {
    const { meter } = place;
    const isOurs = meter instanceof RuleMeter && meter.owner === this;
    // A rule without a meter of its own gets one once there is room.
    if (isOurs && (meter !== this.#others || this.#isFull)) return meter;
    const found = this.#byId.get(rule.id) ?? this.#make(rule);
    place.meter = found;
    return found;
  }

  /** The meter of an id; `toRule` finds its rule if it was not seen yet. */
  ofId(ruleId: string, toRule: (ruleId: string) => Rule | undefined): RuleMeter {
    const known = this.#byId.get(ruleId);
    if (known !== undefined) return known;
    const rule = this.#isFull ? undefined : toRule(ruleId);
    return rule === undefined ? this.#others : this.#make(rule);
  }

  /** The meter of a limit of a listener that is not a rule: its names say what it is. */
  named(listener: ListenerName, rule: string, keyType: string): RuleMeter {
    if (rule !== this.#latestName) {
      this.#latest = this.#findNamed(listener, rule, keyType);
      this.#latestName = rule;
    }
    return this.#latest;
  }

  #findNamed(listener: ListenerName, rule: string, keyType: string): RuleMeter {
    const known = this.#byName.get(rule)?.meter ?? this.#byId.get(rule);
    if (known !== undefined) return known;
    if (this.#isFull) return this.#others;
    const meter = new RuleMeter(this, { rule, endpoint: "*", keyType }, this.#watch);
    this.#byName.set(rule, { meter, listener });
    return meter;
  }

  /** Forgets all limits of a listener that are not rules. */
  removeNamed(listener: ListenerName): void {
    this.#latestName = undefined;
    for (const [name, named] of this.#byName) {
      if (named.listener === listener) this.#byName.delete(name);
    }
  }

  /** Forgets rules that are gone. */
  remove(ruleIds: Iterable<string>): void {
    this.#latestName = undefined;
    for (const id of ruleIds) this.#byId.delete(id);
  }

  /** Every meter, and that of all others once it has counted something. */
  *[Symbol.iterator](): Generator<RuleMeter> {
    yield* this.#byId.values();
    // A rule of the same name has the series.
    for (const { meter } of this.#byName.values()) if (!this.#byId.has(meter.rule)) yield meter;
    const { allowed, blocked, shadowBlocked } = this.#others.totals;
    if (allowed + blocked + shadowBlocked + this.#others.shadowAllowed > 0) yield this.#others;
  }

  get #isFull(): boolean {
    return this.#byId.size + this.#byName.size >= RULE_LABELS_MAX;
  }

  #make(rule: Rule): RuleMeter {
    if (this.#isFull) return this.#others;
    const names = { rule: rule.id, endpoint: toEndpoint(rule), keyType: describeKey(rule.key) };
    const meter = new RuleMeter(this, names, this.#watch);
    this.#byId.set(rule.id, meter);
    return meter;
  }
}

/** The patterns of paths that a rule is about, as one string. */
export function toEndpoint({ match }: Rule): string {
  const text = match.paths.length === 0 ? "*" : match.paths.join(",");
  return text.length <= ENDPOINT_CHARS_MAX ? text : `${text.slice(0, ENDPOINT_CHARS_MAX)}…`;
}
