// What callers hold between two calls: reservations until they are committed or cancelled, permits until they
// are released. Who never comes back leaves its cost spent and its permit to expire; what is kept here for it
// goes after a while.

import { BoundedMap, type MaybePromise } from "sluice";
import { ServerError, show } from "../base/errors.js";

/** Open at once; beyond it the oldest is forgotten, as if its caller had never come back. */
const HOLDS_MAX = 100_000;

/** How long a reservation can be settled, in milliseconds: as long as stores remember its receipt. */
export const RESERVATION_MS = 600_000;

/** Something that is held. */
export type Hold =
  | {
      readonly kind: "reservation";
      commit(cost: number): MaybePromise<void>;
      cancel(): MaybePromise<void>;
    }
  | { readonly kind: "permit"; release(): MaybePromise<void> };

interface Kept {
  readonly hold: Hold;
  readonly untilMs: number;
}

/** What a table of holds needs. */
export interface HoldsOptions {
  /** The time, in milliseconds. */
  readonly nowMs: () => number;
  /** Makes ids that nobody guesses. */
  readonly newId: () => string;
}

/** Everything that is held, by id. */
export class Holds {
  readonly #options: HoldsOptions;
  readonly #byId = new BoundedMap<string, Kept>(HOLDS_MAX);

  constructor(options: HoldsOptions) {
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    return this.#byId.size;
  }

  /** Keeps something for so long and returns its id. */
  add(hold: Hold, forMs: number): string {
    const nowMs = this.#options.nowMs();
    this.#sweep(nowMs);
    const id = this.#options.newId();
    this.#byId.set(id, { hold, untilMs: nowMs + forMs });
    return id;
  }

  /**
   * Takes out what is held under an id.
   *
   * @throws ServerError `SLUICE_HOLD_UNKNOWN` if nothing of that kind is.
   */
  take<K extends Hold["kind"]>(id: string, kind: K): Extract<Hold, { kind: K }> {
    const kept = this.#byId.get(id);
    if (kept?.hold.kind !== kind || kept.untilMs <= this.#options.nowMs()) {
      const why = "it was settled before, has expired or never was";
      throw new ServerError("SLUICE_HOLD_UNKNOWN", `no ${kind} ${show(id)}: ${why}`);
    }
    this.#byId.delete(id);
    return kept.hold as Extract<Hold, { kind: K }>;
  }

  /** Puts back what could not be settled, so that its caller may try again. */
  putBack(id: string, hold: Hold): void {
    this.#byId.set(id, { hold, untilMs: this.#options.nowMs() + RESERVATION_MS });
  }

  /** Forgets what has expired, from the oldest on. */
  #sweep(nowMs: number): void {
    for (const [id, { untilMs }] of this.#byId) {
      if (untilMs > nowMs) return;
      this.#byId.delete(id);
    }
  }
}
