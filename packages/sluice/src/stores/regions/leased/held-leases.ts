// The leases that this process has from the home region. Each lies in the region's store, where all processes take from
// it; the process that leased it has the receipt, withdraws what is left when it has expired or lies idle, and returns
// that. A process that dies leaves its leases spent.

import { type CancelTimer, type Clock, startTimer } from "../../../base/clock.js";
import type { DepositPlace, DepositStore } from "../../deposit-store.js";
import type { ChargeReceipt, Settling, Store } from "../../store.js";
import type { RegionLeasedTally } from "./region-leased-stats.js";

/** Budget that this process leased from the home region. */
export interface RegionLease {
  readonly id: string;
  readonly place: DepositPlace;
  readonly receipt: ChargeReceipt;
  readonly units: number;
  /** By the clock of this process. */
  readonly sentAtMs: number;
  readonly lifeMs: number;
  /** The limit's time at `sentAtMs`. */
  readonly sentNowMs: number;
}

/** How often a lease is looked at in its life. */
const SWEEPS_PER_LIFE = 8;
/** The most leases that are withdrawn at a time. */
const WITHDRAWN_MAX = 64;
/** How long `close` waits for leases to be returned. */
const CLOSE_MS_MAX = 2_000;

/** What leases are returned to, and where they lie. */
export interface LeasesSetup {
  readonly deposits: DepositStore;
  readonly home: Store;
  readonly clock: Clock;
  readonly regionLeaseMs: number;
  readonly tally: RegionLeasedTally;
}

/** All leases of this process. */
export class HeldLeases {
  readonly #setup: LeasesSetup;
  readonly #leases = new Map<string, RegionLease>();
  /** Leases that were looked at in the middle of their lives. */
  readonly #tried = new Set<string>();
  /** Leases that are being returned. */
  readonly #underway = new Set<string>();
  /** Where looking at all leases has got to; undefined between two times. */
  #place: Iterator<RegionLease, undefined> | undefined;
  #stopSweep: CancelTimer | undefined;
  #isClosed = false;

  constructor(setup: LeasesSetup) {
    this.#setup = setup;
  }

  get count(): number {
    return this.#leases.size;
  }

  /** Holds a lease until it is returned. */
  add(lease: RegionLease): void {
    this.#leases.set(lease.id, lease);
    const { tally } = this.#setup;
    tally.leases++;
    tally.unitsLeased += lease.units;
    tally.unitsHeld += lease.units;
    if (this.#stopSweep === undefined && !this.#isClosed) this.#startSweep();
  }

  /** Returns everything; waits for that, but not for long. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopSweep?.();
    const returned = Promise.all([...this.#leases.values()].map((lease) => this.#return(lease, 0)));
    await new Promise<void>((resolve) => {
      const stop = startTimer(this.#setup.clock, CLOSE_MS_MAX, resolve);
      void returned.then(() => {
        stop();
        resolve();
      });
    });
  }

  #startSweep(): void {
    const { clock, regionLeaseMs } = this.#setup;
    const everyMs = Math.ceil(regionLeaseMs / SWEEPS_PER_LIFE);
    this.#stopSweep = startTimer(clock, everyMs, () => this.#sweep());
  }

  #sweep(): void {
    this.#stopSweep = undefined;
    this.#place ??= this.#leases.values();
    this.#returnNext();
    if (this.#leases.size > 0 && !this.#isClosed) this.#startSweep();
  }

  /** Returns leases that have expired, and once in the middle of their lives those that lie idle, a few at a time. */
  #returnNext(): void {
    while (this.#place !== undefined && this.#underway.size < WITHDRAWN_MAX && !this.#isClosed) {
      const { value: lease } = this.#place.next();
      if (lease === undefined) this.#place = undefined;
      else this.#returnIfDue(lease);
    }
  }

  #returnIfDue(lease: RegionLease): void {
    const ageMs = this.#setup.clock.now() - lease.sentAtMs;
    const hasExpired = ageMs >= lease.lifeMs;
    const isHalf = ageMs >= lease.lifeMs / 2 && !this.#tried.has(lease.id);
    if ((!hasExpired && !isHalf) || this.#underway.has(lease.id)) return;
    this.#tried.add(lease.id);
    const idleMsMin = hasExpired ? 0 : Math.ceil(lease.lifeMs / 2);
    void this.#return(lease, idleMsMin).then(() => this.#returnNext());
  }

  async #return(lease: RegionLease, idleMsMin: number): Promise<void> {
    this.#underway.add(lease.id);
    await this.#withdraw(lease, idleMsMin);
    this.#underway.delete(lease.id);
  }

  /** Withdraws a lease and returns what is left of it. Never fails: what can't be withdrawn stays spent. */
  async #withdraw(lease: RegionLease, idleMsMin: number): Promise<void> {
    const { deposits } = this.#setup;
    const { id, place } = lease;
    let left: number | undefined;
    try {
      left = await deposits.withdraw({ place, id, idleMsMin, nowMs: this.nowMsOf(lease) });
    } catch {
      // The region's store is away: unspent units return by refill, or with the next window.
      left = idleMsMin === 0 ? 0 : undefined;
    }
    if (left !== undefined) await this.giveBack(lease, left);
  }

  /** Ends a lease, and returns `left` units of it, which can't be taken any more. Never fails. */
  async giveBack(lease: RegionLease, left: number): Promise<void> {
    const { home, tally } = this.#setup;
    const { receipt, units } = lease;
    if (!this.#end(lease)) return;
    const settling: Settling = { receipt, kept: units - left, nowMs: this.nowMsOf(lease) };
    try {
      await home.settle([settling]);
      tally.unitsReturned += left;
    } catch {
      // They stay spent as well.
    }
  }

  /** The limit's time now, by that of the lease's request and this process's clock. */
  nowMsOf({ sentAtMs, sentNowMs }: Pick<RegionLease, "sentAtMs" | "sentNowMs">): number {
    return Math.floor(sentNowMs + this.#setup.clock.now() - sentAtMs);
  }

  /** Returns whether it had not ended before. */
  #end(lease: RegionLease): boolean {
    if (!this.#leases.delete(lease.id)) return false;
    this.#tried.delete(lease.id);
    this.#setup.tally.unitsHeld -= lease.units;
    return true;
  }
}
