// The primary's side of a worker's store: it makes the calls that come over a channel on the real store, at
// the primary's time, and answers them in batches.

import {
  type Charge,
  type Clock,
  type Counter,
  type Outcome,
  type Settling,
  SluiceError,
  type Store,
} from "sluice";
import { andThen, isThenable } from "sluice/internals";
import type { CallerEscalated } from "sluice/rules";
import { atEndOfTurn } from "../../base/clock.js";
import type { Channel } from "../channel/channel.js";
import {
  type CallBatch,
  decodeCalls,
  encodeAnswers,
  fromWireCharge,
  fromWireMs,
  HOLDS,
  toWireError,
  toWireStatus,
  toWireVerdict,
  type WireAnswer,
  type WireCharge,
  type WireHold,
  type WireOutcome,
  type WireReceipt,
  type WireReport,
  type WireRequest,
} from "./store-messages.js";
import { WorkerReceipts } from "./worker-receipts.js";

/** Options of {@link serveStore}. */
export interface ServeStoreOptions {
  readonly clock: Clock;
  /** Called with each caller that a worker's escalation blocked. Default: only the worker reports it. */
  readonly onEscalated?: ((event: CallerEscalated) => void) | undefined;
}

/** Answers the calls of one worker until the channel is gone, then releases the permits that the worker held. */
export function serveStore(
  store: Store,
  channel: Channel<string>,
  options: ServeStoreOptions,
): void {
  const server = new StoreServer(store, channel, options);
  const stop = channel.listen((line) => server.receive(decodeCalls(line)));
  channel.onceGone(() => {
    stop();
    server.close();
  });
}

class StoreServer {
  readonly #store: Store;
  readonly #channel: Channel<string>;
  readonly #clock: Clock;
  readonly #onEscalated: ServeStoreOptions["onEscalated"];
  readonly #counters = new Map<number, Counter>();
  readonly #receipts: WorkerReceipts;
  #answers: WireAnswer[] = [];
  #isClosed = false;

  constructor(store: Store, channel: Channel<string>, { clock, onEscalated }: ServeStoreOptions) {
    this.#store = store;
    this.#channel = channel;
    this.#clock = clock;
    this.#onEscalated = onEscalated;
    this.#receipts = new WorkerReceipts(clock);
  }

  receive({ isRestart, counters, calls }: CallBatch): void {
    if (isRestart) this.#counters.clear();
    for (const [number, counter] of counters) this.#counters.set(number, Object.freeze(counter));
    for (const [call, ask] of calls) this.#answer(call, ask);
  }

  /**
   * The worker is gone, and so are the requests that held permits. Other charges that it held stay charged,
   * because the outcome of those requests is unknown.
   */
  close(): void {
    this.#isClosed = true;
    this.#freePermits();
  }

  #freePermits(): void {
    const settlings = this.#receipts
      .takePermits()
      .map((receipt) => ({ receipt, kept: 0, nowMs: this.#nowOf(receipt.counter) }));
    if (settlings.length === 0) return;
    // A permit that can't be released now expires.
    const settle = async () => this.#store.settle(settlings);
    settle().catch(() => {});
  }

  #answer(call: number, ask: WireRequest): void {
    const fail = (error: unknown) => this.#reply([call, undefined, toWireError(error)]);
    try {
      const value = this.#ask(ask);
      if (isThenable(value)) value.then((each) => this.#reply([call, each]), fail);
      else this.#reply([call, value]);
    } catch (error) {
      fail(error);
    }
  }

  #reply(answer: WireAnswer): void {
    this.#answers.push(answer);
    if (this.#answers.length > 1) return;
    atEndOfTurn(() => {
      const line = encodeAnswers(this.#answers);
      this.#answers = [];
      this.#channel.send(line);
    });
  }

  /** The result of a call: a value, or a promise of one. */
  #ask(ask: WireRequest): unknown {
    switch (ask[0]) {
      case "decide":
        return this.#decide(ask[1], ask[2], ask[3]);
      case "peek":
        return this.#peek(ask[1]);
      case "debit":
        return andThen(this.#store.debit(this.#toCharges(ask[1])), (all) => all.map(toWireStatus));
      case "refund":
      case "reset":
        return this.#store[ask[0]](this.#toCharges(ask[1]));
      case "settle":
        return this.#settle(ask[1]);
      case "block": {
        const nowMs = this.#clock.now();
        return this.#store.block(ask[1], ask[2], { untilMs: nowMs + fromWireMs(ask[3]), nowMs });
      }
      case "unblock":
        return this.#store.unblock(ask[1], ask[2]);
      case "escalate":
        return this.#escalate(ask[1]);
      case "prepare":
        return this.#store.prepare?.(this.#counterOf(ask[1]).limit);
    }
  }

  #escalate(list: readonly WireReport[]): unknown {
    const nowMs = this.#clock.now();
    const reports = list.map((report) => ({ ...report, nowMs }));
    return andThen(this.#store.escalate?.(reports) ?? [], (escalated) => {
      for (const [i, { level, blockMs }] of escalated.entries()) {
        const { scope: rule, key } = reports[i];
        if (blockMs > 0) this.#onEscalated?.({ kind: "escalated", rule, key, level, blockMs });
      }
      return escalated;
    });
  }

  #peek(list: readonly WireCharge[]): unknown {
    const verdicts = this.#store.peek(this.#toCharges(list), { blockNowMs: this.#clock.now() });
    return andThen(verdicts, (all) => all.map(toWireVerdict));
  }

  #decide(list: readonly WireCharge[], held: WireHold, requestId: string | undefined): unknown {
    const charges = this.#toCharges(list);
    const hold = HOLDS[held];
    const outcome = this.#store.decide(charges, {
      hold,
      blockNowMs: this.#clock.now(),
      ...(requestId === undefined ? {} : { requestId }),
    });
    const isBrief = hold === "briefly";
    return andThen(outcome, (each) => this.#toOutcome(each, charges, isBrief));
  }

  #toOutcome(outcome: Outcome, charges: readonly Charge[], isBrief: boolean): WireOutcome {
    const receipts = outcome.receipts.map((receipt): WireReceipt => {
      const { counter, key, cost } = receipt;
      const at = charges.findIndex((charge) => charge.counter === counter && charge.key === key);
      return [at, this.#receipts.add(receipt, isBrief), cost];
    });
    // The worker exited before it got this answer.
    if (this.#isClosed) this.#freePermits();
    return [outcome.allowed, outcome.verdicts.map(toWireVerdict), receipts];
  }

  /** Unknown receipts count as settled: they have been settled, or have expired. */
  #settle(list: readonly (readonly [receipt: number, kept: number])[]): unknown {
    const settlings = list.flatMap(([number, kept]): Settling[] => {
      const receipt = this.#receipts.take(number);
      if (receipt === undefined) return [];
      return [{ receipt, kept, nowMs: this.#nowOf(receipt.counter) }];
    });
    return settlings.length === 0 ? undefined : this.#store.settle(settlings);
  }

  #toCharges(list: readonly WireCharge[]): Charge[] {
    return list.map((each) => {
      const counter = this.#counterOf(each[0]);
      return fromWireCharge(each, counter, this.#nowOf(counter));
    });
  }

  #counterOf(number: number): Counter {
    const counter = this.#counters.get(number);
    if (counter !== undefined) return counter;
    throw new SluiceError("SLUICE_STORE_UNAVAILABLE", `the worker never sent counter ${number}`);
  }

  /** Calendar quotas use the wall clock, all other limits the monotonic one. */
  #nowOf({ limit }: Counter): number {
    const { wall } = this.#clock;
    if (limit.algorithm !== "quota" || wall === undefined) return this.#clock.now();
    return wall.call(this.#clock);
  }
}
