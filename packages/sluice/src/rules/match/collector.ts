// The rules that are about one path pattern. Where there are many, each is listed under the values that
// it asks of the field that best distinguishes it from the others, and so again with those under the same value:
// a thousand rules for a thousand hosts cost one look-up.

import { type Condition, type Field, isMet } from "./field.js";
import type { NormalizedRequest } from "./normalized-request.js";

/** Finds candidates. */
export interface Collector<C> {
  /** Adds those whose conditions a request meets; one may be added twice, and in any order. */
  collect(request: NormalizedRequest, found: C[]): void;
}

/** A candidate, and what is still to be asked of a request before it is one of its own. */
export interface Open<C> {
  readonly candidate: C;
  readonly conditions: readonly Condition[];
}

/** So few are looked at one by one: that costs less than a look-up. */
const LISTED_MIN = 5;
/** How often what is listed under a value is listed again by another field. */
const LEVELS_MAX = 4;
/** The most values that are listed in one matcher: of rules that share many, each would be again and again. */
const VALUES_MAX = 1_000_000;

const NONE: readonly Condition[] = [];

/** Makes what finds candidates. Beyond its bounds they are looked at one by one: slower, never wrong. */
export class CollectorMaker {
  #valuesLeft = VALUES_MAX;

  /** What finds these candidates. */
  make<C>(open: readonly Open<C>[], level = 0): Collector<C> {
    if (open.length < LISTED_MIN || level === LEVELS_MAX) return toUnlisted(open);
    const values = countAll(open);
    if (values === 0 || values > this.#valuesLeft) return toUnlisted(open);
    this.#valuesLeft -= values;
    const plan = new ListingPlan(open);
    const listings = [...plan.listings].map(([field, byValue]) => ({
      field,
      byValue: new Map([...byValue].map(([value, under]) => [value, this.make(under, level + 1)])),
    }));
    return new Listed(listings, toUnlisted(plan.others));
  }
}

/** How many values are asked for altogether: what listing costs at most. */
function countAll(open: readonly Open<unknown>[]): number {
  let count = 0;
  for (const { conditions } of open) {
    for (const { values } of conditions) count += values?.size ?? 0;
  }
  return count;
}

function toUnlisted<C>(open: readonly Open<C>[]): Collector<C> {
  const singles = open.map(({ candidate, conditions }) => new Single(candidate, conditions));
  return singles.length === 1 ? singles[0] : new Several(singles);
}

/** One candidate, as most patterns have. */
class Single<C> implements Collector<C> {
  readonly #candidate: C;
  readonly #conditions: readonly Condition[];

  constructor(candidate: C, conditions: readonly Condition[]) {
    this.#candidate = candidate;
    this.#conditions = conditions;
  }

  collect(request: NormalizedRequest, found: C[]): void {
    for (const condition of this.#conditions) {
      if (!isMet(condition, request)) return;
    }
    found.push(this.#candidate);
  }
}

/** A few of them, or many that nothing distinguishes. */
class Several<C> implements Collector<C> {
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
  readonly field: Field;
  readonly byValue: ReadonlyMap<string, C>;
}

class Listed<C> implements Collector<C> {
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

/** Who would be listed where: each candidate by the field of which the most different values are asked. */
class ListingPlan<C> {
  readonly listings = new Map<Field, Map<string, Open<C>[]>>();
  readonly others: Open<C>[] = [];

  constructor(open: readonly Open<C>[]) {
    const counts = countValues(open);
    for (const each of open) {
      const best = toBest(each.conditions, counts);
      if (best?.values === undefined) this.others.push(each);
      else this.#list(best.field, best.values, without(each, best));
    }
  }

  #list(field: Field, values: ReadonlySet<string>, open: Open<C>): void {
    const byValue = this.listings.get(field) ?? new Map<string, Open<C>[]>();
    this.listings.set(field, byValue);
    for (const value of values) {
      const under = byValue.get(value);
      if (under === undefined) byValue.set(value, [open]);
      else under.push(open);
    }
  }
}

/** Who is found under a value need not be asked for it again. */
function without<C>({ candidate, conditions }: Open<C>, met: Condition): Open<C> {
  const left = conditions.filter((condition) => condition !== met);
  return { candidate, conditions: left.length === 0 ? NONE : left };
}

/** How many different values are asked of each field. */
function countValues(open: readonly Open<unknown>[]): ReadonlyMap<Field, number> {
  const seen = new Map<Field, Set<string>>();
  for (const { conditions } of open) {
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
  conditions: readonly Condition[],
  counts: ReadonlyMap<Field, number>,
): Condition | undefined {
  let best: Condition | undefined;
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
