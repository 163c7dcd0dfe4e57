// What every decorator starts from: a store that forwards each verb to the one it wraps. A decorator
// overrides the verbs that it changes, and reads as the list of its differences.

import type { Verdict } from "../base/decision.js";
import { SluiceError, show } from "../base/errors.js";
import { andThen, isThenable, type MaybePromise } from "../base/maybe-promise.js";
import type { Limit } from "../limits/limits.js";
import type { DepositStore } from "./deposit-store.js";
import type { FenceStore } from "./fence-store.js";
import type { RecordStore } from "./record-store.js";
import type { Escalated, RefusalReport } from "./refusal-reports.js";
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

  /** Undefined: what a decorator answers by itself, no fence could stop. Those that answer nothing forward it. */
  get fence(): FenceStore | undefined {
    return undefined;
  }

  get records(): RecordStore | undefined {
    return this.inner.records;
  }

  decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    return this.inner.decide(charges, options);
  }

  decideByPolicy(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    if (this.inner.decideByPolicy !== undefined) return this.inner.decideByPolicy(charges, options);
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

  prepare(limit: Limit, counter?: Counter): void {
    this.inner.prepare?.(limit, counter);
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

  escalate(reports: readonly RefusalReport[]): MaybePromise<readonly Escalated[]> {
    if (this.inner.escalate === undefined) {
      const seen = "the store has no escalate(), which rules with escalate need";
      throw new SluiceError("SLUICE_OPTION_INVALID", seen);
    }
    return andThen(this.inner.escalate(reports), (escalated) => {
      for (const [i, { blockMs }] of escalated.entries()) {
        if (blockMs === 0) continue;
        const { key, blockScopes, nowMs } = reports[i];
        const until = { untilMs: nowMs + blockMs, nowMs };
        for (const scope of blockScopes) this.learnBlock(scope, key, until);
      }
      return escalated;
    });
  }

  /**
   * Called with each block that `escalate` made in the inner store. A decorator that keeps something of keys in this
   * process overrides it. Must not throw.
   */
  protected learnBlock(
    _scope: string,
    _key: string,
    _until: { untilMs: number; nowMs: number },
  ): void {}

  reset(charges: readonly Charge[]): MaybePromise<void> {
    return this.inner.reset(charges);
  }

  close(): MaybePromise<void> {
    return this.inner.close();
  }
}

/** A store that belongs to another owner: what is built on it can't close it. */
export class BorrowedStore extends ForwardingStore {
  override get fence(): FenceStore | undefined {
    return this.inner.fence;
  }

  override close(): void {}
}
