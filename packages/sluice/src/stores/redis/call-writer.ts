// What one call of a script carries, gathered piece by piece: each key, limit and text once, and a
// list of numbers that tells by their places what is asked. The scripts say in which order.

import type { Limit } from "../../limits.js";
import type { Counter } from "../store.js";
import type { KeyNames } from "./keys.js";
import { toJson } from "./limit-numbers.js";

/** What every call begins with. */
export interface CallTime {
  /** The time of an injected clock; absent: the server's own. */
  readonly nowMs: number | undefined;
  /** The best guess of the server's time. */
  readonly guessMs: number;
  readonly slackMs: number;
}

/** Where a script finds what belongs to a charge. */
export interface Places {
  readonly counter: number;
  readonly block: number;
}

export class CallWriter {
  readonly keys: string[] = [];
  /** What the script is told, in its order. */
  readonly numbers: number[] = [];
  readonly #names: KeyNames;
  readonly #byCounter = new Map<Counter, Map<string, Places>>();
  readonly #places = new Map<string, number>();
  readonly #limits: Limit[] = [];
  readonly #texts: string[] = [];

  constructor(names: KeyNames) {
    this.#names = names;
  }

  /** The places of a charge's counter and block. `tag` is that of the key. */
  charge(counter: Counter, key: string, tag: string): Places {
    // By what they are named after, so that a name is made only once.
    let byKey = this.#byCounter.get(counter);
    if (byKey === undefined) {
      byKey = new Map();
      this.#byCounter.set(counter, byKey);
    }
    const known = byKey.get(key);
    if (known !== undefined) return known;
    const suffixes = this.#names.of(counter);
    const places = {
      counter: this.key(tag + suffixes.counter),
      block: this.key(tag + suffixes.block),
    };
    byKey.set(key, places);
    return places;
  }

  /** The place of a key, from 1. */
  key(name: string): number {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    const place = this.keys.push(name);
    this.#places.set(name, place);
    return place;
  }

  /** The place of a counter's open receipts. */
  open(counter: Counter, tag: string): number {
    return this.key(tag + this.#names.of(counter).open);
  }

  /** The place of a limit, from 1. */
  limit(limit: Limit): number {
    // A call knows one to a handful of limits.
    const at = this.#limits.indexOf(limit);
    return at >= 0 ? at + 1 : this.#limits.push(limit);
  }

  /** The place of a text in ARGV, behind `fixed` arguments. */
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
