// The exceptions of a rule, ready to be charged. However many there are, a request costs one look-up for each of
// API key, user, tenant and plan that has any. Counters are made when a caller first needs them.

import { ITEMS_A_STEP, type Steps } from "../../../base/steps.js";
import type { Limit } from "../../../limits/limits.js";
import type { Counter } from "../../../stores/store.js";
import type { Facts } from "../../facts.js";
import { toKeyValue, toPrefix } from "../../identity-keys/key.js";
import type { NormalizedRequest } from "../../match/normalized-request.js";
import { escapeInKey } from "../../normalize/escape.js";
import { toValue } from "../../normalize/normalize-string.js";
import {
  EXCEPTION_SUBJECTS,
  type ExceptionLimits,
  type ExceptionSubject,
  isInKey,
  type RuleExceptions,
} from "../../rule.js";
import { toDelayed } from "./delay.js";
import {
  type LimitsContext,
  NO_COUNTERS,
  type RuleLimit,
  scopeOfTier,
  toRuleLimits,
} from "./rule-limits.js";

/** What exceptions need to know of their rule. */
export interface ExceptionsContext extends LimitsContext {
  readonly keyOf: (normalized: NormalizedRequest) => string | undefined;
}

/** One exception. */
export interface ExceptionInForce {
  readonly by: ExceptionSubject;
  readonly value: string;
  /** By the wall clock; Infinity if it does not end. */
  readonly endsAtMs: number;
}

/** All exceptions by one fact. */
interface Lookup {
  readonly by: ExceptionSubject;
  readonly entries: ReadonlyMap<string, ExceptionEntry>;
  /** Whether the rule's key has the fact in it, so that no key is shared by callers with and without an exception. */
  readonly isInKey: boolean;
}

/** The exceptions of one rule. */
export class ExceptionsInForce {
  readonly #context: ExceptionsContext & { readonly prepared: readonly Counter[] };
  /** In order of precedence. */
  readonly #lookups: readonly Lookup[];
  /** What the counters depend on besides their limits. */
  readonly #basis: string;

  /** @param context.prepared - Held for the store, which may know limits for as long as a counter has them. */
  private constructor(
    context: ExceptionsContext & { readonly prepared: readonly Counter[] },
    basis: string,
    lookups: readonly Lookup[],
  ) {
    this.#context = context;
    this.#basis = basis;
    this.#lookups = lookups;
  }

  /**
   * Makes the exceptions of a rule ready.
   *
   * @param before - Those of the same rule so far: what says the same keeps its counters.
   */
  static *make(
    exceptions: RuleExceptions,
    context: ExceptionsContext,
    before?: ExceptionsInForce,
  ): Steps<ExceptionsInForce> {
    const basis = toBasis(context);
    const known = before === undefined ? [] : before.#lookupsFor(context, basis);
    const lookups: Lookup[] = [];
    for (const by of EXCEPTION_SUBJECTS.filter((by) => exceptions.has(by))) {
      const same = known.find((lookup) => lookup.by === by);
      const entries = yield* toEntries(by, exceptions.get(by) ?? NONE, same?.entries);
      lookups.push({ by, entries, isInKey: isInKey(by, context.rule) });
    }
    const prepared = yield* prepare(exceptions, context);
    return new ExceptionsInForce({ ...context, prepared }, basis, lookups);
  }

  /** The exception that holds for a caller now; undefined if none does. */
  find(facts: Facts, times: { readonly wallMs: number }): ExceptionInForce | undefined {
    return this.#find(facts, times)?.entry;
  }

  /** The limits of that exception; undefined if none holds, and an empty list if it has no limit. */
  limitsOf(
    normalized: NormalizedRequest,
    times: { readonly wallMs: number },
  ): readonly RuleLimit[] | undefined {
    const { facts } = normalized;
    const found = this.#find(facts, times);
    if (found === undefined) return undefined;
    if (!found.isInKey || this.#isByAddress(normalized)) return this.#limitsApart(found.entry);
    const { tier } = facts;
    const isTier = tier !== undefined && this.#context.rule.tiers.has(tier);
    return this.#limitsInTier(found.entry, isTier ? tier : undefined);
  }

  /** Where exceptions may count a key of the rule. */
  placesOf(key: string, times: { readonly wallMs: number }): ExceptionPlaces {
    const parts = new Set(key.split("|"));
    const isOwnKey = parts.size === this.#context.rule.key.length;
    const places: Places = { instead: undefined, perhaps: [], apart: [] };
    for (const { by, entries, isInKey } of this.#lookups) {
      const isInScope = isInKey && isOwnKey;
      for (const entry of this.#inForce(entries, times)) {
        if (!isInScope) places.apart.push(this.#limitsApart(entry));
        // Which plan a tenant has is not written in its key.
        else if (by === "plan") places.perhaps.push(...this.#limitsInTiers(entry));
        else if (parts.has(partOf(by, entry.value))) {
          places.instead ??= [...this.#limitsInTiers(entry)];
        }
      }
    }
    return places;
  }

  *#inForce(
    entries: ReadonlyMap<string, ExceptionEntry>,
    times: { readonly wallMs: number },
  ): Generator<ExceptionEntry> {
    for (const first of entries.values()) {
      const entry = first.now(times);
      if (entry !== undefined) yield entry;
    }
  }

  *#limitsInTiers(entry: ExceptionEntry): Generator<readonly RuleLimit[]> {
    yield this.#limitsInTier(entry, undefined);
    for (const tier of this.#context.rule.tiers.keys()) yield this.#limitsInTier(entry, tier);
  }

  #find(facts: Facts, times: { readonly wallMs: number }): Found | undefined {
    for (let i = 0; i < this.#lookups.length; i++) {
      const { by, entries, isInKey } = this.#lookups[i];
      const value = toValue(facts[by]);
      const entry = value === undefined ? undefined : entries.get(value)?.now(times);
      if (entry !== undefined) return { entry, isInKey };
    }
    return undefined;
  }

  /** Whether the request has no value for part of the rule's key, and is counted by its address instead. */
  #isByAddress(normalized: NormalizedRequest): boolean {
    const { rule, keyOf } = this.#context;
    return rule.onMissing === "ip" && keyOf(normalized) === undefined;
  }

  #limitsInTier(entry: ExceptionEntry, tier: string | undefined): readonly RuleLimit[] {
    const known = entry.byTier.get(tier);
    if (known !== undefined) return known;
    const { rule } = this.#context;
    const made = this.#make(entry, tier === undefined ? rule.id : scopeOfTier(rule, tier));
    if (entry.byTier === NO_LISTS) entry.byTier = new Map();
    entry.byTier.set(tier, made);
    return made;
  }

  #limitsApart(entry: ExceptionEntry): readonly RuleLimit[] {
    entry.apart ??= this.#make(entry, scopeOfException(this.#context.rule.id, entry));
    return entry.apart;
  }

  #make({ limits }: ExceptionEntry, scope: string): readonly RuleLimit[] {
    return toRuleLimits(limits, this.#context, { from: "exception", scope, before: NO_COUNTERS });
  }

  /** None if counters would depend on something else there. */
  #lookupsFor(context: ExceptionsContext, basis: string): readonly Lookup[] {
    return this.#basis === basis && this.#context.lane === context.lane ? this.#lookups : [];
  }
}

/** Where exceptions may count a key, and under which limits. */
export interface ExceptionPlaces {
  /** Those that hold for sure, instead of the limits of the rule and its tiers. */
  readonly instead: readonly (readonly RuleLimit[])[] | undefined;
  /** Those that hold, or the rule's and its tiers', in the same scopes. */
  readonly perhaps: readonly (readonly RuleLimit[])[];
  /** Those in scopes of their own, besides all others. */
  readonly apart: readonly (readonly RuleLimit[])[];
}

interface Places extends ExceptionPlaces {
  instead: (readonly RuleLimit[])[] | undefined;
  readonly perhaps: (readonly RuleLimit[])[];
  readonly apart: (readonly RuleLimit[])[];
}

interface Found {
  readonly entry: ExceptionEntry;
  readonly isInKey: boolean;
}

const NONE: ReadonlyMap<string, readonly ExceptionLimits[]> = new Map();
const NO_LISTS: Map<string | undefined, readonly RuleLimit[]> = new Map();

class ExceptionEntry implements ExceptionInForce {
  readonly by: ExceptionSubject;
  readonly value: string;
  readonly endsAtMs: number;
  readonly limits: readonly Limit[];
  /** What holds when this one has ended. */
  readonly next: ExceptionEntry | undefined;
  /** Its limits in the scope of the rule and of each tier, made when they are needed. */
  byTier: Map<string | undefined, readonly RuleLimit[]> = NO_LISTS;
  /** Its limits in a scope of their own. */
  apart: readonly RuleLimit[] | undefined = undefined;

  constructor(
    name: { readonly by: ExceptionSubject; readonly value: string },
    { limits, endsAtMs }: ExceptionLimits,
    next: ExceptionEntry | undefined,
    before: ExceptionEntry | undefined,
  ) {
    this.by = name.by;
    this.value = name.value;
    this.endsAtMs = endsAtMs;
    this.limits = limits;
    this.next = next;
    if (before === undefined || !before.isMade || !isEqual(before.limits, limits)) return;
    this.byTier = before.byTier;
    this.apart = before.apart;
  }

  get isMade(): boolean {
    return this.byTier !== NO_LISTS || this.apart !== undefined;
  }

  /** This exception, or the first after it that has not ended. The clock is read only where one can end. */
  now(times: { readonly wallMs: number }): ExceptionEntry | undefined {
    if (this.endsAtMs === Number.POSITIVE_INFINITY) return this;
    const { wallMs } = times;
    let entry: ExceptionEntry | undefined = this;
    while (entry !== undefined && entry.endsAtMs <= wallMs) entry = entry.next;
    return entry;
  }
}

function* toEntries(
  by: ExceptionSubject,
  exceptions: ReadonlyMap<string, readonly ExceptionLimits[]>,
  before: ReadonlyMap<string, ExceptionEntry> | undefined,
): Steps<ReadonlyMap<string, ExceptionEntry>> {
  const entries = new Map<string, ExceptionEntry>();
  for (const [value, list] of exceptions) {
    const known = before?.get(value);
    let entry: ExceptionEntry | undefined;
    for (let i = list.length - 1; i >= 0; i--) {
      entry = new ExceptionEntry({ by, value }, list[i], entry, known);
    }
    if (entry !== undefined) entries.set(value, entry);
    if (entries.size % ITEMS_A_STEP === 0) yield;
  }
  return entries;
}

function isEqual(a: readonly Limit[], b: readonly Limit[]): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Sets aside what the counters will need, so that no request has to wait for it. Returns a counter of each limit: where
 * regions learn their shares, a share has to outlast what any caller may have used, also one that other processes serve.
 */
function* prepare(
  exceptions: RuleExceptions,
  { rule, lane, extraPermitMs, onStoreFailure }: LimitsContext,
): Steps<readonly Counter[]> {
  if (lane.store.prepare === undefined) return [];
  const seen = new Set<Limit>();
  let count = 0;
  for (const byValue of exceptions.values()) {
    for (const list of byValue.values()) {
      for (const { limits } of list) for (const limit of limits) seen.add(limit);
      if (++count % ITEMS_A_STEP === 0) yield;
    }
  }
  const prepared: Counter[] = [];
  for (const each of seen) {
    const limit = toDelayed(each, rule, extraPermitMs);
    const counter = { scope: rule.id, part: 0, limit, onStoreFailure };
    // A sketch is made for one counter, and this one counts nothing.
    if (limit.algorithm === "sketch") lane.store.prepare(limit);
    else lane.store.prepare(limit, counter);
    prepared.push(counter);
  }
  return prepared;
}

/** Where an exception is counted that its rule's key does not show. No tier starts with a space. */
function scopeOfException(id: string, { by, value }: ExceptionInForce): string {
  return `${id}/ ${by}:${escapeInKey(value)}`;
}

function partOf(by: Exclude<ExceptionSubject, "plan">, value: string): string {
  return toPrefix({ kind: by }) + toKeyValue(value);
}

function toBasis({ rule, extraPermitMs, onStoreFailure, timeoutMs }: LimitsContext): string {
  const { id, key, onExceed, delayMsMax, when, settle, durable } = rule;
  const isHeld = when !== undefined || settle !== undefined;
  const numbers = [onExceed, delayMsMax, isHeld, extraPermitMs, onStoreFailure, timeoutMs, durable];
  return JSON.stringify([id, key, ...numbers]);
}
