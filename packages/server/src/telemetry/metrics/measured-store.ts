// A store behind a network, with each call timed and each error counted. Stores in this process are not
// wrapped: there is nothing to measure that would not cost more than what it measures.

import {
  type Charge,
  type Counter,
  type CounterStatus,
  type DecideOptions,
  type DepositStore,
  type Escalated,
  type FenceStore,
  ForwardingStore,
  type MaybePromise,
  type Outcome,
  type PeekOptions,
  type RefundedUnits,
  type RefusalReport,
  type Settling,
  type Store,
  type Verdict,
} from "sluice";
import { isThenable } from "sluice/internals";
import { Latency } from "./latency.js";

/** The verbs of a store, as metrics name them. */
export type StoreVerb =
  | "decide"
  | "peek"
  | "debit"
  | "settle"
  | "refund"
  | "block"
  | "unblock"
  | "escalate"
  | "reset"
  | "take"
  | "deposit"
  | "restore"
  | "withdraw";

/** How long calls took and how many failed, by verb. */
export class StoreTimes {
  readonly latencies = new Map<StoreVerb, Latency>();
  readonly errors = new Map<StoreVerb, number>();
  readonly #onFailed: (operation: StoreVerb, error: unknown) => void;

  /** @param onFailed - Called with each error. */
  constructor(onFailed: (operation: StoreVerb, error: unknown) => void) {
    this.#onFailed = onFailed;
  }

  /** Counts an answer. */
  took(operation: StoreVerb, ms: number): void {
    let latency = this.latencies.get(operation);
    if (latency === undefined) {
      latency = new Latency();
      this.latencies.set(operation, latency);
    }
    latency.observeMs(ms);
  }

  /** Counts an error. */
  failed(operation: StoreVerb, error: unknown): void {
    this.errors.set(operation, (this.errors.get(operation) ?? 0) + 1);
    this.#onFailed(operation, error);
  }
}

/** A store whose calls are timed. */
export class MeasuredStore extends ForwardingStore {
  readonly #times: StoreTimes;
  readonly #readMs: () => number;
  readonly #deposits: DepositStore | undefined;

  constructor(inner: Store, times: StoreTimes, readMs: () => number) {
    super(inner);
    this.#times = times;
    this.#readMs = readMs;
    const { deposits } = inner;
    this.#deposits = deposits && {
      take: (ask) => this.#time("take", () => deposits.take(ask)),
      deposit: (one) => this.#time("deposit", () => deposits.deposit(one)),
      restore: (place, parts, nowMs) =>
        this.#time("restore", () => deposits.restore(place, parts, nowMs)),
      withdraw: (one) => this.#time("withdraw", () => deposits.withdraw(one)),
    };
  }

  override get deposits(): DepositStore | undefined {
    return this.#deposits;
  }

  override get fence(): FenceStore | undefined {
    return this.inner.fence;
  }

  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    return this.#time("decide", () => super.decide(charges, options));
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): MaybePromise<Verdict> {
    return this.#time("decide", () => super.decideOne(counter, key, cost, nowMs, blockNowMs));
  }

  override peek(
    charges: readonly Charge[],
    options?: PeekOptions,
  ): MaybePromise<readonly Verdict[]> {
    return this.#time("peek", () => super.peek(charges, options));
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    return this.#time("debit", () => super.debit(charges));
  }

  override settle(settlings: readonly Settling[]): MaybePromise<void> {
    return this.#time("settle", () => super.settle(settlings));
  }

  override refund(charges: readonly Charge[]): MaybePromise<RefundedUnits> {
    return this.#time("refund", () => super.refund(charges));
  }

  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    return this.#time("block", () => super.block(scope, key, until));
  }

  override unblock(scope: string, key: string): MaybePromise<void> {
    return this.#time("unblock", () => super.unblock(scope, key));
  }

  override escalate(reports: readonly RefusalReport[]): MaybePromise<readonly Escalated[]> {
    return this.#time("escalate", () => super.escalate(reports));
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    return this.#time("reset", () => super.reset(charges));
  }

  #time<T>(operation: StoreVerb, call: () => MaybePromise<T>): MaybePromise<T> {
    const startMs = this.#readMs();
    try {
      const answer = call();
      return isThenable(answer) ? this.#timed(operation, startMs, answer) : answer;
    } catch (error) {
      this.#times.failed(operation, error);
      throw error;
    }
  }

  #timed<T>(operation: StoreVerb, startMs: number, answer: PromiseLike<T>): Promise<T> {
    return Promise.resolve(answer).then(
      (value) => {
        this.#times.took(operation, this.#readMs() - startMs);
        return value;
      },
      (error: unknown) => {
        this.#times.took(operation, this.#readMs() - startMs);
        this.#times.failed(operation, error);
        throw error;
      },
    );
  }
}
