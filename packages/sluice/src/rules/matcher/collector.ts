// The rules that are about one path pattern. Where there are many, they are listed under the values that
// they ask for, by the field that tells them apart best, and so again under each value: a thousand rules
// for a thousand hosts cost one look-up.

import type { Subject } from "../subject.js";
import { type Condition, type Field, isMet } from "./field.js";

/** Finds candidates. */
export interface Collector<C> {
  /** Adds those whose conditions a request meets; one may be added twice, and in any order. */
  collect(subject: Subject, found: C[]): void;
}

/** A candidate, and what is still to be asked of a request before it is one of its own. */
export interface Open<C> {
  readonly candidate: C;
  readonly conditions: readonly Condition[];
}

/** So few are looked at one by one: that costs less than a look-up. */
const LISTED_MIN = 5;

const NONE: readonly Condition[] = [];

/** What finds these candidates. */
export function toCollector<C>(open: readonly Open<C>[]): Collector<C> {
  const singles = open.map(({ candidate, conditions }) => new Single(candidate, conditions));
  if (singles.length === 1) return singles[0];
  const field = singles.length < LISTED_MIN ? undefined : findField(open);
  return field === undefined ? new Several(singles) : new Listed(open, field);
}

/** One candidate, as most patterns have. */
class Single<C> implements Collector<C> {
  readonly #candidate: C;
  readonly #conditions: readonly Condition[];

  constructor(candidate: C, conditions: readonly Condition[]) {
    this.#candidate = candidate;
    this.#conditions = conditions;
  }

  collect(subject: Subject, found: C[]): void {
    for (const condition of this.#conditions) {
      if (!isMet(condition, subject)) return;
    }
    found.push(this.#candidate);
  }
}

/** A few of them, or many that nothing tells apart. */
class Several<C> implements Collector<C> {
  readonly #singles: readonly Single<C>[];

  constructor(singles: readonly Single<C>[]) {
    this.#singles = singles;
  }

  collect(subject: Subject, found: C[]): void {
    for (const single of this.#singles) single.collect(subject, found);
  }
}

/** Candidates by the values that they ask of one field, and those that ask none of it. */
class Listed<C> implements Collector<C> {
  readonly #field: Field;
  readonly #byValue: ReadonlyMap<string, Collector<C>>;
  readonly #others: Collector<C>;

  constructor(open: readonly Open<C>[], field: Field) {
    const byValue = new Map<string, Open<C>[]>();
    const others: Open<C>[] = [];
    for (const each of open) {
      const condition = conditionOn(each, field);
      if (condition?.values === undefined) others.push(each);
      else list(byValue, condition.values, without(each, condition));
    }
    this.#field = field;
    this.#byValue = new Map([...byValue].map(([value, under]) => [value, toCollector(under)]));
    this.#others = toCollector(others);
  }

  collect(subject: Subject, found: C[]): void {
    this.#others.collect(subject, found);
    const value = this.#field.read(subject);
    if (value === undefined) return;
    this.#byValue.get(value)?.collect(subject, found);
    for (const covering of this.#field.covers(subject)) {
      this.#byValue.get(covering)?.collect(subject, found);
    }
  }
}

function list<C>(byValue: Map<string, Open<C>[]>, values: Iterable<string>, open: Open<C>): void {
  for (const value of values) {
    const under = byValue.get(value);
    if (under === undefined) byValue.set(value, [open]);
    else under.push(open);
  }
}

/** Who is found under a value need not be asked for it again. */
function without<C>({ candidate, conditions }: Open<C>, met: Condition): Open<C> {
  const left = conditions.filter((condition) => condition !== met);
  return { candidate, conditions: left.length === 0 ? NONE : left };
}

function conditionOn<C>({ conditions }: Open<C>, field: Field): Condition | undefined {
  return conditions.find((condition) => condition.field === field);
}

/** The field of which the most different values are asked; undefined if none is asked for values. */
function findField<C>(open: readonly Open<C>[]): Field | undefined {
  const seen = new Map<Field, Set<string>>();
  for (const { field, values } of open.flatMap(({ conditions }) => conditions)) {
    if (values === undefined) continue;
    const known = seen.get(field) ?? new Set();
    seen.set(field, known);
    for (const value of values) known.add(value);
  }
  const [best] = [...seen].sort(([, a], [, b]) => b.size - a.size);
  return best?.[0];
}
