// Where in a value its reader is, and where problems are reported. A spot is the path from the root of the value; a
// reading collects the problems of one value, or throws the first.

import { show } from "../errors.js";
import { nameHint } from "../nearest-name.js";

/** The way to a value: names of fields and indexes of lists. */
export type Path = readonly (string | number)[];

/** Thrown by a reading that has a bound, when the value has more parts than that. */
export class TooManyValues extends Error {}

/** One reading of one value. Each user of shapes has its own, which decides where problems go. */
export abstract class Reading {
  /** How many values may still be read. A bound is needed where aliases can multiply the parts of a file. */
  valuesLeft: number;

  /** @param valuesMax - The most values that are read before {@link TooManyValues} is thrown. Default: any number. */
  constructor(valuesMax: number = Number.POSITIVE_INFINITY) {
    this.valuesLeft = valuesMax;
  }

  /** How many problems were reported so far. */
  abstract readonly problemCount: number;

  /** Reports what is wrong with the value at a path: `is missing`. May throw, which ends the reading. */
  abstract report(path: Path, problem: string): void;

  /** Reports that a value must be something else. */
  refuse(path: Path, { what, seen, meant }: Mismatch): void {
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    this.report(path, `must be ${what}, got ${this.show(seen, path)}${hint}`);
  }

  /** Reports a field that is not known; `hint` lists those that are. */
  reportUnknown(path: Path, hint: string): void {
    this.report(path, `is unknown${hint}`);
  }

  /** Renders a value that was refused. Overridden where values may be secret. */
  show(value: unknown, _path: Path): string {
    return show(glimpse(value));
  }
}

/** A value that is not what it must be. */
export interface Mismatch {
  /** Completes "must be". */
  readonly what: string;
  readonly seen: unknown;
  /** What was probably meant, if there is a clear candidate. */
  readonly meant: string | undefined;
}

/** A place in what is read. */
export class Spot {
  readonly reading: Reading;
  readonly #parent: Spot | undefined;
  #step: string | number;
  #child: Spot | undefined;

  constructor(reading: Reading, parent?: Spot, step: string | number = "") {
    this.reading = reading;
    this.#parent = parent;
    this.#step = step;
  }

  /** The place of a field or an item. */
  in(step: string | number): Spot {
    this.#count();
    return new Spot(this.reading, this, step);
  }

  /**
   * The same, in an object that the next call of `at` on this spot uses again: reading allocates one spot for each
   * level, not for each value. Only for a value that is read completely before its next sibling.
   */
  at(step: string | number): Spot {
    this.#count();
    this.#child ??= new Spot(this.reading, this, step);
    this.#child.#step = step;
    return this.#child;
  }

  #count(): void {
    this.reading.valuesLeft -= 1;
    if (this.reading.valuesLeft < 0) throw new TooManyValues();
  }

  /** The names on the way here. */
  get path(): Path {
    return this.#parent === undefined ? [] : [...this.#parent.path, this.#step];
  }

  /** How many problems were reported so far, anywhere. */
  get problemCount(): number {
    return this.reading.problemCount;
  }

  /**
   * Reports that the value must be something else. Returns undefined: there is nothing to go on with.
   *
   * @param meant - What was probably meant, if there is a clear candidate.
   */
  refuse(what: string, seen: unknown, meant?: string): undefined {
    this.reading.refuse(this.path, { what, seen, meant });
  }

  /** Reports a problem in its own words. */
  say(problem: string): undefined {
    this.reading.report(this.path, problem);
  }

  /**
   * Reports that this value has a field that is not one of those known.
   *
   * @param meant - The field that was meant. Default: the nearest of the known names, if one is near.
   */
  sayUnknown(name: string, known: readonly string[], meant?: string): undefined {
    this.reading.reportUnknown([...this.path, name], nameHint(name, known, meant));
  }

  /** Reports that a field of this value is missing, and what it must be. */
  sayMissing(name: string, what: string): undefined {
    this.reading.report([...this.path, name], `is missing; it must be ${what}`);
  }
}

// As many values as fit into what is shown of one, and more.
const GLIMPSED_MAX = 100;

/**
 * The beginning of a value, all that is shown of it: parts that a file names many times over would
 * take long to write out.
 */
function glimpse(value: unknown, budget: { left: number } = { left: GLIMPSED_MAX }): unknown {
  budget.left -= 1;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (let i = 0; i < value.length && budget.left > 0; i++) items.push(glimpse(value[i], budget));
    return items;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const fields: Record<string, unknown> = Object.create(null);
  for (const name of Object.keys(value)) {
    if (budget.left <= 0) break;
    fields[name] = glimpse((value as Record<string, unknown>)[name], budget);
  }
  return fields;
}
