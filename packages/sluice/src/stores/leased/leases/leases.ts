// Everything that one process has leased: the leases of all keys, how they begin, and how unspent budget is returned:
// when it is idle, when an operator needs it in the store, and at the end.

import { type CancelTimer, type Clock, startTimer } from "../../../base/clock.js";
import type { Verdict } from "../../../base/decision.js";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import type { Charge, Counter, Store } from "../../store.js";
import type { LeasedSettings } from "../lease-options.js";
import { fairUnits, KeyLeases } from "./key-leases.js";
import type { Lease } from "./lease.js";
import { type LeaseAsk, LeaseRequests } from "./lease-requests.js";
import { Returns } from "./lease-returns.js";
import { dropAll, keepStrict, type LeaseRow, LeaseTable } from "./lease-table.js";
import type { LeasedStats, LeasedTally } from "./leased-stats.js";
import { MillisecondClock } from "./millisecond-clock.js";
import { RecentUse } from "./recent-use.js";

/** How many times the sweep runs in the life of a lease. */
const SWEEPS_PER_LEASE = 8;

/** What is leased from one store. */
export class Leases {
  readonly clock: Clock;
  readonly millisecondClock: MillisecondClock;
  readonly requests: LeaseRequests;
  readonly tally: LeasedTally = {
    leases: 0,
    leasedDecisions: 0,
    strictDecisions: 0,
    unitsLeased: 0,
    unitsSpent: 0,
    unitsReturned: 0,
    unitsExpired: 0,
    returnsFailed: 0,
  };
  readonly #settings: LeasedSettings;
  readonly #table: LeaseTable;
  readonly #recentUse: RecentUse;
  readonly #returns: Returns;
  readonly #retire = (lease: Lease) => this.#returns.retire(lease, this.clock.now());
  // The counter asked for last: a limiter with one limit asks for the same one each time.
  #lastCounter: Counter | undefined;
  #lastRow: LeaseRow | undefined;
  #stopSweep: CancelTimer | undefined;
  #isClosed = false;

  constructor(inner: Store, settings: LeasedSettings) {
    this.#settings = settings;
    this.clock = settings.clock;
    this.millisecondClock = new MillisecondClock(settings.clock);
    this.#table = new LeaseTable(settings);
    this.#recentUse = new RecentUse(settings);
    this.#returns = new Returns(inner, this.tally);
    this.requests = new LeaseRequests(inner, settings, this.#returns, this.tally);
  }

  get stats(): LeasedStats {
    let { unitsSpent } = this.tally;
    for (const { keyLeases } of this.#table.all()) unitsSpent += keyLeases.spent;
    return { ...this.tally, unitsSpent };
  }

  /** The row of a counter; throws if it can't be leased. */
  rowOf(counter: Counter): LeaseRow {
    if (counter === this.#lastCounter && this.#lastRow !== undefined) return this.#lastRow;
    const { row, outdated } = this.#table.of(counter);
    // Under other numbers a receipt brings nothing: what is held returns before they are used.
    if (outdated.length > 0) this.returnLeases(outdated);
    this.#lastRow = row;
    this.#lastCounter = counter;
    return row;
  }

  /** Lets go of what is spent or has expired. */
  advance(keyLeases: KeyLeases, atMs: number, nowMs: number): void {
    keyLeases.advance(atMs, nowMs, this.#retire);
  }

  /** The charges as the inner store is asked for them: logs count for longer there. */
  toInner(charges: readonly Charge[]): readonly Charge[] {
    return charges.map((charge) => {
      const { counter } = this.rowOf(charge.counter);
      return counter === charge.counter ? charge : { ...charge, counter };
    });
  }

  /** What is held under the names of some charges, whatever their numbers. */
  leasesOf(charges: readonly Charge[]): KeyLeases[] {
    const held = charges.flatMap(({ counter, key }) =>
      this.#table.find(counter.scope, key, counter.part),
    );
    return [...new Set(held)];
  }

  /** What is held of a key under all limits of a scope. */
  leasesIn(scope: string, key: string): readonly KeyLeases[] {
    return this.#table.find(scope, key);
  }

  /** Notes units that came back too late to be returned. */
  lose(units: number): void {
    this.#returns.lose(units);
  }

  /** Returns what is held; units that are lent out count as spent. Never fails. */
  returnLeases(held: readonly KeyLeases[]): MaybePromise<void> {
    return this.#returns.returnLeases(dropAll(held), this.clock.now());
  }

  /** Returns what is held, as soon as no units are lent out. Never fails. */
  release(held: readonly KeyLeases[]): MaybePromise<void> {
    const atMs = this.clock.now();
    for (const keyLeases of held) keyLeases.leaveAll(atMs);
    const leases = held.flatMap((keyLeases) => keyLeases.takeLeaving(atMs));
    return this.#returns.returnLeases(leases, atMs);
  }

  /** Runs a verb on keys after their leases were returned; until then the keys are strict. */
  without<T>(held: readonly KeyLeases[], verb: () => MaybePromise<T>): MaybePromise<T> {
    return keepStrict(held, () => andThen(this.returnLeases(held), verb));
  }

  /** Counts an ask for a key that holds nothing. Returns whether it is worth a lease. */
  warm(row: LeaseRow, key: string, atMs: number): boolean {
    return this.#table.mayHold(row, key) && this.#recentUse.ask(key, row.id, atMs);
  }

  /** Starts leasing for a warm key, if there is enough left to share. */
  open({ row, key, cost, atMs }: LeaseAsk, verdict: Verdict): KeyLeases | undefined {
    const fair = fairUnits(verdict.remaining, this.#settings.holders);
    if (this.#isClosed || !verdict.allowed || verdict.source === "fallback") return undefined;
    if (fair < Math.max(1, cost)) return undefined;
    const keyLeases = new KeyLeases(cost, atMs);
    if (!this.#table.add(row, key, keyLeases)) return undefined;
    if (this.#stopSweep === undefined) this.#startSweep();
    return keyLeases;
  }

  /** Waits for something that can't fail, at most for as long as a lease lives. */
  within(underway: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const stop = startTimer(this.clock, this.#settings.leaseMs, resolve);
      underway.then(() => {
        stop();
        resolve();
      });
    });
  }

  /** Returns everything and takes no more leases. Waits for requests that are under way. */
  close(): MaybePromise<void> {
    this.#isClosed = true;
    this.#stopSweep?.();
    const held = [...this.#table.all()];
    this.returnLeases(held.map(({ keyLeases }) => keyLeases));
    for (const { row, key } of held) this.#table.remove(row, key);
    this.#returns.flush();
    return this.#allHome();
  }

  /** Waits for what is on its way, at most for as long as a lease lives. */
  #allHome(): MaybePromise<void> {
    const underway = [...this.#returns.underway];
    if (underway.length === 0) return undefined;
    // A lease that arrives only now is returned immediately, which has to be awaited too.
    const home = Promise.all(underway).then(() => Promise.all(this.#returns.underway));
    return this.within(home);
  }

  #startSweep(): void {
    const everyMs = Math.ceil(this.#settings.leaseMs / SWEEPS_PER_LEASE);
    this.#stopSweep = startTimer(this.clock, everyMs, () => this.#sweep(everyMs));
  }

  /** Returns leases that are idle, or that would expire before the next sweep. */
  #sweep(everyMs: number): void {
    this.#stopSweep = undefined;
    this.millisecondClock.end();
    const atMs = this.clock.now();
    const leases: Lease[] = [];
    for (const { row, key, keyLeases } of this.#table.all()) {
      const isIdle = atMs - keyLeases.askedAtMs >= this.#settings.leaseMs / 2;
      if (isIdle) keyLeases.leaveAll(atMs);
      else keyLeases.leaveBefore(atMs, atMs + everyMs);
      leases.push(...keyLeases.takeLeaving(atMs));
      const isEmpty = isIdle && keyLeases.verbs === 0 && keyLeases.leaving.length === 0;
      if (isEmpty) this.#table.remove(row, key);
      else if (atMs - keyLeases.askingAtMs >= this.#settings.leaseMs) keyLeases.stopAsking();
    }
    this.#returns.returnLeases(leases, atMs);
    if (this.#table.keys > 0) this.#startSweep();
    else this.#returns.flush();
  }
}
