// The keys of one call of a sync: what each has to send leaves its local counter when the call is made,
// and either has arrived or goes back to it.

import type { Clock } from "../../base/clock.js";
import { isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import type { Charge, CounterStatus, Store } from "../store.js";
import { type LocalCounter, type LocalCounterSetup, learnStatus } from "./local-counter.js";

/** What a batch works with. */
export interface BatchSetup extends LocalCounterSetup {
  readonly inner: Store;
  readonly clock: Clock;
}

/** Local counters that are synced in one call. */
export class SyncBatch {
  readonly localCounters: readonly LocalCounter[];
  /** What each local counter sends, in their order. */
  readonly charges: readonly Charge[];
  /** When the call was made, by the clock. */
  readonly sentAtMs: number;
  readonly #setup: BatchSetup;
  readonly #versions: readonly number[];

  constructor(localCounters: readonly LocalCounter[], setup: BatchSetup) {
    this.localCounters = localCounters;
    this.#setup = setup;
    this.sentAtMs = setup.clock.now();
    this.charges = localCounters.map((localCounter) => take(localCounter, this.sentAtMs));
    this.#versions = localCounters.map(({ version }) => version);
  }

  /** Makes the call. It may throw synchronously or reject later. */
  send(): MaybePromise<readonly CounterStatus[]> {
    const { inner } = this.#setup;
    const given = this.localCounters.flatMap(({ sentUnits }, i) =>
      sentUnits < 0 ? [{ ...this.charges[i], cost: -sentUnits }] : [],
    );
    const refunded = given.length === 0 ? undefined : inner.refund(given);
    if (!isThenable(refunded)) return inner.debit(this.charges);
    return Promise.resolve(refunded).then(() => inner.debit(this.charges));
  }

  /** What was sent has arrived; returns how many units it was. */
  end(): number {
    let units = 0;
    for (const localCounter of this.localCounters) {
      units += Math.abs(localCounter.sentUnits);
      localCounter.sentUnits = 0;
      if (localCounter.unsureUnits === 0) continue;
      localCounter.deltaUnits += localCounter.unsureUnits;
      localCounter.unsureUnits = 0;
      localCounter.isTouched = true;
    }
    return units;
  }

  /** Corrects the local counters. */
  learn(statuses: readonly CounterStatus[], clockMs: number): void {
    for (const [i, localCounter] of this.localCounters.entries()) {
      // A refund or reset came in between: the answer is from before it.
      if (localCounter.version !== this.#versions[i]) continue;
      const nowMs = Math.max(localCounter.nowMs, clockMs + localCounter.skewMs);
      const sentAtMs = this.charges[i].nowMs;
      learnStatus(localCounter, this.#setup, { status: statuses[i], sentAtMs, nowMs });
    }
  }

  /**
   * No answer came, so the outcome is unknown. If units that did arrive were sent again and again, they would
   * add up to unbounded debt; so they wait until the store answers something, and are sent once more.
   */
  putAside(): void {
    for (const localCounter of this.localCounters) {
      localCounter.unsureUnits += Math.max(0, localCounter.sentUnits);
      localCounter.sentUnits = 0;
      localCounter.isTouched = true;
    }
  }

  /** Sends again what did not arrive, except refunds: they may have arrived, and must not count twice. */
  takeBack(): void {
    for (const localCounter of this.localCounters) {
      localCounter.deltaUnits += Math.max(0, localCounter.sentUnits);
      localCounter.sentUnits = 0;
      localCounter.isTouched = true;
    }
  }
}

/** Takes what a local counter has to send, as a charge. */
function take(localCounter: LocalCounter, clockMs: number): Charge {
  const { counter, key, deltaUnits } = localCounter;
  localCounter.sentUnits = deltaUnits;
  localCounter.deltaUnits = 0;
  localCounter.isTouched = false;
  const nowMs = Math.max(localCounter.nowMs, clockMs + localCounter.skewMs);
  return { counter, key, cost: Math.max(0, deltaUnits), nowMs };
}
