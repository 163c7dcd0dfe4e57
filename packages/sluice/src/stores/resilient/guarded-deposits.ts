// Deposits of a resilient store: under the same deadline and circuit breaker as its counters. Nothing stands in for an
// answer that does not come: the caller asks the home region instead.

import { drop, type MaybePromise } from "../../base/maybe-promise.js";
import type {
  Deposit,
  DepositAnswer,
  DepositAsk,
  DepositPart,
  DepositPlace,
  DepositStore,
  Withdrawal,
} from "../deposit-store.js";
import { type AskGuarded, PlainRequest } from "./plain-request.js";

/** Deposits that fail in time. */
export class GuardedDeposits implements DepositStore {
  readonly #inner: DepositStore;
  readonly #ask: AskGuarded;

  constructor(inner: DepositStore, ask: AskGuarded) {
    this.#inner = inner;
    this.#ask = ask;
  }

  /** What is taken too late is returned. */
  take(ask: DepositAsk): MaybePromise<DepositAnswer> {
    const late = ({ parts, nowMs }: DepositAnswer) => {
      if (parts.length > 0) drop(this.#inner.restore(ask.place, parts, nowMs));
    };
    return this.#ask(new PlainRequest(ask.place.key, () => this.#inner.take(ask), late));
  }

  deposit(deposit: Deposit): MaybePromise<boolean> {
    return this.#ask(new PlainRequest(deposit.place.key, () => this.#inner.deposit(deposit)));
  }

  restore(place: DepositPlace, parts: readonly DepositPart[], nowMs: number): MaybePromise<void> {
    return this.#ask(new PlainRequest(place.key, () => this.#inner.restore(place, parts, nowMs)));
  }

  withdraw(withdrawal: Withdrawal): MaybePromise<number | undefined> {
    return this.#ask(
      new PlainRequest(withdrawal.place.key, () => this.#inner.withdraw(withdrawal)),
    );
  }
}
