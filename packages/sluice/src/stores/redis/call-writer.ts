// What one call of a script carries, gathered piece by piece: each key, limit and text once, and a
// list of numbers that tells by their places what is asked. The scripts say in which order.

import type { Limit } from "../../limits.js";
import { toJson } from "./limit-numbers.js";

/** What every call begins with. */
export interface CallTime {
  /** The time of an injected clock; absent: the server's own. */
  readonly nowMs: number | undefined;
  /** The best guess of the server's time. */
  readonly guessMs: number;
  readonly slackMs: number;
}

export class CallWriter {
  readonly keys: string[] = [];
  /** What the script is told, in its order. */
  readonly numbers: number[] = [];
  readonly #places = new Map<string, number>();
  readonly #limits: Limit[] = [];
  readonly #texts: string[] = [];

  /** The place of a key, from 1. */
  key(name: string): number {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    const place = this.keys.push(name);
    this.#places.set(name, place);
    return place;
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
