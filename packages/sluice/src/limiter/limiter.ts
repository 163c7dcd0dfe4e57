// A limiter: one limit, or several decided all or nothing, over one store. Input is checked here,
// once. Without a time in the options of a verb, each limit reads its own clock.

import {
  type Clock,
  countedMsOf,
  type TimeOptions,
  timeOf,
  toDecisionClock,
  toWholeMs,
} from "../base/clock.js";
import { combine, type Decision } from "../base/decision.js";
import { SluiceError, show } from "../base/errors.js";
import { andThen, type MaybePromise } from "../base/maybe-promise.js";
import type { Charge, ChargeReceipt, Counter, Outcome, Store, SyncStore } from "../stores/store.js";
import { escalating } from "./escalating.js";
import { type LimiterOptions, type LimiterSetup, toSetup } from "./limiter-options.js";
import type { Limiter } from "./limiter-verbs.js";
import { refundCharges, unblockCharges } from "./operator.js";
import type { PeekRequest, RequestOptions } from "./request-options.js";
import { HeldPermit, HeldReservation, type Permit, type Reservation } from "./reservation.js";
import {
  asRequest,
  asTimed,
  toCaller,
  toCost,
  toDurationMs,
  toKey,
  toRequestId,
} from "./verb-input.js";
import { WaitingLines, type WaitOptions } from "./wait.js";

/** A limiter that answers synchronously, over a memory store. */
export function createLimiter(options: LimiterOptions<SyncStore>): Limiter;
/** A limiter over a shared store: each answer is a value or a promise; `await` serves both. */
export function createLimiter(options: LimiterOptions): Limiter<false>;
export function createLimiter(options: LimiterOptions): Limiter<boolean> {
  const setup = toSetup(options);
  const limiter = new StoreLimiter(setup);
  return setup.escalate === undefined ? limiter : escalating(limiter, setup, setup.escalate);
}

class StoreLimiter implements Limiter<false> {
  readonly #name: string;
  readonly #counters: readonly Counter[];
  readonly #store: Store;
  readonly #ownsStore: boolean;
  readonly #clock: Clock;
  readonly #releaseName: () => void;
  readonly #hasPermits: boolean;
  /** The direct path through the store, for a limiter with one limit. */
  readonly #only: SingleLimitPath | undefined;
  #waitingLines: WaitingLines | undefined;
  #isClosed = false;

  constructor(setup: LimiterSetup) {
    this.#name = setup.name;
    this.#counters = setup.counters;
    this.#store = setup.store;
    this.#ownsStore = setup.ownsStore;
    this.#clock = setup.clock;
    this.#releaseName = setup.releaseName;
    this.#hasPermits = setup.counters.some(isConcurrency);
    this.#only = this.#hasPermits ? undefined : toSingleLimitPath(setup);
    for (const counter of setup.counters) setup.store.prepare?.(counter.limit, counter);
  }

  // Most checks have no options. Their path is written out, short enough for V8 to inline it together with
  // the look-up of the key (bench memory/few).
  check(key: string, options?: RequestOptions): MaybePromise<Decision> {
    const only = this.#only;
    if (options !== undefined || only === undefined || only.isQuota) {
      return this.#check(key, options);
    }
    this.#mustBeOpen();
    const nowMs = only.nowMs();
    return only.store.decideOne(only.counter, toKey(key), 1, nowMs, nowMs);
  }

  async wait(key: string, options?: WaitOptions): Promise<Decision> {
    this.#mustBeOpen();
    this.#waitingLines ??= new WaitingLines(
      this,
      this.#clock,
      this.#counters.map(({ limit }) => limit),
    );
    return this.#waitingLines.wait(toKey(key), options);
  }

  peek(key: string, options?: PeekRequest): MaybePromise<Decision> {
    const moment = this.#moment(options);
    const charges = this.#charges(key, options, moment);
    return andThen(this.#store.peek(charges, { blockNowMs: moment.clockNowMs }), combine);
  }

  reserve(key: string, options?: RequestOptions): MaybePromise<Reservation<false>> {
    return andThen(this.#decide("reserve", key, options), (outcome) =>
      this.#toReservation(outcome),
    );
  }

  acquire(key: string, options?: RequestOptions): MaybePromise<Permit<false>> {
    return andThen(this.#decide("acquire", key, options), (outcome) => this.#toPermit(outcome));
  }

  refund(key: string, cost = 1, options?: TimeOptions): MaybePromise<number> {
    const charges = this.#charges(key, { cost }, this.#moment(asTimed(options)));
    const granted = charges.filter((charge) => !isConcurrency(charge.counter));
    if (granted.length === 0) throw new SluiceError("SLUICE_ACQUIRE_ONLY", "got refund");
    return refundCharges(this.#store, granted);
  }

  block(key: string, forMs: number, options?: TimeOptions): MaybePromise<void> {
    this.#mustBeOpen();
    const nowMs = this.#moment(asTimed(options)).clockNowMs;
    const untilMs = nowMs + toDurationMs(forMs);
    return this.#store.block(this.#name, toKey(key), { untilMs, nowMs });
  }

  unblock(key: string, options?: TimeOptions): MaybePromise<boolean> {
    const moment = this.#moment(asTimed(options));
    const charges = this.#charges(key, { cost: 0 }, moment);
    return unblockCharges(this.#store, charges, moment.clockNowMs);
  }

  reset(key: string, options?: TimeOptions): MaybePromise<void> {
    return this.#store.reset(this.#charges(key, undefined, this.#moment(asTimed(options))));
  }

  close(): MaybePromise<void> {
    if (this.#isClosed) return undefined;
    this.#isClosed = true;
    this.#waitingLines?.close();
    this.#releaseName();
    if (this.#ownsStore) return this.#store.close();
    for (const counter of this.#counters) this.#store.forget?.(counter);
    return undefined;
  }

  #check(key: string, options?: RequestOptions): MaybePromise<Decision> {
    const only = this.#only;
    if (only === undefined || saysMore(options)) {
      return andThen(this.#decide("check", key, options), toDecision);
    }
    const nowMs = timeOf(options);
    this.#mustBeOpen();
    const cost = options === undefined ? 1 : toCost(costOf(options));
    const clockNowMs = nowMs ?? only.nowMs();
    const atMs = only.isQuota ? (nowMs ?? this.#nowMs(only.counter)) : clockNowMs;
    return only.store.decideOne(only.counter, toKey(key), cost, atMs, clockNowMs);
  }

  #decide(
    verb: "check" | "reserve" | "acquire",
    key: string,
    options: RequestOptions | undefined,
  ): MaybePromise<Outcome> {
    if (verb !== "acquire" && this.#hasPermits) {
      throw new SluiceError("SLUICE_ACQUIRE_ONLY", `got ${verb}`);
    }
    if (verb === "acquire" && !this.#hasPermits) {
      throw new SluiceError("SLUICE_NOTHING_TO_ACQUIRE", `got ${this.#limitNames()}`);
    }
    const moment = this.#moment(options);
    const charged = this.#charges(key, options, moment);
    const charges = verb === "acquire" ? charged.map(heldIfPermit) : charged;
    const requestId = toRequestId(options?.requestId);
    const how = { hold: verb !== "check", blockNowMs: moment.clockNowMs };
    return this.#store.decide(charges, requestId === undefined ? how : { ...how, requestId });
  }

  /** The charges of a request, all at one reading of the clock. */
  #charges(
    key: string,
    options: PeekRequest | undefined,
    { nowMs, clockNowMs }: Moment,
  ): readonly Charge[] {
    this.#mustBeOpen();
    const checkedKey = toKey(key);
    const cost = toCost(options === undefined ? 1 : costOf(options));
    const caller = toCaller(options?.caller);
    const charges = this.#counters.map((counter) => ({
      counter,
      key: checkedKey,
      cost,
      nowMs: nowMs ?? (isQuota(counter) ? this.#nowMs(counter) : clockNowMs),
    }));
    return caller === undefined ? charges : charges.map((charge) => ({ ...charge, caller }));
  }

  #moment(options: TimeOptions | undefined): Moment {
    const nowMs = timeOf(options);
    return { nowMs, clockNowMs: nowMs ?? this.#clockNowMs() };
  }

  #toReservation(outcome: Outcome): Reservation<false> {
    const { receipts } = outcome;
    return new HeldReservation(toDecision(outcome), (kept, nowMs) =>
      this.#settle(receipts, kept, nowMs),
    );
  }

  #toPermit(outcome: Outcome): Permit<false> {
    const receipts = outcome.receipts.filter((receipt) => isConcurrency(receipt.counter));
    return new HeldPermit(toDecision(outcome), (kept, nowMs) =>
      this.#settle(receipts, kept, nowMs),
    );
  }

  #settle(receipts: readonly ChargeReceipt[], kept: number, nowMs?: number): MaybePromise<void> {
    // Reservations and permits can be settled after close, unless the store was closed too.
    if (this.#isClosed && this.#ownsStore) return undefined;
    return this.#store.settle(
      receipts.map((receipt) => ({
        receipt,
        kept,
        nowMs: nowMs ?? this.#nowMs(receipt.counter),
      })),
    );
  }

  #nowMs(counter: Counter): number {
    return countedMsOf(this.#clock, isQuota(counter));
  }

  #clockNowMs(): number {
    return toWholeMs(this.#clock.now());
  }

  #limitNames(): string {
    return this.#counters.map((counter) => counter.limit.algorithm).join(", ");
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", `limiter ${show(this.#name)}`);
  }
}

/** When a verb happens: at a time that was passed, or by the clock. */
interface Moment {
  readonly nowMs: number | undefined;
  /** The same, or what the clock says. */
  readonly clockNowMs: number;
}

interface SingleLimitPath {
  readonly counter: Counter;
  readonly isQuota: boolean;
  readonly nowMs: () => number;
  readonly store: Store & Required<Pick<Store, "decideOne">>;
}

function toSingleLimitPath({ counters, store, clock }: LimiterSetup): SingleLimitPath | undefined {
  const [counter] = counters;
  const hasIt = (candidate: Store): candidate is SingleLimitPath["store"] =>
    candidate.decideOne !== undefined;
  if (counters.length > 1 || !hasIt(store)) return undefined;
  return { counter, isQuota: isQuota(counter), nowMs: toDecisionClock(clock), store };
}

function isQuota(counter: Counter): boolean {
  return counter.limit.algorithm === "quota";
}

/** Only permits are released; charges under other limits are final. */
function heldIfPermit(charge: Charge): Charge {
  return isConcurrency(charge.counter) ? charge : { ...charge, isFinal: true };
}

function isConcurrency(counter: Counter): boolean {
  return counter.limit.algorithm === "concurrency";
}

/** Whether a request says what the path for a single limit does not take. */
function saysMore(options: RequestOptions | undefined): boolean {
  return options?.requestId !== undefined || options?.caller !== undefined;
}

function toDecision(outcome: Outcome): Decision {
  return combine(outcome.verdicts);
}

function costOf(options: { cost?: number }): number {
  const { cost } = asRequest(options);
  return cost === undefined ? 1 : cost;
}
