// Settlings that a store did not take: they are kept, in bounded number, until it is back. A receipt
// counts once however often it is sent, so what may have arrived is sent again without harm.

import { LinkedList } from "../../base/linked-list.js";
import { andThen, isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import type { Settling } from "../store.js";

/** The most settlings that are sent again in one call. */
const RESENT_MAX = 100;
/** How long the rest waits after a call that failed, so that a bad one does not go with each answer. */
const REST_MS = 1_000;

/** Sends settlings, and says whether the store took them; if not, they are queued again. */
export type Resend = (settlings: readonly Settling[]) => MaybePromise<boolean>;

/** A queue of settlings. Full, it gives the oldest up and counts them. */
export class Unsettled {
  readonly #settlingsMax: number;
  readonly #waiting = new LinkedList<Settling>();
  #dropped = 0;
  #isResending = false;
  #restUntilMs = 0;

  constructor(settlingsMax: number) {
    this.#settlingsMax = settlingsMax;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** How many were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Adds settlings behind those that wait. */
  add(settlings: readonly Settling[]): void {
    for (const settling of settlings) this.#waiting.add(settling);
    this.#dropped += this.#take(this.size - this.#settlingsMax).length;
  }

  /** Takes out all that wait. */
  takeAll(): readonly Settling[] {
    return this.#take(this.size);
  }

  /** Counts all that wait as lost. */
  dropAll(): void {
    this.#dropped += this.takeAll().length;
  }

  /** Sends on what waits, one batch after the other for as long as the store takes them. */
  resend(nowMs: number, send: Resend): void {
    if (this.#isResending || nowMs < this.#restUntilMs || this.size === 0) return;
    this.#isResending = true;
    const batch = this.#take(RESENT_MAX);
    const end = (isTaken: boolean) => {
      this.#isResending = false;
      if (isTaken) this.resend(nowMs, send);
      else this.#restUntilMs = nowMs + REST_MS;
    };
    const lose = () => {
      // Not the store's failure but an error of its use, which no repetition mends.
      this.#dropped += batch.length;
      end(false);
    };
    try {
      const sent = andThen(send(batch), end);
      if (isThenable(sent)) sent.catch(lose);
    } catch {
      lose();
    }
  }

  /** Removes the oldest, at most `countMax` of them. */
  #take(countMax: number): readonly Settling[] {
    const taken: Settling[] = [];
    for (const place of this.#waiting.places()) {
      if (taken.length >= countMax) break;
      taken.push(this.#waiting.at(place));
      this.#waiting.remove(place);
    }
    return taken;
  }
}
