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
import { toUnavailable } from "./store-failure.js";
import { Guarded } from "./store-guard/store-guard.js";

/** Sends a request under the deadline and the breaker of a store. */
export type AskGuarded = <T>(request: Guarded<T, T>) => MaybePromise<T>;

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
    return this.#ask(new DepositRequest(ask.place, () => this.#inner.take(ask), late));
  }

  deposit(deposit: Deposit): MaybePromise<void> {
    return this.#ask(new DepositRequest(deposit.place, () => this.#inner.deposit(deposit)));
  }

  restore(place: DepositPlace, parts: readonly DepositPart[], nowMs: number): MaybePromise<void> {
    return this.#ask(new DepositRequest(place, () => this.#inner.restore(place, parts, nowMs)));
  }

  withdraw(withdrawal: Withdrawal): MaybePromise<number | undefined> {
    return this.#ask(new DepositRequest(withdrawal.place, () => this.#inner.withdraw(withdrawal)));
  }
}

class DepositRequest<T> extends Guarded<T, T> {
  override readonly size = 1;
  override readonly caller: string;
  readonly #call: () => MaybePromise<T>;
  readonly #late: ((answer: T) => void) | undefined;

  constructor(place: DepositPlace, call: () => MaybePromise<T>, late?: (answer: T) => void) {
    super();
    this.caller = place.key;
    this.#call = call;
    this.#late = late;
  }

  override send(): MaybePromise<T> {
    return this.#call();
  }

  override accept(answer: T): T {
    return answer;
  }

  override instead(failure: unknown): never {
    throw toUnavailable(failure);
  }

  override late(answer: T): void {
    this.#late?.(answer);
  }
}
