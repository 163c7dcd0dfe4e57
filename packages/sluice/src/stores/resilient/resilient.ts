// A store that always answers, around one that may be slow, unavailable or broken: with a deadline and a circuit
// breaker, and if the store does not answer, by the failure policy of each limit. See docs/guides/store-failure.md.

import type { Clock } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import { SluiceError } from "../../base/errors.js";
import { andThen, isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import type { DepositStore } from "../deposit-store.js";
import type { FenceStore } from "../fence-store.js";
import { ForwardingStore } from "../forwarding-store.js";
import type { RecordStore } from "../record-store.js";
import type { Escalated, RefusalReport } from "../refusal-reports.js";
import type {
  Charge,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  RefundedUnits,
  Settling,
  Store,
} from "../store.js";
import { Deadlines } from "./deadlines.js";
import { Fallback, isOfFallback } from "./fallback/fallback.js";
import { FallbackReporter } from "./fallback/fallback-events.js";
import { GuardedDeposits } from "./guarded-deposits.js";
import { GuardedRecords } from "./guarded-records.js";
import { LateIds } from "./late-request-ids.js";
import type { AskGuarded } from "./plain-request.js";
import { type ResilientOptions, toSettings } from "./resilient-options.js";
import type { ResilientStats } from "./resilient-stats.js";
import { mustBeUnguarded } from "./store-failure.js";
import { answerInstead, type Guarded, StoreGuard } from "./store-guard/store-guard.js";
import {
  DecideOneRequest,
  DecideRequest,
  GuardedPeek,
  OperatorRequest,
  PromptRequest,
  type ResilientContext,
  SettleRequest,
} from "./store-requests.js";
import { Unsettled } from "./unsettled-receipts.js";

export type { ResilientStats } from "./resilient-stats.js";

/** An operator's call may take longer than a decision: no request waits for it. */
const OPERATOR_MS_MIN = 1_000;

/** A larger `peek` is sent in parts, between which others have their turn: it need not be atomic. */
const PEEK_CHARGES_MAX = 128;

/** A store behind a deadline and a breaker. Made by {@link resilient}. */
export class ResilientStore extends ForwardingStore {
  readonly #clock: Clock;
  readonly #guard: StoreGuard;
  readonly #deadlines: Deadlines;
  /** The deadlines of limits that have their own `timeoutMs`: as many as a program names. */
  readonly #otherDeadlines = new Map<number, Deadlines>();
  readonly #operatorDeadlines: Deadlines;
  readonly #fallback: Fallback;
  readonly #reporter: FallbackReporter;
  readonly #unsettled: Unsettled;
  readonly #around: ResilientContext;
  readonly #deposits: DepositStore | undefined;
  readonly #records: RecordStore | undefined;
  #answersLater: boolean;
  #isClosed = false;

  constructor(inner: Store, options: ResilientOptions = {}) {
    super(inner);
    mustBeUnguarded(inner);
    const settings = toSettings(options);
    const { clock, timeoutMs } = settings;
    this.#clock = clock;
    this.#answersLater = inner.isRemote === true;
    this.#deadlines = new Deadlines(clock, timeoutMs, toFailure);
    const operatorMs = Math.max(timeoutMs, OPERATOR_MS_MIN);
    this.#operatorDeadlines = new Deadlines(clock, operatorMs, toFailure);
    this.#fallback = new Fallback(settings);
    this.#reporter = new FallbackReporter(settings);
    this.#unsettled = new Unsettled(settings.settlingsMax);
    this.#guard = new StoreGuard({
      ...settings,
      onOpen: (failure) => this.#reporter.enter(failure, () => this.#guard.breaker.failure),
      onClose: () => this.#reporter.leave(),
      onAnswer: () => {
        if (this.#unsettled.size > 0) this.#resend();
      },
    });
    const ask: AskGuarded = (request) => this.#ask(request);
    this.#deposits = inner.deposits && new GuardedDeposits(inner.deposits, ask);
    // Records may be in a region far away.
    const askPatiently: AskGuarded = (request) => {
      this.#mustBeOpen();
      return this.#guard.ask(request, this.#operatorDeadlines);
    };
    this.#records = inner.records && new GuardedRecords(inner.records, askPatiently);
    this.#around = {
      inner,
      clock,
      fallback: this.#fallback,
      breaker: this.#guard.breaker,
      lateIds: new LateIds(),
      unsettled: this.#unsettled,
      counts: { fallbackDecisions: 0, lateRefunded: 0 },
      refund: (settlings) => this.#refundLate(settlings),
    };
  }

  /** False: an answer always comes, whatever becomes of the network. */
  override get isRemote(): boolean {
    return false;
  }

  override get isGuarded(): boolean {
    return true;
  }

  override get deposits(): DepositStore | undefined {
    return this.#deposits;
  }

  /** Not guarded: who asks has a deadline of its own. */
  override get fence(): FenceStore | undefined {
    return this.inner.fence;
  }

  override get records(): RecordStore | undefined {
    return this.#records;
  }

  get stats(): ResilientStats {
    return {
      state: this.#guard.breaker.state,
      sinceMs: this.#reporter.sinceMs,
      failures: this.#guard.failures,
      ...this.#around.counts,
      settlingsWaiting: this.#unsettled.size,
      unsettled: this.#unsettled.dropped,
    };
  }

  override decide(charges: readonly Charge[], options: DecideOptions = {}): MaybePromise<Outcome> {
    return this.#ask(new DecideRequest(this.#around, charges, options), charges[0]?.counter);
  }

  /** As if the store did not answer: the failure policy of each limit decides. */
  override decideByPolicy(
    charges: readonly Charge[],
    options: DecideOptions = {},
  ): MaybePromise<Outcome> {
    this.#mustBeOpen();
    const request = new DecideRequest(this.#around, charges, options);
    return answerInstead(request, new Error("the store does not say what may be counted in it"));
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs: number = nowMs,
  ): MaybePromise<Verdict> {
    const charge = { counter, key, cost, nowMs };
    if (this.#answersLater || this.inner.decideOne === undefined) {
      return this.#ask(new DecideOneRequest(this.#around, charge, blockNowMs), counter);
    }
    const verdict = this.#ask(new PromptRequest(this.#around, charge, blockNowMs), counter);
    // The fast path has no receipts to refund late admissions: it is for stores that are never late.
    if (isThenable(verdict)) this.#answersLater = true;
    return verdict;
  }

  override peek(
    charges: readonly Charge[],
    options: PeekOptions = {},
  ): MaybePromise<readonly Verdict[]> {
    if (charges.length <= PEEK_CHARGES_MAX) return this.#peek(charges, options);
    const parts: MaybePromise<readonly Verdict[]>[] = [];
    for (let i = 0; i < charges.length; i += PEEK_CHARGES_MAX) {
      parts.push(this.#peek(charges.slice(i, i + PEEK_CHARGES_MAX), options));
    }
    return parts.some(isThenable)
      ? Promise.all(parts).then((verdicts) => verdicts.flat())
      : (parts as (readonly Verdict[])[]).flat();
  }

  #peek(charges: readonly Charge[], options: PeekOptions): MaybePromise<readonly Verdict[]> {
    return this.#ask(new GuardedPeek(this.#around, charges, options), charges[0]?.counter);
  }

  /** Never fails because of the store: what it does not accept in time is sent again when it is back. */
  override settle(settlings: readonly Settling[]): MaybePromise<void> {
    this.#mustBeOpen();
    if (!settlings.some(isOfFallback)) return this.#settle(settlings);
    this.#fallback.settle(settlings.filter(isOfFallback));
    const others = settlings.filter((settling) => !isOfFallback(settling));
    return others.length === 0 ? undefined : this.#settle(others);
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    return this.#operate(() => this.inner.debit(charges), charges.length);
  }

  /** Grants in the fallback too, so that a key that was granted something is not left waiting. */
  override refund(charges: readonly Charge[]): MaybePromise<RefundedUnits> {
    this.#mustBeOpen();
    this.#fallback.refund(charges);
    return this.#operate(() => this.inner.refund(charges), charges.length);
  }

  /** Blocks in the fallback too: in this process the block holds even if the store never hears of it. */
  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    this.#mustBeOpen();
    this.#fallback.block(scope, key, until);
    return this.#operate(() => this.inner.block(scope, key, until));
  }

  override unblock(scope: string, key: string): MaybePromise<void> {
    this.#mustBeOpen();
    this.#fallback.unblock(scope, key);
    return this.#operate(() => this.inner.unblock(scope, key));
  }

  override escalate(reports: readonly RefusalReport[]): MaybePromise<readonly Escalated[]> {
    return this.#operate(() => super.escalate(reports), reports.length);
  }

  protected override learnBlock(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): void {
    this.#fallback.blockAtLeast(scope, key, until);
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    this.#mustBeOpen();
    this.#fallback.reset(charges);
    return this.#operate(() => this.inner.reset(charges), charges.length);
  }

  override forget(counter: Counter): void {
    this.#fallback.forget(counter);
    super.forget(counter);
  }

  /** Closes the store too. The policy answers waiting requests; waiting settlements are sent once more. */
  override close(): MaybePromise<void> {
    if (this.#isClosed) return undefined;
    this.#reporter.close();
    this.#guard.close();
    this.#deadlines.expireAll("it was closed");
    for (const deadlines of this.#otherDeadlines.values()) deadlines.expireAll("it was closed");
    this.#operatorDeadlines.expireAll("it was closed");
    this.#isClosed = true;
    const last = this.#unsettled.size === 0 ? undefined : this.#settle(this.#unsettled.takeAll());
    return andThen(last, () => {
      this.#unsettled.dropAll();
      this.#fallback.close();
      return this.inner.close();
    });
  }

  #ask<Sent, Answer>(request: Guarded<Sent, Answer>, counter?: Counter): MaybePromise<Answer> {
    this.#mustBeOpen();
    return this.#guard.ask(request, this.#deadlinesOf(counter?.timeoutMs));
  }

  #deadlinesOf(timeoutMs: number | undefined): Deadlines {
    if (timeoutMs === undefined || timeoutMs === this.#deadlines.timeoutMs) return this.#deadlines;
    const known = this.#otherDeadlines.get(timeoutMs);
    if (known !== undefined) return known;
    const deadlines = new Deadlines(this.#clock, timeoutMs, toFailure);
    this.#otherDeadlines.set(timeoutMs, deadlines);
    return deadlines;
  }

  #operate<T>(call: () => MaybePromise<T>, size = 1): MaybePromise<T> {
    this.#mustBeOpen();
    return this.#guard.ask(new OperatorRequest(call, size), this.#operatorDeadlines);
  }

  #settle(settlings: readonly Settling[]): MaybePromise<void> {
    return this.#guard.ask(
      new SettleRequest(this.#around, settlings),
      this.#deadlinesFor(settlings),
    );
  }

  /** A store that is far away takes as long for a settlement as for a decision. */
  #deadlinesFor(settlings: readonly Settling[]): Deadlines {
    const timeouts = settlings.map(({ receipt }) => receipt.counter.timeoutMs ?? 0);
    const longestMs = Math.max(0, ...timeouts);
    return this.#deadlinesOf(longestMs === 0 ? undefined : longestMs);
  }

  /** Refunds what the store admitted after the policy had answered its caller. */
  #refundLate(settlings: readonly Settling[]): void {
    if (this.#isClosed) return;
    try {
      const settled = this.#settle(settlings);
      if (isThenable(settled)) settled.catch(() => {});
    } catch {
      // The caller no longer waits, so misuse can't be reported to it.
    }
  }

  #resend(): void {
    if (this.#isClosed) return;
    this.#unsettled.resend(this.#clock.now(), (settlings) => {
      const request = new SettleRequest(this.#around, settlings);
      const settled = this.#guard.ask(request, this.#deadlinesFor(settlings));
      return andThen(settled, () => request.isTaken);
    });
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", "this resilient store");
  }
}

/**
 * Wraps a store so that every decision is answered in time. The answer of the store passes through
 * untouched; where it does not come within `timeoutMs`, or is a failure, the policy of the limit
 * answers with `source: "fallback"`:
 *
 * - `"local"` (default): a memory store with `localShare` of each limit decides. This many processes
 *   together admit at most processes × max(1, floor(localShare × limit)) in one recovery period, on
 *   top of what the store admitted before.
 * - `"open"` admits, `"closed"` refuses, `"throw"` rejects with SLUICE_STORE_UNAVAILABLE.
 *
 * Of several charges in one request the strictest policy counts. After `failuresMax` failures in a
 * row the circuit breaker opens and the policy answers immediately, until a trial shows that it is back.
 */
export function resilient(store: Store, options?: ResilientOptions): ResilientStore {
  return new ResilientStore(store, options);
}

function toFailure(seen: string): SluiceError {
  return new SluiceError("SLUICE_STORE_UNAVAILABLE", seen);
}
