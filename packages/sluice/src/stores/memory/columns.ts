// Scratch space for the charges of one request while they are decided: a column for each property, reused by the next
// request, so that a list of charges leaves no garbage but its answers.

import type { Counter } from "../store.js";
import type { AnyStep } from "./cells/cells.js";
import type { Placement } from "./placements.js";
import { STATE_DOUBLES_MAX } from "./table/table.js";

/** Where the charges of a request are, by their place in its list. */
export class RequestColumns {
  /** Requests under the same limits have the same counters in the same places: found once. */
  readonly counters: (Counter | undefined)[] = [];
  readonly placements: Placement[] = [];
  /** The fingerprint of each key under its counter. */
  readonly lows: number[] = [];
  readonly highs: number[] = [];
  /** -1 if the key has none. */
  readonly slots: number[] = [];
  /** Now, by the time of each limit. */
  readonly timesMs: number[] = [];
  /** What was weighed and is taken when all have passed; undefined: taken already, on trial. */
  readonly steps: (AnyStep | undefined)[] = [];
  isAnyWeighed = false;
  /** The states of slots as they were before the trial. */
  readonly #saved: Float64Array;

  constructor(chargesMax: number) {
    this.#saved = new Float64Array(chargesMax * STATE_DOUBLES_MAX);
  }

  /** The placement of this counter holds no longer. */
  forget(counter: Counter): void {
    const { counters } = this;
    for (let i = 0; i < counters.length; i++) if (counters[i] === counter) counters[i] = undefined;
  }

  /** Keeps the state of a charge's slot as it is. */
  save(i: number): void {
    const { table } = this.placements[i].cells;
    table.copyOut(this.slots[i], this.#saved, i * STATE_DOUBLES_MAX);
  }

  /** Makes the state what it was. */
  restore(i: number): void {
    const { table } = this.placements[i].cells;
    table.copyIn(this.slots[i], this.#saved, i * STATE_DOUBLES_MAX);
  }
}
