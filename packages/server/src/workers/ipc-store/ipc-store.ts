// The store of a worker: it sends every call to the primary, which holds the counters. The calls of one
// iteration of the event loop are one message, and so are the answers.

import {
  type Charge,
  type ChargeReceipt,
  type Counter,
  type CounterStatus,
  type DecideOptions,
  type Escalated,
  type Limit,
  type Outcome,
  type RefusalReport,
  type Settling,
  SluiceError,
  type Store,
  type Verdict,
} from "sluice";
import { atEndOfTurn } from "../../base/clock.js";
import type { Channel } from "../channel/channel.js";
import { CounterNumbers } from "./counter-numbers.js";
import {
  decodeAnswers,
  encodeCalls,
  fromWireError,
  fromWireStatus,
  fromWireVerdict,
  HOLDS,
  toWireCharge,
  type WireAnswer,
  type WireCall,
  type WireCharge,
  type WireHold,
  type WireOutcome,
  type WireReceipt,
  type WireRequest,
  type WireVerdict,
} from "./store-messages.js";

/** The most calls that wait for the primary. Further calls fail immediately, and `onStoreFailure` answers. */
const CALLS_WAITING_MAX = 100_000;
const CALL_NUMBER_MAX = Number.MAX_SAFE_INTEGER;
const GONE = "the primary process has exited";

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A call that has not been sent. It is encoded when its turn ends, so that counters are numbered in order. */
interface Unsent extends Waiting {
  readonly write: (numbers: CounterNumbers) => WireRequest;
  readonly isAbandoned: (() => boolean) | undefined;
}

/** A store in another process. Made by {@link ipcStore}. */
export class IpcStore implements Store {
  /** Calls can fail, because the primary may be gone. */
  readonly isRemote = true;
  readonly #channel: Channel<string>;
  readonly #numbers = new CounterNumbers();
  readonly #waiting = new Map<number, Waiting>();
  readonly #stopListening: () => void;
  #unsent: Unsent[] = [];
  #lastCall = 0;
  #isGone = false;
  #isClosed = false;

  constructor(channel: Channel<string>) {
    this.#channel = channel;
    this.#stopListening = channel.listen((line) => this.#hear(decodeAnswers(line)));
    channel.onceGone(() => this.#lose());
  }

  async decide(charges: readonly Charge[], options: DecideOptions = {}): Promise<Outcome> {
    const { requestId, hold = false, isAbandoned } = options;
    const held = HOLDS.indexOf(hold) as WireHold;
    const write = (numbers: CounterNumbers): WireRequest => {
      const list = toWire(charges, numbers);
      // JSON would turn an undefined id into null.
      return requestId === undefined ? ["decide", list, held] : ["decide", list, held, requestId];
    };
    const outcome = (await this.#ask(write, isAbandoned)) as WireOutcome;
    const [allowed, verdicts, receipts] = outcome;
    return {
      allowed,
      verdicts: verdicts.map(fromWireVerdict),
      receipts: receipts.map((each) => toReceipt(each, charges)),
    };
  }

  async peek(charges: readonly Charge[]): Promise<readonly Verdict[]> {
    const verdicts = await this.#askOfCharges("peek", charges);
    return (verdicts as readonly WireVerdict[]).map(fromWireVerdict);
  }

  async debit(charges: readonly Charge[]): Promise<readonly CounterStatus[]> {
    const statuses = await this.#askOfCharges("debit", charges);
    return (statuses as readonly WireVerdict[]).map(fromWireStatus);
  }

  async settle(settlings: readonly Settling[]): Promise<void> {
    const list = settlings.map(({ receipt, kept }) => [receipt.proof as number, kept] as const);
    await this.#ask(() => ["settle", list]);
  }

  async refund(charges: readonly Charge[]): Promise<void> {
    await this.#askOfCharges("refund", charges);
  }

  async reset(charges: readonly Charge[]): Promise<void> {
    await this.#askOfCharges("reset", charges);
  }

  async block(
    scope: string,
    key: string,
    { untilMs, nowMs }: { untilMs: number; nowMs: number },
  ): Promise<void> {
    await this.#ask(() => ["block", scope, key, untilMs - nowMs]);
  }

  async unblock(scope: string, key: string): Promise<void> {
    await this.#ask(() => ["unblock", scope, key]);
  }

  async escalate(reports: readonly RefusalReport[]): Promise<readonly Escalated[]> {
    const list = reports.map(({ nowMs: _, ...report }) => report);
    return (await this.#ask(() => ["escalate", list])) as readonly Escalated[];
  }

  prepare(limit: Limit): void {
    const counter: Counter = { scope: "prepare", part: 0, limit };
    this.#ask((numbers) => ["prepare", numbers.of(counter)]).catch(() => {});
  }

  /** Fails the calls that are waiting. The primary's store stays open, because the primary owns it. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopListening();
    this.#failAll(new SluiceError("SLUICE_CLOSED", "this store"));
  }

  #askOfCharges(
    verb: "peek" | "debit" | "refund" | "reset",
    charges: readonly Charge[],
  ): Promise<unknown> {
    return this.#ask((numbers) => [verb, toWire(charges, numbers)]);
  }

  #ask(write: Unsent["write"], isAbandoned?: () => boolean): Promise<unknown> {
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", "this store");
    return new Promise((resolve, reject) => {
      const refusal = this.#refusal();
      if (refusal !== undefined) reject(refusal);
      else this.#queue({ write, isAbandoned, resolve, reject });
    });
  }

  #refusal(): Error | undefined {
    if (this.#isGone) return new SluiceError("SLUICE_STORE_UNAVAILABLE", GONE);
    const isFull = this.#waiting.size + this.#unsent.length >= CALLS_WAITING_MAX;
    if (!isFull) return undefined;
    const seen = `${CALLS_WAITING_MAX} calls are waiting for the primary process`;
    return new SluiceError("SLUICE_STORE_UNAVAILABLE", seen);
  }

  #queue(call: Unsent): void {
    this.#unsent.push(call);
    if (this.#unsent.length === 1) atEndOfTurn(() => this.#flush());
  }

  #flush(): void {
    const unsent = this.#unsent;
    if (unsent.length === 0) return;
    this.#unsent = [];
    const isRestart = this.#numbers.restartIfFull();
    const calls = unsent.flatMap((call) => this.#write(call));
    const counters = this.#numbers.takeNew();
    this.#channel.send(encodeCalls({ isRestart, counters, calls }));
  }

  #write({ write, isAbandoned, ...waiting }: Unsent): WireCall[] {
    if (isAbandoned?.() === true) {
      waiting.reject(new SluiceError("SLUICE_STORE_UNAVAILABLE", "the caller has stopped waiting"));
      return [];
    }
    this.#lastCall = (this.#lastCall % CALL_NUMBER_MAX) + 1;
    this.#waiting.set(this.#lastCall, waiting);
    return [[this.#lastCall, write(this.#numbers)]];
  }

  #hear(answers: readonly WireAnswer[]): void {
    for (const [call, value, error] of answers) {
      const waiting = this.#waiting.get(call);
      this.#waiting.delete(call);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(fromWireError(error));
    }
  }

  #lose(): void {
    this.#isGone = true;
    this.#failAll(new SluiceError("SLUICE_STORE_UNAVAILABLE", GONE));
  }

  #failAll(error: Error): void {
    const waiting = [...this.#waiting.values(), ...this.#unsent];
    this.#waiting.clear();
    this.#unsent = [];
    for (const { reject } of waiting) reject(error);
  }
}

/**
 * The store of the primary process at the other end of a channel, where {@link serveStore} answers. It uses
 * the primary's clock and ignores the `nowMs` of charges.
 */
export function ipcStore(channel: Channel<string>): IpcStore {
  return new IpcStore(channel);
}

function toWire(charges: readonly Charge[], numbers: CounterNumbers): WireCharge[] {
  return charges.map((charge) => toWireCharge(charge, numbers.of(charge.counter)));
}

function toReceipt([at, proof, cost]: WireReceipt, charges: readonly Charge[]): ChargeReceipt {
  const { counter, key } = charges[at];
  return { counter, key, cost, proof };
}
