// Leases: budget is debited from the inner store in leases, ahead of being spent, and decisions are
// made in process out of it. A lease is nothing but a charge that is held, and its return a
// settlement, so nothing is ever spent that was not debited, over any store. Whatever a lease can't
// decide, the inner store does: at first for each key, for costs beyond a fair lease, and always for
// reservations, shadow charges and request ids.

import type { Verdict } from "../../base/decision.js";
import { andThen, isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import { ForwardingStore } from "../forwarding-store.js";
import { guardedFor } from "../guarded.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  RefundedUnits,
  Settling,
  Store,
} from "../store.js";
import { LeasedLists, RETRIES_MAX } from "./charge-lists.js";
import { type LeasedOptions, toLeasedSettings } from "./lease-options.js";
import { toOutcome, toVerdict, withOwn } from "./lease-verdicts.js";
import type { KeyLeases } from "./leases/key-leases.js";
import { type LeaseAsk, laterBy } from "./leases/lease-requests.js";
import { keepStrict } from "./leases/lease-table.js";
import type { LeasedStats } from "./leases/leased-stats.js";
import { Leases } from "./leases/leases.js";

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
    const row = this.#leases.rowOf(counter);
    const keyLeases = row.byKey.get(key);
    const atMs = this.#leases.millisecondClock.at(blockNowMs);
    if (keyLeases === undefined) {
      return this.#decideCold({ row, key, cost, nowMs, blockNowMs, atMs });
    }
    const { lease } = keyLeases;
    if (cost > lease.left || atMs >= lease.expiresAtMs || nowMs >= lease.endNowMs) {
      return this.#decideHeld({ row, key, cost, nowMs, blockNowMs, atMs }, keyLeases, RETRIES_MAX);
    }
    lease.left -= cost;
    keyLeases.askedAtMs = atMs;
    this.#leases.tally.leasedDecisions++;
    if (keyLeases.isLow(atMs)) {
      this.#leases.requests.renew({ row, key, cost, nowMs, blockNowMs, atMs }, keyLeases);
    }
    return toVerdict(row, keyLeases, lease.left, atMs);
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
      const keyLeases = this.#leases.rowOf(counter).byKey.get(key);
      if (keyLeases !== undefined) this.#leases.advance(keyLeases, atMs, nowMs);
      return keyLeases?.unspent ?? 0;
    });
    const asked = this.#leases
      .toInner(charges)
      .map((charge, i) =>
        charge.cost > charge.counter.limit.capacity
          ? charge
          : { ...charge, cost: Math.max(0, charge.cost - owned[i]) },
      );
    return andThen(this.inner.peek(asked, options), (verdicts) =>
      verdicts.map((verdict, i) => withOwn(verdict, owned[i])),
    );
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    const asked = this.#leases.toInner(charges);
    return this.#leases.without(this.#leases.leasesOf(asked), () => this.inner.debit(asked));
  }

  override refund(charges: readonly Charge[]): MaybePromise<RefundedUnits> {
    const asked = this.#leases.toInner(charges);
    return this.#leases.without(this.#leases.leasesOf(asked), () => this.inner.refund(asked));
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    const asked = this.#leases.toInner(charges);
    return this.#leases.without(this.#leases.leasesOf(asked), () => this.inner.reset(asked));
  }

  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    const held = this.#leases.leasesIn(scope, key);
    // A block does not wait for budget to be home: it takes effect immediately.
    this.#leases.returnLeases(held);
    return keepStrict(held, () => this.inner.block(scope, key, until));
  }

  protected override learnBlock(scope: string, key: string): void {
    this.#leases.returnLeases(this.#leases.leasesIn(scope, key));
  }

  /** Returns what is held of a key. It is strict until it is warm again. Never fails. */
  release(scope: string, key: string): MaybePromise<void> {
    return this.#leases.release(this.#leases.leasesIn(scope, key));
  }

  /** Returns everything that is unspent, then closes the inner store. */
  override close(): MaybePromise<void> {
    return andThen(this.#leases.close(), () => this.inner.close());
  }

  /** A key that holds nothing, and may be on its way to a lease. */
  #decideCold(ask: LeaseAsk): MaybePromise<Verdict> {
    const { row, key, cost, nowMs, blockNowMs, atMs } = ask;
    this.#leases.tally.strictDecisions++;
    if (!this.#leases.warm(row, key, atMs)) {
      return super.decideOne(row.counter, key, cost, nowMs, blockNowMs);
    }
    return this.#decideStrictly(ask, undefined, RETRIES_MAX);
  }

  /** A key whose present lease does not cover the cost. */
  #decideHeld(ask: LeaseAsk, keyLeases: KeyLeases, retriesLeft: number): MaybePromise<Verdict> {
    const { row, cost, atMs, nowMs } = ask;
    keyLeases.askedAtMs = atMs;
    this.#leases.advance(keyLeases, atMs, nowMs);
    if (!keyLeases.spend(cost)) {
      if (retriesLeft === RETRIES_MAX) this.#leases.tally.strictDecisions++;
      return this.#decideStrictly(ask, keyLeases, retriesLeft);
    }
    this.#leases.tally.leasedDecisions++;
    if (keyLeases.lease.left < keyLeases.lowAt) this.#leases.requests.renew(ask, keyLeases);
    return toVerdict(row, keyLeases, keyLeases.left, atMs);
  }

  /** Asks the inner store: for all of the cost, or for what is missing to it. */
  #decideStrictly(
    ask: LeaseAsk,
    keyLeases: KeyLeases | undefined,
    retriesLeft: number,
  ): MaybePromise<Verdict> {
    const { row, key, cost, nowMs, blockNowMs } = ask;
    const taken = cost > row.counter.limit.capacity ? undefined : keyLeases?.takeAll();
    const verdict =
      keyLeases === undefined || taken === undefined
        ? super.decideOne(row.counter, key, cost, nowMs, blockNowMs)
        : this.#leases.requests.topUp(ask, keyLeases, taken);
    const units = taken?.units ?? 0;
    return isThenable(verdict)
      ? Promise.resolve(verdict).then((answer) => this.#conclude(ask, answer, units, retriesLeft))
      : this.#conclude(ask, verdict, units, retriesLeft);
  }

  /** Learns from the store's answer, and makes sure that a refusal is not for want of own units. */
  #conclude(
    ask: LeaseAsk,
    verdict: Verdict,
    unitsOffered: number,
    retriesLeft: number,
  ): MaybePromise<Verdict> {
    const keyLeases = ask.row.byKey.get(ask.key) ?? this.#leases.open(ask, verdict);
    if (keyLeases === undefined || verdict.source === "fallback") return verdict;
    keyLeases.note(verdict, ask.atMs);
    if (verdict.allowed) {
      this.#leases.requests.renew(ask, keyLeases);
      return verdict;
    }
    const again = () =>
      this.#decideHeld(laterBy(ask, this.#leases.clock.now()), keyLeases, retriesLeft - 1);
    if (retriesLeft > 0 && verdict.retryAfterMs < Number.POSITIVE_INFINITY) {
      if (keyLeases.pending !== undefined)
        return this.#leases.within(keyLeases.pending).then(again);
      if (keyLeases.left > unitsOffered) return again();
      const { left, unspent } = keyLeases;
      if (unspent > left && verdict.remaining + unspent >= ask.cost) {
        return this.#leases.without([keyLeases], again);
      }
    }
    // The offered units had been debited before the store answered, so they are not in the answer.
    return withOwn(verdict, Math.min(unitsOffered, keyLeases.left));
  }
}

/**
 * A store that decides in process out of budget that it leases from `store`. Closing it returns
 * what is unspent and closes `store`. See {@link LeasedOptions}.
 */
export function leased(store: Store, options?: LeasedOptions): LeasedStore {
  return new LeasedStore(guardedFor(store, options), options);
}
