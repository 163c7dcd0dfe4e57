// Returns leases: unspent budget goes back to the store it was debited from. A return that fails is
// counted and forgotten, since what it would have brought comes back by itself with refill or with
// the next period.

import { isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { ChargeReceipt, Settling, Store } from "../../store.js";
import type { Lease } from "./lease.js";
import type { LeasedTally } from "./leased-stats.js";

/** How many receipts of spent leases are sent to the store at a time, so that it forgets them. */
const SPENT_MAX = 64;

/** Returns leases to the store, and tracks the returns that are under way. */
export class Returns {
  readonly #store: Store;
  readonly #tally: LeasedTally;
  readonly #underway = new Set<Promise<void>>();
  #spent: Settling[] = [];

  constructor(store: Store, tally: LeasedTally) {
    this.#store = store;
    this.#tally = tally;
  }

  /** Everything that is on its way. */
  get underway(): Iterable<Promise<void>> {
    return this.#underway;
  }

  /** Returns the rest of some leases in one call. Never fails. */
  returnLeases(leases: readonly Lease[], atMs: number): MaybePromise<void> {
    const spent = this.#spent;
    if (leases.length === 0) return undefined;
    this.#spent = [];
    let units = 0;
    for (const lease of leases) {
      lease.isSettled = true;
      this.#tally.unitsSpent += lease.units - lease.left;
      units += lease.left;
    }
    const settlings = [...spent, ...leases.map((lease) => toSettling(lease, atMs, lease.left))];
    const count = (hasFailed: boolean) => {
      if (hasFailed) this.#tally.returnsFailed += leases.length;
      this.#tally[hasFailed ? "unitsExpired" : "unitsReturned"] += units;
    };
    return this.#settle(settlings, count);
  }

  /** Refunds charges that did not become a lease, or part of a decision. Never fails. */
  cancel(receipts: readonly ChargeReceipt[], nowMs: number): MaybePromise<void> {
    if (receipts.length === 0) return undefined;
    const settlings = receipts.map((receipt) => ({ receipt, kept: 0, nowMs }));
    return this.#settle(settlings, (hasFailed) => {
      if (hasFailed) this.#tally.returnsFailed += receipts.length;
    });
  }

  /** Ends a lease that has nothing left to return. Its receipt is settled later, together with others. */
  retire(lease: Lease, atMs: number): void {
    lease.isSettled = true;
    this.#tally.unitsSpent += lease.units - lease.left;
    this.#tally.unitsExpired += lease.left;
    this.#spent.push(toSettling(lease, atMs, 0));
    if (this.#spent.length >= SPENT_MAX) this.flush();
  }

  /** Units that came back after their lease was settled: counted as spent, but were not. */
  lose(units: number): void {
    this.#tally.unitsSpent -= units;
    this.#tally.unitsExpired += units;
  }

  /** Settles the receipts of spent leases. */
  flush(): MaybePromise<void> {
    if (this.#spent.length === 0) return undefined;
    const settlings = this.#spent;
    this.#spent = [];
    return this.#settle(settlings, () => {});
  }

  /** Remembers something under way until it is done. It must not fail. */
  track(promise: Promise<void>): Promise<void> {
    const tracked = promise.then(() => {
      this.#underway.delete(tracked);
    });
    this.#underway.add(tracked);
    return tracked;
  }

  #settle(settlings: readonly Settling[], done: (hasFailed: boolean) => void): MaybePromise<void> {
    try {
      const settled = this.#store.settle(settlings);
      if (!isThenable(settled)) return done(false);
      return this.track(
        Promise.resolve(settled).then(
          () => done(false),
          () => done(true),
        ),
      );
    } catch {
      return done(true);
    }
  }
}

function toSettling(lease: Lease, atMs: number, back: number): Settling {
  const skewMs = lease.endNowMs - lease.expiresAtMs;
  const nowMs = Math.floor(atMs + skewMs);
  return { receipt: lease.receipt as ChargeReceipt, kept: lease.units - back, nowMs };
}
