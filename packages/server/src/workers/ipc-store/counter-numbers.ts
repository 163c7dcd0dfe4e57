// The numbers by which a worker names its counters to the primary. A counter is sent in full once. Beyond a
// bound the numbers restart, so that neither side remembers counters of rules that are long gone.

import type { Counter } from "sluice";

/** The most counters that have a number at a time: more than any set of rules has. */
export const COUNTERS_NUMBERED_MAX = 65_536;

/** Numbers of counters, and the counters that have not been sent to the primary. */
export class CounterNumbers {
  readonly #countersMax: number;
  #numbers = new WeakMap<Counter, number>();
  #last = 0;
  #unsent: (readonly [number, Counter])[] = [];

  constructor(countersMax: number = COUNTERS_NUMBERED_MAX) {
    this.#countersMax = countersMax;
  }

  /** The number of a counter. A new counter is sent with the message that is being written. */
  of(counter: Counter): number {
    const known = this.#numbers.get(counter);
    if (known !== undefined) return known;
    this.#last++;
    this.#numbers.set(counter, this.#last);
    this.#unsent.push([this.#last, counter]);
    return this.#last;
  }

  /** Call before writing a message. Returns true if the numbers restart with it. */
  restartIfFull(): boolean {
    if (this.#last < this.#countersMax) return false;
    this.#numbers = new WeakMap();
    this.#last = 0;
    return true;
  }

  /** The counters that were numbered since the last message. */
  takeNew(): readonly (readonly [number, Counter])[] {
    const unsent = this.#unsent;
    this.#unsent = [];
    return unsent;
  }
}
