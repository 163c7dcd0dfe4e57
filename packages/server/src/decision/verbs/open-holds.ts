// What callers hold between two calls: reservations until they are committed or cancelled, permits until they are
// released. A reservation that is never settled stays charged, and a permit that is never released expires; both are
// forgotten here after a while.

import { BoundedMap, type MaybePromise } from "sluice";
import { ServerError, show } from "../../base/errors.js";

/** The most holds that are open; beyond it the oldest is forgotten, as if its caller had never settled it. */
const HOLDS_MAX = 100_000;

/** How long a reservation can be settled, in milliseconds: as long as stores remember its receipt. */
export const RESERVATION_MS = 600_000;

/** A reservation or a permit that a caller holds. */
export type OpenHold =
  | {
      readonly kind: "reservation";
      commit(cost: number): MaybePromise<void>;
      cancel(): MaybePromise<void>;
    }
  | { readonly kind: "permit"; release(): MaybePromise<void> };

interface Kept {
  readonly hold: OpenHold;
  readonly untilMs: number;
}

/** What {@link OpenHolds} needs. */
export interface OpenHoldsOptions {
  /** The time, in milliseconds. */
  readonly nowMs: () => number;
  /** Makes ids that can't be guessed. */
  readonly newId: () => string;
}

/** The reservations and permits that are open, by id. */
export class OpenHolds {
  readonly #options: OpenHoldsOptions;
  readonly #byId = new BoundedMap<string, Kept>(HOLDS_MAX);

  constructor(options: OpenHoldsOptions) {
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    return this.#byId.size;
  }

  /** Keeps a hold for `forMs` and returns its id. */
  add(hold: OpenHold, forMs: number): string {
    const nowMs = this.#options.nowMs();
    this.#sweep(nowMs);
    const id = this.#options.newId();
    this.#byId.set(id, { hold, untilMs: nowMs + forMs });
    return id;
  }

  /**
   * Removes and returns the hold with an id.
   *
   * @throws ServerError `SLUICE_HOLD_UNKNOWN` if there is no open hold of that kind.
   */
  take<K extends OpenHold["kind"]>(id: string, kind: K): Extract<OpenHold, { kind: K }> {
    const kept = this.#byId.get(id);
    if (kept?.hold.kind !== kind || kept.untilMs <= this.#options.nowMs()) {
      const why = "it was settled before, has expired or never was";
      throw new ServerError("SLUICE_HOLD_UNKNOWN", `no ${kind} ${show(id)}: ${why}`);
    }
    this.#byId.delete(id);
    return kept.hold as Extract<OpenHold, { kind: K }>;
  }

  /** Puts back a hold that could not be settled, so that its caller may try again. */
  putBack(id: string, hold: OpenHold): void {
    this.#byId.set(id, { hold, untilMs: this.#options.nowMs() + RESERVATION_MS });
  }

  /** Forgets holds that have expired, oldest first. */
  #sweep(nowMs: number): void {
    for (const [id, { untilMs }] of this.#byId) {
      if (untilMs > nowMs) return;
      this.#byId.delete(id);
    }
  }
}
