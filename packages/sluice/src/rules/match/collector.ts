// The rules with one path pattern. If there are many, each is listed under the values that it requires of the field
// that best distinguishes them, and the rules under one value are divided again in the same way: a thousand rules for a
// thousand hosts cost one look-up.

import { ITEMS_A_STEP, type Steps } from "../../base/steps.js";
import { isMet, type MatchCondition, type MatchField } from "./field.js";
import type { NormalizedRequest } from "./normalized-request.js";

/** Finds candidates. */
export interface Collector<C> {
  /** The one entry that is found for every request; undefined if there are several, or conditions. */
  readonly only: C | undefined;
  /** Adds those whose conditions a request meets; one may be added twice, and in any order. */
  collect(request: NormalizedRequest, found: C[]): void;
}

/** An entry that matches a request if all these conditions are met. */
export interface Candidate<C> {
  readonly entry: C;
  readonly conditions: readonly MatchCondition[];
}

/** Fewer than this are checked one by one: that costs less than a look-up. */
const LISTED_MIN = 5;
/** How often the rules under one value are divided again by another field. */
const LEVELS_MAX = 4;
/** The most values that are listed in one matcher: rules that share many values would be listed again and again. */
const VALUES_MAX = 1_000_000;

const NONE: readonly MatchCondition[] = [];

/** Makes collectors. Beyond its bounds, candidates are checked one by one: slower, never wrong. */
export class CollectorMaker {
  #valuesLeft = VALUES_MAX;

  /** The collector of these candidates. */
  *make<C>(candidates: readonly Candidate<C>[], level = 0): Steps<Collector<C>> {
    if (candidates.length < LISTED_MIN || level === LEVELS_MAX) return toUnlisted(candidates);
    const values = countAll(candidates);
    if (values === 0 || values > this.#valuesLeft) return toUnlisted(candidates);
    this.#valuesLeft -= values;
    const plan = new ListingPlan(candidates);
    yield;
    const listings: Listing<Collector<C>>[] = [];
    for (const [field, byValue] of plan.listings) {
      listings.push({ field, byValue: yield* this.#makeEach(byValue, level + 1) });
    }
    return new Listed(listings, toUnlisted(plan.others));
  }

  *#makeEach<C>(
    byValue: ReadonlyMap<string, readonly Candidate<C>[]>,
    level: number,
  ): Steps<Map<string, Collector<C>>> {
    const made = new Map<string, Collector<C>>();
    for (const [value, under] of byValue) {
      made.set(value, yield* this.make(under, level));
      if (made.size % ITEMS_A_STEP === 0) yield;
    }
    return made;
  }
}

/** How many values are asked for altogether: what listing costs at most. */
function countAll(candidates: readonly Candidate<unknown>[]): number {
  let count = 0;
  for (const { conditions } of candidates) {
    for (const { values } of conditions) count += values?.size ?? 0;
  }
  return count;
}

function toUnlisted<C>(candidates: readonly Candidate<C>[]): Collector<C> {
  const singles = candidates.map(({ entry, conditions }) => new Single(entry, conditions));
  return singles.length === 1 ? singles[0] : new Several(singles);
}

/** One candidate, as most patterns have. */
class Single<C> implements Collector<C> {
  readonly only: C | undefined;
  readonly #entry: C;
  readonly #conditions: readonly MatchCondition[];

  constructor(entry: C, conditions: readonly MatchCondition[]) {
    this.#entry = entry;
    this.#conditions = conditions;
    this.only = conditions.length === 0 ? entry : undefined;
  }

  collect(request: NormalizedRequest, found: C[]): void {
    for (const condition of this.#conditions) {
      if (!isMet(condition, request)) return;
    }
    found.push(this.#entry);
  }
}

/** A few candidates, or many that no field distinguishes. */
class Several<C> implements Collector<C> {
  readonly only = undefined;
  readonly #singles: readonly Single<C>[];

  constructor(singles: readonly Single<C>[]) {
    this.#singles = singles;
  }

  collect(request: NormalizedRequest, found: C[]): void {
    for (const single of this.#singles) single.collect(request, found);
  }
}

/** Candidates by the values that they ask of a field. */
interface Listing<C> {
  readonly field: MatchField;
  readonly byValue: ReadonlyMap<string, C>;
}

class Listed<C> implements Collector<C> {
  readonly only = undefined;
  readonly #listings: readonly Listing<Collector<C>>[];
  /** Those that ask for no value. */
  readonly #others: Collector<C>;

  constructor(listings: readonly Listing<Collector<C>>[], others: Collector<C>) {
    this.#listings = listings;
    this.#others = others;
  }

  collect(request: NormalizedRequest, found: C[]): void {
    this.#others.collect(request, found);
    for (const { field, byValue } of this.#listings) {
      const value = field.read(request);
      if (value === undefined) continue;
      byValue.get(value)?.collect(request, found);
      for (const covering of field.covers(request)) byValue.get(covering)?.collect(request, found);
    }
  }
}

/** Where each candidate is listed: by the field of which the most different values are asked. */
class ListingPlan<C> {
  readonly listings = new Map<MatchField, Map<string, Candidate<C>[]>>();
  readonly others: Candidate<C>[] = [];

  constructor(candidates: readonly Candidate<C>[]) {
    const counts = countValues(candidates);
    for (const each of candidates) {
      const best = toBest(each.conditions, counts);
      if (best?.values === undefined) this.others.push(each);
      else this.#list(best.field, best.values, without(each, best));
    }
  }

  #list(field: MatchField, values: ReadonlySet<string>, candidate: Candidate<C>): void {
    const byValue = this.listings.get(field) ?? new Map<string, Candidate<C>[]>();
    this.listings.set(field, byValue);
    for (const value of values) {
      const under = byValue.get(value);
      if (under === undefined) byValue.set(value, [candidate]);
      else under.push(candidate);
    }
  }
}

/** A candidate that is found under a value need not be checked for it again. */
function without<C>({ entry, conditions }: Candidate<C>, met: MatchCondition): Candidate<C> {
  const left = conditions.filter((condition) => condition !== met);
  return { entry, conditions: left.length === 0 ? NONE : left };
}

/** How many different values are asked of each field. */
function countValues(candidates: readonly Candidate<unknown>[]): ReadonlyMap<MatchField, number> {
  const seen = new Map<MatchField, Set<string>>();
  for (const { conditions } of candidates) {
    for (const { field, values } of conditions) {
      if (values === undefined) continue;
      const known = seen.get(field) ?? new Set();
      seen.set(field, known);
      for (const value of values) known.add(value);
    }
  }
  return new Map([...seen].map(([field, values]) => [field, values.size]));
}

/** The condition that distinguishes most; one without values distinguishes nothing. */
function toBest(
  conditions: readonly MatchCondition[],
  counts: ReadonlyMap<MatchField, number>,
): MatchCondition | undefined {
  let best: MatchCondition | undefined;
  let most = 0;
  for (const condition of conditions) {
    const count = condition.values === undefined ? 0 : (counts.get(condition.field) ?? 0);
    if (count > most) {
      best = condition;
      most = count;
    }
  }
  return best;
}
