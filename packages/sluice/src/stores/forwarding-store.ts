// What every decorator starts from: a store that forwards each verb to the one it wraps. A decorator
// overrides the verbs that it changes, and reads as the list of its differences.

import type { Verdict } from "../base/decision.js";
import { SluiceError, show } from "../base/errors.js";
import { isThenable, type MaybePromise } from "../base/maybe-promise.js";
import type { Limit } from "../limits/limits.js";
import type { DepositStore } from "./deposit-store.js";
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
} from "./store.js";

/** A store in front of another one. */
export class ForwardingStore implements Store {
  protected readonly inner: Store;

  constructor(inner: Store) {
    if (typeof (inner as Partial<Store> | null | undefined)?.decide !== "function") {
      const seen = `a decorator needs a store such as memoryStore(), got ${show(inner)}`;
      throw new SluiceError("SLUICE_OPTION_INVALID", seen);
    }
    this.inner = inner;
  }

  get isRemote(): boolean {
    return this.inner.isRemote === true;
  }

  get isGuarded(): boolean {
    return this.inner.isGuarded === true;
  }

  get deposits(): DepositStore | undefined {
    return this.inner.deposits;
  }

  decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    return this.inner.decide(charges, options);
  }

  peek(charges: readonly Charge[], options?: PeekOptions): MaybePromise<readonly Verdict[]> {
    return this.inner.peek(charges, options);
  }

  decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): MaybePromise<Verdict> {
    if (this.inner.decideOne !== undefined) {
      return this.inner.decideOne(counter, key, cost, nowMs, blockNowMs);
    }
    const options = blockNowMs === undefined ? {} : { blockNowMs };
    const outcome = this.inner.decide([{ counter, key, cost, nowMs }], options);
    return isThenable(outcome) ? outcome.then(({ verdicts }) => verdicts[0]) : outcome.verdicts[0];
  }

  debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    return this.inner.debit(charges);
  }

  settle(settlings: readonly Settling[]): MaybePromise<void> {
    return this.inner.settle(settlings);
  }

  keep(receipt: ChargeReceipt): void {
    this.inner.keep?.(receipt);
  }

  prepare(limit: Limit): void {
    this.inner.prepare?.(limit);
  }

  forget(counter: Counter): void {
    this.inner.forget?.(counter);
  }

  refund(charges: readonly Charge[]): MaybePromise<RefundedUnits> {
    return this.inner.refund(charges);
  }

  block(scope: string, key: string, until: { untilMs: number; nowMs: number }): MaybePromise<void> {
    return this.inner.block(scope, key, until);
  }

  unblock(scope: string, key: string): MaybePromise<void> {
    return this.inner.unblock(scope, key);
  }

  reset(charges: readonly Charge[]): MaybePromise<void> {
    return this.inner.reset(charges);
  }

  close(): MaybePromise<void> {
    return this.inner.close();
  }
}

/** A store that belongs to another owner: what is built on it can't close it. */
export class BorrowedStore extends ForwardingStore {
  override close(): void {}
}
