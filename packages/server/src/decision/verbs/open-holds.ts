// What callers hold between two calls: reservations until they are committed or cancelled, permits until they are
// released. A reservation that is never settled stays charged, and a permit that is never released expires; both are
// forgotten here after a while.

import { BoundedMap, type MaybePromise } from "sluice";
import { ServerError, show } from "../../base/errors.js";

/**
 * The most holds that are open; beyond it the caller (identified by token) with the most holds loses its oldest, as if it
 * had never settled it. So a caller that only reserves can't take away what others hold.
 */
export const HOLDS_MAX = 100_000;

/** How long a reservation can be settled, in milliseconds: as long as stores remember its receipt. */
export const RESERVATION_MS = 600_000;

/** A reservation or a permit that a caller holds. */
export type OpenHold = {
  /** The place of the token that it came with. */
  readonly token: number;
} & (
  | {
      readonly kind: "reservation";
      commit(cost: number): MaybePromise<void>;
      cancel(): MaybePromise<void>;
    }
  | { readonly kind: "permit"; release(): MaybePromise<void> }
);

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

/** The holds of one caller by id, the oldest first. Without a bound of their own: that of all callers holds. */
type CallerHolds = BoundedMap<string, Kept>;

/** The reservations and permits that are open, by id. */
export class OpenHolds {
  readonly #options: OpenHoldsOptions;
  /** By the place of its token. */
  readonly #callers = new Map<number, CallerHolds>();

  constructor(options: OpenHoldsOptions) {
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    let size = 0;
    for (const holds of this.#callers.values()) size += holds.size;
    return size;
  }

  /** Keeps a hold for `forMs` and returns its id. */
  add(hold: OpenHold, forMs: number): string {
    const id = this.#options.newId();
    this.#keep(id, hold, forMs);
    return id;
  }

  /**
   * Removes and returns the hold with an id.
   *
   * @throws ServerError `SLUICE_HOLD_UNKNOWN` if there is no open hold of that kind.
   */
  take<K extends OpenHold["kind"]>(id: string, kind: K): Extract<OpenHold, { kind: K }> {
    for (const holds of this.#callers.values()) {
      const kept = holds.get(id);
      if (kept?.hold.kind !== kind || kept.untilMs <= this.#options.nowMs()) continue;
      holds.delete(id);
      return kept.hold as Extract<OpenHold, { kind: K }>;
    }
    const why = "it was settled before, has expired or never was";
    throw new ServerError("SLUICE_HOLD_UNKNOWN", `no ${kind} ${show(id)}: ${why}`);
  }

  /** Puts back a hold that could not be settled, so that its caller may try again. */
  putBack(id: string, hold: OpenHold): void {
    this.#keep(id, hold, RESERVATION_MS);
  }

  #keep(id: string, hold: OpenHold, forMs: number): void {
    const nowMs = this.#options.nowMs();
    this.#sweep(nowMs);
    if (this.size >= HOLDS_MAX) this.#evict();
    const holds = this.#callers.get(hold.token) ?? new BoundedMap(Number.POSITIVE_INFINITY);
    this.#callers.set(hold.token, holds);
    holds.set(id, { hold, untilMs: nowMs + forMs });
  }

  /** Forgets holds that have expired, each caller's oldest first. */
  #sweep(nowMs: number): void {
    for (const holds of this.#callers.values()) {
      for (const [id, { untilMs }] of holds) {
        if (untilMs > nowMs) break;
        holds.delete(id);
      }
    }
  }

  /** Looks at every caller: there are as many as tokens, which is few. */
  #evict(): void {
    const most = [...this.#callers.values()].reduce((a, b) => (b.size > a.size ? b : a));
    const [[oldest]] = most;
    most.delete(oldest);
  }
}
