// Where the reader of a file is: a value's path, and the problems that are told about it.

import { SluiceError, show } from "../../base/errors.js";
import type { Limit } from "../../limits/limits.js";
import { type Path, type Problems, toPlace } from "./problems.js";

/** The most values that a set of rules may hold; names that stand for large parts count each time. */
export const VALUES_MAX = 2_000_000;

/** Thrown when there is too much to read; `parse.ts` makes a problem of it. */
export class TooMuch extends Error {}

/** What all spots of one reading share. */
export interface Reading {
  readonly problems: Problems;
  /** Values read so far. */
  valueCount: number;
  /** How many bits of an IPv6 address are one client, by which keys are written. */
  readonly ipv6Prefix: number;
  /** Limits by their JSON: rules with equal limits share one object. */
  readonly limits: Map<string, Limit>;
}

/** A place in what is read. */
export class Spot {
  readonly #reading: Reading;
  readonly #parent: Spot | undefined;
  readonly #name: string | number;

  constructor(reading: Reading, parent?: Spot, name: string | number = "") {
    this.#reading = reading;
    this.#parent = parent;
    this.#name = name;
    reading.valueCount += 1;
    if (reading.valueCount > VALUES_MAX) throw new TooMuch();
  }

  /** The place of a field or an item. */
  in(name: string | number): Spot {
    return new Spot(this.#reading, this, name);
  }

  /** The names on the way here. */
  get path(): Path {
    return this.#parent === undefined ? [] : [...this.#parent.path, this.#name];
  }

  /** Where it stands, as `sluice.yaml:14`; undefined if it comes from code. */
  get place(): string | undefined {
    const { document } = this.#reading.problems;
    const position = document.locate(this.path);
    return position === undefined ? undefined : toPlace(position.line, document.file);
  }

  /** How many bits of an IPv6 address are one client, by which keys are written. */
  get ipv6Prefix(): number {
    return this.#reading.ipv6Prefix;
  }

  /** The first equal limit of this reading: one object for ten thousand rules, not ten thousand. */
  share(limit: Limit): Limit {
    const { limits } = this.#reading;
    const text = JSON.stringify(limit);
    const known = limits.get(text);
    if (known === undefined) limits.set(text, limit);
    return known ?? limit;
  }

  /** How many problems were told so far, anywhere. */
  get problemCount(): number {
    return this.#reading.problems.count;
  }

  /**
   * Tells that the value must be something else. Returns undefined: there is nothing to go on with.
   *
   * @param meant - What was probably meant, if that can be told.
   */
  refuse(what: string, seen: unknown, meant?: string): undefined {
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    return this.say(`must be ${what}, got ${show(glimpse(seen))}${hint}`);
  }

  /** Tells a problem in its own words. */
  say(text: string): undefined {
    this.#reading.problems.add(this.path, text);
    return undefined;
  }

  /**
   * Tells what other code of the library said in an error, from behind `prefix` on: `this.path` says
   * the rest. Errors that are not about what was written go on.
   */
  tell(error: unknown, prefix: string): undefined {
    if (!(error instanceof SluiceError)) throw error;
    const { message } = error;
    return this.say(message.slice(Math.max(0, message.indexOf(prefix)) + prefix.length));
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
