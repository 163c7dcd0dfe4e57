// The keys and arguments of one call of a script, gathered piece by piece: each key, limit and string once, and a
// list of numbers that refers to them by their places. The header of each script says in which order.

import type { Limit } from "../../../limits/limits.js";
import type { Charge, Counter } from "../../store.js";
import type { KeyNames } from "../keys.js";
import { isList, toJson } from "./limit-numbers.js";

/** What every call begins with. */
export interface CallTime {
  /** The time of an injected clock; absent: the server's own. */
  readonly nowMs: number | undefined;
  /** The best guess of the server's time. */
  readonly guessMs: number;
  readonly slackMs: number;
}

/** The distance between the places of a key's parts; the same as in parts.lua. */
const PART_STEP = 65_536;

/** Keys of one call, each once, by what they are named after, so that a name is made only once. */
class KeyList {
  readonly names: string[] = [];
  /** For each identity the suffixes of its keys, each followed by its place: a handful, as a request has few rules. */
  readonly #byKey = new Map<string, (string | number)[]>();
  #lastKey: string | undefined;
  #lastPlaces: (string | number)[] = [];
  /** Where the next suffix is, if the charges come in the same order as before. */
  #at = 0;

  /** The place of a key's name that ends with `suffix`, from 1. */
  place(suffix: string, key: string, tag: string): number {
    const places = this.#placesOf(key);
    if (places[this.#at] !== suffix) this.#at = places.indexOf(suffix);
    if (this.#at < 0) this.#at = places.push(suffix, this.names.push(tag + suffix)) - 2;
    const place = places[this.#at + 1] as number;
    this.#at += 2;
    return place;
  }

  #placesOf(key: string): (string | number)[] {
    // Most charges of a request are of one identity.
    if (key === this.#lastKey) return this.#lastPlaces;
    let places = this.#byKey.get(key);
    if (places === undefined) {
      places = [];
      this.#byKey.set(key, places);
    }
    this.#lastKey = key;
    this.#lastPlaces = places;
    this.#at = 0;
    return places;
  }
}

/** Gathers one call. */
export class CallWriter {
  /** The numbers for the script, in the order in which it reads them. */
  readonly numbers: number[] = [];
  readonly #names: KeyNames;
  readonly #keys = new KeyList();
  readonly #limits: Limit[] = [];
  readonly #texts: string[] = [];
  /** The plain request before: see {@link plainRequest}. */
  #previous: readonly number[] = [];

  constructor(names: KeyNames) {
    this.#names = names;
  }

  get keys(): readonly string[] {
    return this.#keys.names;
  }

  /** The place of a counter: a list of its own, or a part of the limiter's value. */
  counter(counter: Counter, key: string, tag: string): number {
    if (!isList(counter.limit)) return this.value(counter, key, tag) + counter.part * PART_STEP;
    return this.#keys.place(this.#names.of(counter).list, key, tag);
  }

  /** The place of the limiter's value, which has the mark of a block. */
  value(counter: Counter, key: string, tag: string): number {
    return this.#keys.place(this.#names.of(counter).value, key, tag);
  }

  /** The place of a counter's open receipts. */
  open(counter: Counter, key: string, tag: string): number {
    return this.#keys.place(this.#names.of(counter).open, key, tag);
  }

  /** The place of the note that a brief receipt of this counter was settled. */
  note(counter: Counter, tag: string, id: string): number {
    return this.name(tag + this.#names.of(counter).note + id);
  }

  /** The place of a whole name. */
  name(name: string): number {
    return this.#keys.place("", name, name);
  }

  /** The place of a limit, from 1. */
  limit(limit: Limit): number {
    // A call knows one to a handful of limits.
    const at = this.#limits.indexOf(limit);
    return at >= 0 ? at + 1 : this.#limits.push(limit);
  }

  /**
   * Writes a request that has nothing but charges, as requests.lua reads it. A request that differs from
   * the one before it in its keys only is a single number.
   */
  plainRequest(charges: readonly Charge[], tags: readonly string[]): void {
    let firstKey = 0;
    const request: number[] = [];
    for (let i = 0; i < charges.length; i++) {
      const { counter, key, cost } = charges[i];
      const place = this.counter(counter, key, tags[i]);
      if (i === 0) firstKey = place % PART_STEP;
      request.push(place - firstKey, this.limit(counter.limit), cost);
    }
    if (isEqual(request, this.#previous)) {
      this.numbers.push(-firstKey);
      return;
    }
    this.#previous = request;
    for (let i = 0; i < request.length; i += 3) {
      const isLast = i + 3 === request.length;
      const limit = request[i + 1];
      this.numbers.push(request[i] + firstKey, isLast ? -limit : limit, request[i + 2]);
    }
  }

  /** The place of a string in ARGV, behind `fixed` arguments. */
  text(text: string, fixed: number): number {
    return this.#texts.push(text) + fixed;
  }

  /** The arguments of the script. */
  args({ nowMs, guessMs, slackMs }: CallTime, ...more: string[]): string[] {
    const limits = this.#limits.map((limit) => toJson(limit, guessMs)).join(",");
    return [
      nowMs === undefined ? "" : String(nowMs),
      String(slackMs),
      `[${limits}]`,
      JSON.stringify(this.numbers),
      ...more,
      ...this.#texts,
    ];
  }
}

function isEqual(some: readonly number[], others: readonly number[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) if (some[i] !== others[i]) return false;
  return true;
}
