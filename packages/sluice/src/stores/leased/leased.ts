// Leases: budget is debited from the inner store in blocks, ahead of being spent, and decisions are
// made in process out of it. A lease is nothing but a charge that is held, and its return a
// settlement, so nothing is ever spent that was not debited, over any store. Whatever a lease can't
// decide, the inner store does: at first for each key, for costs beyond a fair block, and always for
// reservations, shadow charges and request ids.

import type { Verdict } from "../../base/decision.js";
import { andThen, isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import { ForwardingStore } from "../forwarding-store.js";
import { guardedFor } from "../guarded.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  DecideOptions,
  Outcome,
  PeekOptions,
  Settling,
  Standing,
  Store,
} from "../store.js";
import { LeasedLists, RETRIES_MAX } from "./charge-lists.js";
import type { Holding } from "./key-leases.js";
import { type LeasedOptions, toLeasedSettings } from "./lease-options.js";
import { type Ask, laterBy } from "./lease-requests.js";
import type { LeasedStats } from "./lease-returns.js";
import { keepStrict } from "./lease-table.js";
import { toOutcome, toVerdict, withOwn } from "./lease-verdicts.js";
import { Leases } from "./leases.js";

/** A store in front of another one that takes budget ahead. Made by {@link leased}. */
export class LeasedStore extends ForwardingStore {
  readonly #leases: Leases;
  readonly #lists: LeasedLists;

  constructor(inner: Store, options: LeasedOptions = {}) {
    super(inner);
    const site = { name: "leased", code: "SLUICE_OPTION_INVALID" } as const;
    this.#leases = new Leases(inner, toLeasedSettings(site, options));
    this.#lists = new LeasedLists(inner, this.#leases);
  }

  get stats(): LeasedStats {
    return this.#leases.stats;
  }

  // Nothing is made on the way of a leased decision but its verdict.
  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs: number = nowMs,
  ): MaybePromise<Verdict> {
    const book = this.#leases.bookOf(counter);
    const holding = book.holdings.get(key);
    const atMs = this.#leases.reading.at(blockNowMs);
    if (holding === undefined) {
      return this.#decideCold({ book, key, cost, nowMs, blockNowMs, atMs });
    }
    const { block } = holding;
    if (cost > block.left || atMs >= block.expiresAtMs || nowMs >= block.endNowMs) {
      return this.#decideHeld({ book, key, cost, nowMs, blockNowMs, atMs }, holding, RETRIES_MAX);
    }
    block.left -= cost;
    holding.askedAtMs = atMs;
    this.#leases.tally.leasedDecisions++;
    if (holding.isLow(atMs)) {
      this.#leases.requests.renew({ book, key, cost, nowMs, blockNowMs, atMs }, holding);
    }
    return toVerdict(book, holding, block.left, atMs);
  }

  override decide(charges: readonly Charge[], options: DecideOptions = {}): MaybePromise<Outcome> {
    const [{ counter, key, cost, nowMs, shadow = false }] = charges;
    const { requestId, hold = false, blockNowMs } = options;
    if (charges.length === 1 && requestId === undefined && hold === false && !shadow) {
      return andThen(this.decideOne(counter, key, cost, nowMs, blockNowMs), toOutcome);
    }
    return this.#lists.decide(charges, options);
  }

  /** Lets the inner store decide, and leases nothing for it. */
  decideStrictly(charges: readonly Charge[], options: DecideOptions = {}): MaybePromise<Outcome> {
    return this.#lists.decideStrictly(charges, options);
  }

  override settle(settlings: readonly Settling[]): MaybePromise<void> {
    return this.#lists.settle(settlings);
  }

  override keep(receipt: ChargeReceipt): void {
    this.#lists.keep(receipt);
  }

  override peek(
    charges: readonly Charge[],
    options?: PeekOptions,
  ): MaybePromise<readonly Verdict[]> {
    const atMs = this.#leases.clock.now();
    const owned = charges.map(({ counter, key, nowMs }) => {
      const holding = this.#leases.bookOf(counter).holdings.get(key);
      if (holding !== undefined) this.#leases.advance(holding, atMs, nowMs);
      return holding?.unspent ?? 0;
    });
    const asked = this.#leases
      .toInner(charges)
      .map((charge, i) =>
        charge.cost > charge.counter.limit.limit
          ? charge
          : { ...charge, cost: Math.max(0, charge.cost - owned[i]) },
      );
    return andThen(this.inner.peek(asked, options), (verdicts) =>
      verdicts.map((verdict, i) => withOwn(verdict, owned[i])),
    );
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly Standing[]> {
    const asked = this.#leases.toInner(charges);
    return this.#leases.without(this.#leases.holdingsOf(asked), () => this.inner.debit(asked));
  }

  override refund(charges: readonly Charge[]): MaybePromise<void> {
    const asked = this.#leases.toInner(charges);
    return this.#leases.without(this.#leases.holdingsOf(asked), () => this.inner.refund(asked));
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    const asked = this.#leases.toInner(charges);
    return this.#leases.without(this.#leases.holdingsOf(asked), () => this.inner.reset(asked));
  }

  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    const held = this.#leases.holdingsIn(scope, key);
    // A block does not wait for budget to be home: it holds at once.
    this.#leases.giveBack(held);
    return keepStrict(held, () => this.inner.block(scope, key, until));
  }

  /** Returns what is held of a key. It is strict until it is warm again. Never fails. */
  release(scope: string, key: string): MaybePromise<void> {
    return this.#leases.release(this.#leases.holdingsIn(scope, key));
  }

  /** Returns everything that is unspent, then closes the inner store. */
  override close(): MaybePromise<void> {
    return andThen(this.#leases.close(), () => this.inner.close());
  }

  /** A key that holds nothing, and may be on its way to a lease. */
  #decideCold(ask: Ask): MaybePromise<Verdict> {
    const { book, key, cost, nowMs, blockNowMs, atMs } = ask;
    this.#leases.tally.strictDecisions++;
    if (!this.#leases.warm(book, key, atMs)) {
      return super.decideOne(book.counter, key, cost, nowMs, blockNowMs);
    }
    return this.#decideStrictly(ask, undefined, RETRIES_MAX);
  }

  /** A key whose present block does not cover the cost. */
  #decideHeld(ask: Ask, holding: Holding, retriesLeft: number): MaybePromise<Verdict> {
    const { book, cost, atMs, nowMs } = ask;
    holding.askedAtMs = atMs;
    this.#leases.advance(holding, atMs, nowMs);
    if (!holding.spend(cost)) {
      if (retriesLeft === RETRIES_MAX) this.#leases.tally.strictDecisions++;
      return this.#decideStrictly(ask, holding, retriesLeft);
    }
    this.#leases.tally.leasedDecisions++;
    if (holding.block.left < holding.lowAt) this.#leases.requests.renew(ask, holding);
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
        : this.#leases.requests.topUp(ask, holding, taken);
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
    const holding = ask.book.holdings.get(ask.key) ?? this.#leases.open(ask, verdict);
    if (holding === undefined || verdict.source === "fallback") return verdict;
    holding.note(verdict, ask.atMs);
    if (verdict.allowed) {
      this.#leases.requests.renew(ask, holding);
      return verdict;
    }
    const again = () =>
      this.#decideHeld(laterBy(ask, this.#leases.clock.now()), holding, retriesLeft - 1);
    if (retriesLeft > 0 && verdict.retryAfterMs < Number.POSITIVE_INFINITY) {
      if (holding.pending !== undefined) return this.#leases.within(holding.pending).then(again);
      if (holding.left > unitsOffered) return again();
      const { left, unspent } = holding;
      if (unspent > left && verdict.remaining + unspent >= ask.cost) {
        return this.#leases.without([holding], again);
      }
    }
    // What was offered had been debited before the store answered, so it is not in the answer.
    return withOwn(verdict, Math.min(unitsOffered, holding.left));
  }
}

/**
 * A store that decides in process out of budget that it leases from `store`. Closing it returns
 * what is unspent and closes `store`. See {@link LeasedOptions}.
 */
export function leased(store: Store, options?: LeasedOptions): LeasedStore {
  return new LeasedStore(guardedFor(store, options), options);
}
