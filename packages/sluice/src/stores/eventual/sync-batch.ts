// The keys of one call of an exchange: what each has to tell leaves its view when the call is made,
// and either has been told or goes back to it.

import type { Clock } from "../../base/clock.js";
import { isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import type { Charge, Standing, Store } from "../store.js";
import { learnStanding, type View, type ViewSetup } from "./local-counter.js";

/** What a batch works with. */
export interface BatchSetup extends ViewSetup {
  readonly inner: Store;
  readonly clock: Clock;
}

/** Views that are exchanged in one call. */
export class Batch {
  readonly views: readonly View[];
  /** What each view tells, in their order. */
  readonly charges: readonly Charge[];
  /** When the call was made, by the clock. */
  readonly sentAtMs: number;
  readonly #setup: BatchSetup;
  readonly #versions: readonly number[];

  constructor(views: readonly View[], setup: BatchSetup) {
    this.views = views;
    this.#setup = setup;
    this.sentAtMs = setup.clock.now();
    this.charges = views.map((view) => take(view, this.sentAtMs));
    this.#versions = views.map(({ version }) => version);
  }

  /** Makes the call. It may throw, at once or later. */
  tell(): MaybePromise<readonly Standing[]> {
    const { inner } = this.#setup;
    const given = this.views.flatMap(({ sentUnits }, i) =>
      sentUnits < 0 ? [{ ...this.charges[i], cost: -sentUnits }] : [],
    );
    const refunded = given.length === 0 ? undefined : inner.refund(given);
    if (!isThenable(refunded)) return inner.debit(this.charges);
    return Promise.resolve(refunded).then(() => inner.debit(this.charges));
  }

  /** What was told is told; returns how many units it was. */
  end(): number {
    let units = 0;
    for (const view of this.views) {
      units += Math.abs(view.sentUnits);
      view.sentUnits = 0;
      if (view.unsureUnits === 0) continue;
      view.deltaUnits += view.unsureUnits;
      view.unsureUnits = 0;
      view.isTouched = true;
    }
    return units;
  }

  /** Corrects the local counters. */
  learn(standings: readonly Standing[], clockMs: number): void {
    for (const [i, view] of this.views.entries()) {
      // A refund or reset came in between: the answer is from before it.
      if (view.version !== this.#versions[i]) continue;
      const nowMs = Math.max(view.nowMs, clockMs + view.skewMs);
      const sentAtMs = this.charges[i].nowMs;
      learnStanding(view, this.#setup, { standing: standings[i], sentAtMs, nowMs });
    }
  }

  /**
   * No answer came, so nobody knows. Told again and again, units that were heard each time would add
   * up to a debt without bound; so they wait until the store answers something, and are told once more.
   */
  putAside(): void {
    for (const view of this.views) {
      view.unsureUnits += Math.max(0, view.sentUnits);
      view.sentUnits = 0;
      view.isTouched = true;
    }
  }

  /** What was not told is told again; what was given back may have been, and is not twice. */
  takeBack(): void {
    for (const view of this.views) {
      view.deltaUnits += Math.max(0, view.sentUnits);
      view.sentUnits = 0;
      view.isTouched = true;
    }
  }
}

/** Takes what a view has to tell, as a charge. */
function take(view: View, clockMs: number): Charge {
  const { counter, key, deltaUnits } = view;
  view.sentUnits = deltaUnits;
  view.deltaUnits = 0;
  view.isTouched = false;
  const nowMs = Math.max(view.nowMs, clockMs + view.skewMs);
  return { counter, key, cost: Math.max(0, deltaUnits), nowMs };
}
