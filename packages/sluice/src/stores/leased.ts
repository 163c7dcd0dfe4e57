// Leases: budget is debited from the inner store in blocks, ahead of being spent, and decisions are
// made in process out of it. A lease is nothing but a charge that is held, and its return a
// settlement, so nothing is ever spent that was not debited, over any store. Whatever a lease can't
// decide, the inner store does: at first for each key, for costs beyond a fair block, and always for
// requests of several charges, reservations and request ids.

import { type Clock, startTimer } from "../clock.js";
import type { Verdict } from "../decision.js";
import { andThen, isThenable, type MaybePromise } from "../maybe-promise.js";
import { ForwardingStore } from "./forwarding-store.js";
import { guardedFor } from "./guarded.js";
import { type Book, Books, dropAll, keepStrict } from "./lease/books.js";
import { type Block, fairUnits, Holding } from "./lease/holding.js";
import { type LeasedOptions, type LeasedSettings, toLeasedSettings } from "./lease/options.js";
import { Reading } from "./lease/reading.js";
import { type Ask, LeaseRequests, laterBy } from "./lease/requests.js";
import { type LeasedStats, type LeasedTally, Returns } from "./lease/returns.js";
import { toOutcome, toVerdict, withOwn } from "./lease/verdicts.js";
import { Warmth } from "./lease/warmth.js";
import type {
  Charge,
  Counter,
  DecideOptions,
  Outcome,
  PeekOptions,
  Standing,
  Store,
} from "./store.js";

/** A refusal is looked at again so often if own units were on their way while it was made. */
const RETRIES_MAX = 3;
/** The sweep runs so many times in the life of a lease. */
const SWEEPS_PER_LEASE = 8;

/** A store in front of another one that takes budget ahead. Made by {@link leased}. */
export class LeasedStore extends ForwardingStore {
  readonly #settings: LeasedSettings;
  readonly #clock: Clock;
  readonly #reading: Reading;
  readonly #books: Books;
  readonly #warmth: Warmth;
  readonly #returns: Returns;
  readonly #requests: LeaseRequests;
  readonly #tally: LeasedTally = {
    leases: 0,
    leasedDecisions: 0,
    strictDecisions: 0,
    unitsLeased: 0,
    unitsSpent: 0,
    unitsReturned: 0,
    unitsExpired: 0,
    returnsFailed: 0,
  };
  readonly #retire = (block: Block) => this.#returns.retire(block, this.#clock.now());
  // The counter asked for last: a limiter with one limit asks for the same one each time.
  #lastCounter: Counter | undefined;
  #lastBook: Book | undefined;
  #stopSweep: (() => void) | undefined;
  #isClosed = false;

  constructor(inner: Store, options: LeasedOptions = {}) {
    super(inner);
    const settings = toLeasedSettings({ name: "leased", code: "SLUICE_OPTION_INVALID" }, options);
    this.#settings = settings;
    this.#clock = settings.clock;
    this.#reading = new Reading(settings.clock);
    this.#books = new Books(settings);
    this.#warmth = new Warmth(settings);
    this.#returns = new Returns(inner, this.#tally);
    this.#requests = new LeaseRequests(inner, settings, this.#returns, this.#tally);
  }

  get stats(): LeasedStats {
    let { unitsSpent } = this.#tally;
    for (const { holding } of this.#books.all()) unitsSpent += holding.spent;
    return { ...this.#tally, unitsSpent };
  }

  // Nothing is made on the way of a leased decision but its verdict.
  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs: number = nowMs,
  ): MaybePromise<Verdict> {
    const book = this.#bookOf(counter);
    const holding = book.holdings.get(key);
    const atMs = this.#reading.at(blockNowMs);
    if (holding === undefined) {
      return this.#decideCold({ book, key, cost, nowMs, blockNowMs, atMs });
    }
    const { block } = holding;
    if (cost > block.left || atMs >= block.expiresAtMs || nowMs >= block.endNowMs) {
      return this.#decideHeld({ book, key, cost, nowMs, blockNowMs, atMs }, holding, RETRIES_MAX);
    }
    block.left -= cost;
    holding.askedAtMs = atMs;
    this.#tally.leasedDecisions++;
    if (block.left < holding.lowAt || atMs >= holding.renewAtMs) {
      this.#requests.renew({ book, key, cost, nowMs, blockNowMs, atMs }, holding);
    }
    return toVerdict(book, holding, block.left, atMs);
  }

  override decide(charges: readonly Charge[], options: DecideOptions = {}): MaybePromise<Outcome> {
    const [{ counter, key, cost, nowMs, shadow = false }] = charges;
    const { requestId, hold = false, blockNowMs } = options;
    if (charges.length === 1 && requestId === undefined && hold === false && !shadow) {
      return andThen(this.decideOne(counter, key, cost, nowMs, blockNowMs), toOutcome);
    }
    this.#tally.strictDecisions++;
    const asked = this.#toInner(charges);
    return andThen(this.inner.decide(asked, options), (outcome) => {
      const held = outcome.isAdmitted ? [] : this.#holdingsOf(asked);
      if (held.every(({ left }) => left === 0)) return outcome;
      // What this process holds must not be what the request lacks.
      return this.#without(held, () => this.inner.decide(asked, options));
    });
  }

  override peek(
    charges: readonly Charge[],
    options?: PeekOptions,
  ): MaybePromise<readonly Verdict[]> {
    const atMs = this.#clock.now();
    const owned = charges.map(({ counter, key, nowMs }) => {
      const holding = this.#bookOf(counter).holdings.get(key);
      holding?.advance(atMs, nowMs, this.#retire);
      return holding?.left ?? 0;
    });
    const asked = this.#toInner(charges).map((charge, i) =>
      charge.cost > charge.counter.limit.limit
        ? charge
        : { ...charge, cost: Math.max(0, charge.cost - owned[i]) },
    );
    return andThen(this.inner.peek(asked, options), (verdicts) =>
      verdicts.map((verdict, i) => withOwn(verdict, owned[i])),
    );
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly Standing[]> {
    const asked = this.#toInner(charges);
    return this.#without(this.#holdingsOf(asked), () => this.inner.debit(asked));
  }

  override refund(charges: readonly Charge[]): MaybePromise<void> {
    const asked = this.#toInner(charges);
    return this.#without(this.#holdingsOf(asked), () => this.inner.refund(asked));
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    const asked = this.#toInner(charges);
    return this.#without(this.#holdingsOf(asked), () => this.inner.reset(asked));
  }

  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    const held = this.#books.find(scope, key);
    // A block does not wait for budget to be home: it holds at once.
    this.#returns.giveBack(dropAll(held), this.#clock.now());
    return keepStrict(held, () => this.inner.block(scope, key, until));
  }

  /** Returns what is held of a key. It is strict until it is warm again. Never fails. */
  release(scope: string, key: string): MaybePromise<void> {
    return this.#returns.giveBack(dropAll(this.#books.find(scope, key)), this.#clock.now());
  }

  /** Returns everything that is unspent, then closes the inner store. */
  override close(): MaybePromise<void> {
    this.#isClosed = true;
    this.#stopSweep?.();
    const held = [...this.#books.all()];
    this.#returns.giveBack(dropAll(held.map(({ holding }) => holding)), this.#clock.now());
    for (const { book, key } of held) this.#books.remove(book, key);
    this.#returns.flush();
    return andThen(this.#allHome(), () => this.inner.close());
  }

  /** Waits for what is on its way, at most for as long as a lease lives. */
  #allHome(): MaybePromise<void> {
    const underway = [...this.#returns.underway];
    if (underway.length === 0) return undefined;
    // A block that arrives only now is given back at once, which has to be waited for too.
    const home = Promise.all(underway).then(() => Promise.all(this.#returns.underway));
    return this.#within(home);
  }

  /** Waits for something that can't fail, at most for as long as a lease lives. */
  #within(underway: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const stop = startTimer(this.#clock, this.#settings.leaseMs, resolve);
      underway.then(() => {
        stop();
        resolve();
      });
    });
  }

  #bookOf(counter: Counter): Book {
    if (counter === this.#lastCounter && this.#lastBook !== undefined) return this.#lastBook;
    const { book, outdated } = this.#books.of(counter);
    // Under other numbers a receipt brings nothing: what is held returns before they are used.
    if (outdated.length > 0) this.#returns.giveBack(dropAll(outdated), this.#clock.now());
    this.#lastBook = book;
    this.#lastCounter = counter;
    return book;
  }

  /** The charges as the inner store is asked for them: logs count for longer there. */
  #toInner(charges: readonly Charge[]): readonly Charge[] {
    return charges.map((charge) => {
      const { counter } = this.#bookOf(charge.counter);
      return counter === charge.counter ? charge : { ...charge, counter };
    });
  }

  #holdingsOf(charges: readonly Charge[]): Holding[] {
    const held = charges.flatMap(({ counter, key }) =>
      this.#books.find(counter.scope, key, counter.part),
    );
    return [...new Set(held)];
  }

  /** Does something to keys after what is held of them was given back; they are strict meanwhile. */
  #without<T>(held: readonly Holding[], verb: () => MaybePromise<T>): MaybePromise<T> {
    return keepStrict(held, () =>
      andThen(this.#returns.giveBack(dropAll(held), this.#clock.now()), verb),
    );
  }

  /** A key that holds nothing, and may be on its way to a lease. */
  #decideCold(ask: Ask): MaybePromise<Verdict> {
    const { book, key, cost, nowMs, blockNowMs, atMs } = ask;
    this.#tally.strictDecisions++;
    if (!this.#books.mayHold(book, key) || !this.#warmth.ask(key, book.id, atMs)) {
      return super.decideOne(book.counter, key, cost, nowMs, blockNowMs);
    }
    return this.#decideStrictly(ask, undefined, RETRIES_MAX);
  }

  /** A key whose present block does not cover the cost. */
  #decideHeld(ask: Ask, holding: Holding, retriesLeft: number): MaybePromise<Verdict> {
    const { book, cost, atMs, nowMs } = ask;
    holding.askedAtMs = atMs;
    holding.advance(atMs, nowMs, this.#retire);
    if (!holding.spend(cost)) {
      if (retriesLeft === RETRIES_MAX) this.#tally.strictDecisions++;
      return this.#decideStrictly(ask, holding, retriesLeft);
    }
    this.#tally.leasedDecisions++;
    if (holding.block.left < holding.lowAt) this.#requests.renew(ask, holding);
    return toVerdict(book, holding, holding.left, atMs);
  }

  /** Asks the inner store: for all of the cost, or for what is missing to it. */
  #decideStrictly(
    ask: Ask,
    holding: Holding | undefined,
    retriesLeft: number,
  ): MaybePromise<Verdict> {
    const { book, key, cost, nowMs, blockNowMs } = ask;
    const taken = cost > book.counter.limit.limit ? undefined : holding?.takeAll();
    const verdict =
      holding === undefined || taken === undefined
        ? super.decideOne(book.counter, key, cost, nowMs, blockNowMs)
        : this.#requests.topUp(ask, holding, taken);
    const units = taken?.units ?? 0;
    return isThenable(verdict)
      ? Promise.resolve(verdict).then((answer) => this.#conclude(ask, answer, units, retriesLeft))
      : this.#conclude(ask, verdict, units, retriesLeft);
  }

  /** Learns from the store's answer, and makes sure that a refusal is not for want of own units. */
  #conclude(
    ask: Ask,
    verdict: Verdict,
    unitsOffered: number,
    retriesLeft: number,
  ): MaybePromise<Verdict> {
    const holding = ask.book.holdings.get(ask.key) ?? this.#open(ask, verdict);
    if (holding === undefined || verdict.source === "fallback") return verdict;
    holding.note(verdict, ask.atMs);
    if (verdict.allowed) {
      this.#requests.renew(ask, holding);
      return verdict;
    }
    const again = () => this.#decideHeld(laterBy(ask, this.#clock.now()), holding, retriesLeft - 1);
    if (retriesLeft > 0 && verdict.retryAfterMs < Number.POSITIVE_INFINITY) {
      if (holding.pending !== undefined) return this.#within(holding.pending).then(again);
      if (holding.left > unitsOffered) return again();
    }
    // What was offered had been debited before the store answered, so it is not in the answer.
    return withOwn(verdict, Math.min(unitsOffered, holding.left));
  }

  /** Makes a holding for a warm key, if there is enough left to share. */
  #open({ book, key, cost, atMs }: Ask, verdict: Verdict): Holding | undefined {
    const fair = fairUnits(verdict.remaining, this.#settings.holders);
    if (this.#isClosed || !verdict.allowed || verdict.source === "fallback") return undefined;
    if (fair < Math.max(1, cost)) return undefined;
    const holding = new Holding(cost, atMs);
    if (!this.#books.add(book, key, holding)) return undefined;
    if (this.#stopSweep === undefined) this.#startSweep();
    return holding;
  }

  #startSweep(): void {
    const everyMs = Math.ceil(this.#settings.leaseMs / SWEEPS_PER_LEASE);
    this.#stopSweep = startTimer(this.#clock, everyMs, () => this.#sweep(everyMs));
  }

  /** Gives back what lies idle, and what would expire before the next sweep. */
  #sweep(everyMs: number): void {
    this.#stopSweep = undefined;
    this.#reading.end();
    const atMs = this.#clock.now();
    const blocks: Block[] = [];
    for (const { book, key, holding } of this.#books.all()) {
      const isIdle = atMs - holding.askedAtMs >= this.#settings.leaseMs / 2;
      if (isIdle) blocks.push(...holding.drop());
      else blocks.push(...holding.removeBefore(atMs, atMs + everyMs));
      if (isIdle && holding.verbs === 0) this.#books.remove(book, key);
      else if (atMs - holding.askingAtMs >= this.#settings.leaseMs) holding.stopAsking();
    }
    this.#returns.giveBack(blocks, atMs);
    if (this.#books.keys > 0) this.#startSweep();
    else this.#returns.flush();
  }
}

/**
 * A store that decides in process out of budget that it leases from `store`. Closing it returns
 * what is unspent and closes `store`. See {@link LeasedOptions}.
 */
export function leased(store: Store, options?: LeasedOptions): LeasedStore {
  return new LeasedStore(guardedFor(store, options), options);
}
