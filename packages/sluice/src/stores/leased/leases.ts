// Everything that one process has leased: the holdings of all keys, how they begin, and how what they
// hold goes home, when it lies idle, when an operator needs it there, and at the end.

import { type CancelTimer, type Clock, startTimer } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import { andThen, type MaybePromise } from "../../base/maybe-promise.js";
import type { Charge, Counter, Store } from "../store.js";
import { fairUnits, Holding } from "./key-leases.js";
import type { Block } from "./lease.js";
import type { LeasedSettings } from "./lease-options.js";
import { type Ask, LeaseRequests } from "./lease-requests.js";
import { type LeasedStats, type LeasedTally, Returns } from "./lease-returns.js";
import { type Book, Books, dropAll, keepStrict } from "./lease-table.js";
import { Reading } from "./millisecond-clock.js";
import { Warmth } from "./recent-use.js";

/** The sweep runs so many times in the life of a lease. */
const SWEEPS_PER_LEASE = 8;

/** What is leased from one store. */
export class Leases {
  readonly clock: Clock;
  readonly reading: Reading;
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
  readonly #books: Books;
  readonly #warmth: Warmth;
  readonly #returns: Returns;
  readonly #retire = (block: Block) => this.#returns.retire(block, this.clock.now());
  // The counter asked for last: a limiter with one limit asks for the same one each time.
  #lastCounter: Counter | undefined;
  #lastBook: Book | undefined;
  #stopSweep: CancelTimer | undefined;
  #isClosed = false;

  constructor(inner: Store, settings: LeasedSettings) {
    this.#settings = settings;
    this.clock = settings.clock;
    this.reading = new Reading(settings.clock);
    this.#books = new Books(settings);
    this.#warmth = new Warmth(settings);
    this.#returns = new Returns(inner, this.tally);
    this.requests = new LeaseRequests(inner, settings, this.#returns, this.tally);
  }

  get stats(): LeasedStats {
    let { unitsSpent } = this.tally;
    for (const { holding } of this.#books.all()) unitsSpent += holding.spent;
    return { ...this.tally, unitsSpent };
  }

  /** The book of a counter; throws if it can't be leased. */
  bookOf(counter: Counter): Book {
    if (counter === this.#lastCounter && this.#lastBook !== undefined) return this.#lastBook;
    const { book, outdated } = this.#books.of(counter);
    // Under other numbers a receipt brings nothing: what is held returns before they are used.
    if (outdated.length > 0) this.giveBack(outdated);
    this.#lastBook = book;
    this.#lastCounter = counter;
    return book;
  }

  /** Lets go of what is spent or has expired. */
  advance(holding: Holding, atMs: number, nowMs: number): void {
    holding.advance(atMs, nowMs, this.#retire);
  }

  /** The charges as the inner store is asked for them: logs count for longer there. */
  toInner(charges: readonly Charge[]): readonly Charge[] {
    return charges.map((charge) => {
      const { counter } = this.bookOf(charge.counter);
      return counter === charge.counter ? charge : { ...charge, counter };
    });
  }

  /** What is held under the names of some charges, whatever their numbers. */
  holdingsOf(charges: readonly Charge[]): Holding[] {
    const held = charges.flatMap(({ counter, key }) =>
      this.#books.find(counter.scope, key, counter.part),
    );
    return [...new Set(held)];
  }

  /** What is held of a key under all limits of a scope. */
  holdingsIn(scope: string, key: string): readonly Holding[] {
    return this.#books.find(scope, key);
  }

  /** Notes units that came back too late to be returned. */
  lose(units: number): void {
    this.#returns.lose(units);
  }

  /** Gives back what is held; what is out of it then counts as spent. Never fails. */
  giveBack(held: readonly Holding[]): MaybePromise<void> {
    return this.#returns.giveBack(dropAll(held), this.clock.now());
  }

  /** Gives back what is held, as soon as nothing of it is out. Never fails. */
  release(held: readonly Holding[]): MaybePromise<void> {
    const atMs = this.clock.now();
    for (const holding of held) holding.leaveAll(atMs);
    const blocks = held.flatMap((holding) => holding.takeLeaving(atMs));
    return this.#returns.giveBack(blocks, atMs);
  }

  /** Does something to keys after what is held of them was given back; they are strict meanwhile. */
  without<T>(held: readonly Holding[], verb: () => MaybePromise<T>): MaybePromise<T> {
    return keepStrict(held, () => andThen(this.giveBack(held), verb));
  }

  /** Counts an ask for a key that holds nothing. Returns whether it is worth a lease. */
  warm(book: Book, key: string, atMs: number): boolean {
    return this.#books.mayHold(book, key) && this.#warmth.ask(key, book.id, atMs);
  }

  /** Makes a holding for a warm key, if there is enough left to share. */
  open({ book, key, cost, atMs }: Ask, verdict: Verdict): Holding | undefined {
    const fair = fairUnits(verdict.remaining, this.#settings.holders);
    if (this.#isClosed || !verdict.allowed || verdict.source === "fallback") return undefined;
    if (fair < Math.max(1, cost)) return undefined;
    const holding = new Holding(cost, atMs);
    if (!this.#books.add(book, key, holding)) return undefined;
    if (this.#stopSweep === undefined) this.#startSweep();
    return holding;
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

  /** Gives everything back and leases nothing any more. Waits for what is on its way. */
  close(): MaybePromise<void> {
    this.#isClosed = true;
    this.#stopSweep?.();
    const held = [...this.#books.all()];
    this.giveBack(held.map(({ holding }) => holding));
    for (const { book, key } of held) this.#books.remove(book, key);
    this.#returns.flush();
    return this.#allHome();
  }

  /** Waits for what is on its way, at most for as long as a lease lives. */
  #allHome(): MaybePromise<void> {
    const underway = [...this.#returns.underway];
    if (underway.length === 0) return undefined;
    // A block that arrives only now is given back at once, which has to be waited for too.
    const home = Promise.all(underway).then(() => Promise.all(this.#returns.underway));
    return this.within(home);
  }

  #startSweep(): void {
    const everyMs = Math.ceil(this.#settings.leaseMs / SWEEPS_PER_LEASE);
    this.#stopSweep = startTimer(this.clock, everyMs, () => this.#sweep(everyMs));
  }

  /** Gives back what lies idle, and what would expire before the next sweep. */
  #sweep(everyMs: number): void {
    this.#stopSweep = undefined;
    this.reading.end();
    const atMs = this.clock.now();
    const blocks: Block[] = [];
    for (const { book, key, holding } of this.#books.all()) {
      const isIdle = atMs - holding.askedAtMs >= this.#settings.leaseMs / 2;
      if (isIdle) holding.leaveAll(atMs);
      else holding.leaveBefore(atMs, atMs + everyMs);
      blocks.push(...holding.takeLeaving(atMs));
      const isEmpty = isIdle && holding.verbs === 0 && holding.leaving.length === 0;
      if (isEmpty) this.#books.remove(book, key);
      else if (atMs - holding.askingAtMs >= this.#settings.leaseMs) holding.stopAsking();
    }
    this.#returns.giveBack(blocks, atMs);
    if (this.#books.keys > 0) this.#startSweep();
    else this.#returns.flush();
  }
}
