// The numbers by which a worker names its counters to the primary. A counter is told in full once; beyond a
// bound all numbers start anew, so that neither side remembers counters of rules that are long gone.

import type { Counter } from "sluice";

/** Counters that have a number at once: more than any set of rules has. */
export const COUNTERS_NUMBERED_MAX = 65_536;

/** Numbers of counters, and those that the primary has not been told of. */
export class CounterNumbers {
  readonly #countersMax: number;
  #numbers = new WeakMap<Counter, number>();
  #last = 0;
  #untold: (readonly [number, Counter])[] = [];

  constructor(countersMax: number = COUNTERS_NUMBERED_MAX) {
    this.#countersMax = countersMax;
  }

  /** The number of a counter; a new one is told with the message that is being written. */
  of(counter: Counter): number {
    const known = this.#numbers.get(counter);
    if (known !== undefined) return known;
    this.#last++;
    this.#numbers.set(counter, this.#last);
    this.#untold.push([this.#last, counter]);
    return this.#last;
  }

  /** To be called before a message is written: whether its numbers are all new ones. */
  startAfreshIfFull(): boolean {
    if (this.#last < this.#countersMax) return false;
    this.#numbers = new WeakMap();
    this.#last = 0;
    return true;
  }

  /** The counters that were numbered since the last message. */
  takeNew(): readonly (readonly [number, Counter])[] {
    const untold = this.#untold;
    this.#untold = [];
    return untold;
  }
}
