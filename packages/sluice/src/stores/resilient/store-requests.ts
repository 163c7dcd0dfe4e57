// The requests of a resilient store to the store behind it: for each verb what is sent, what stands in for
// an answer that does not come, and what becomes of one that comes too late.

import type { Breaker } from "../../base/circuit-breaker.js";
import type { Clock } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import type { MaybePromise } from "../../base/maybe-promise.js";
import { isFenced } from "../fence-store.js";
import type { Charge, DecideOptions, Outcome, PeekOptions, Settling, Store } from "../store.js";
import type { Absence, Fallback } from "./fallback/fallback.js";
import type { LateIds } from "./late-request-ids.js";
import { toUnavailable } from "./store-failure.js";
import { Guarded } from "./store-guard/store-guard.js";
import type { Unsettled } from "./unsettled-receipts.js";

/** What requests need from the resilient store that they belong to. */
export interface ResilientContext {
  readonly inner: Store;
  readonly clock: Clock;
  readonly fallback: Fallback;
  readonly breaker: Breaker;
  readonly lateIds: LateIds;
  readonly unsettled: Unsettled;
  readonly counts: { fallbackDecisions: number; lateRefunded: number };
  /** Settles without waiting. Must not throw. */
  refund(settlings: readonly Settling[]): void;
}

function absenceOf({ breaker }: ResilientContext, failure: unknown): Absence {
  return { failure, retryAfterMs: breaker.retryAfterMs };
}

/** Most requests are about one identity; if there are several, the first identifies the caller. */
function callerOf(charges: readonly Charge[]): string {
  return charges[0]?.key ?? "";
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A decision. Receipts are always asked for, so that one that comes too late can be refunded. */
abstract class Deciding<Answer> extends Guarded<Outcome, Answer> {
  protected readonly around: ResilientContext;
  protected readonly charges: readonly Charge[];
  protected readonly options: DecideOptions;
  #sentAtMs = 0;
  /** Whether the caller has no use for what the store charges. */
  #isUnused = true;

  constructor(around: ResilientContext, charges: readonly Charge[], options: DecideOptions) {
    super();
    this.around = around;
    this.charges = charges;
    this.options = options;
  }

  override get size(): number {
    return this.charges.length;
  }

  override get caller(): string {
    return callerOf(this.charges);
  }

  /** The policy's answer, and whether the request continues with it and holds nothing of ours. */
  protected abstract answerBy(absence: Absence): { answer: Answer; usesCharge: boolean };

  override send(): MaybePromise<Outcome> {
    const { inner, clock, lateIds } = this.around;
    const { hold, requestId, blockNowMs, isAbandoned } = this.options;
    if (requestId !== undefined) lateIds.delete(requestId);
    this.#sentAtMs = clock.now();
    // Written out rather than spread: this is on the way of every decision.
    const sent: Writable<DecideOptions> = {
      hold: hold || "briefly",
      isAbandoned: () => this.isOver || isAbandoned?.() === true,
    };
    if (blockNowMs !== undefined) sent.blockNowMs = blockNowMs;
    if (requestId !== undefined) sent.requestId = requestId;
    return inner.decide(this.charges, sent);
  }

  override instead(failure: unknown): Answer {
    const { counts, lateIds } = this.around;
    counts.fallbackDecisions++;
    const { requestId } = this.options;
    if (this.isOver && requestId !== undefined) lateIds.add(requestId);
    const { answer, usesCharge } = this.answerBy(absenceOf(this.around, failure));
    this.#isUnused = !usesCharge;
    return answer;
  }

  override late({ receipts }: Outcome): void {
    const { clock, counts, lateIds } = this.around;
    const { requestId } = this.options;
    const isSentAgain = requestId !== undefined && !lateIds.delete(requestId);
    if (!this.#isUnused || isSentAgain || receipts.length === 0) return;
    counts.lateRefunded++;
    const sinceMs = clock.now() - this.#sentAtMs;
    const chargedAtMs = (counter: Charge["counter"]) =>
      this.charges.find((charge) => charge.counter === counter)?.nowMs ?? this.charges[0].nowMs;
    this.around.refund(
      receipts.map((receipt) => {
        return { receipt, kept: 0, nowMs: chargedAtMs(receipt.counter) + sinceMs };
      }),
    );
  }
}

/** `decide`. */
export class DecideRequest extends Deciding<Outcome> {
  override accept(outcome: Outcome): Outcome {
    return this.options.hold ? outcome : { ...outcome, receipts: [] };
  }

  protected override answerBy(absence: Absence): { answer: Outcome; usesCharge: boolean } {
    const answer = this.around.fallback.decide(this.charges, this.options, absence);
    // A caller that holds something holds the fallback's receipt, so no one holds the store's charge.
    return { answer, usesCharge: answer.allowed && !this.options.hold };
  }
}

/** `decideOne` of a store that may be late. */
export class DecideOneRequest extends Deciding<Verdict> {
  constructor(around: ResilientContext, charge: Charge, blockNowMs: number) {
    super(around, [charge], { blockNowMs });
  }

  override accept({ verdicts }: Outcome): Verdict {
    return verdicts[0];
  }

  protected override answerBy(absence: Absence): { answer: Verdict; usesCharge: boolean } {
    const answer = this.around.fallback.decideOne(this.charges[0], this.options, absence);
    return { answer, usesCharge: answer.allowed };
  }
}

/** `decideOne` of a store that answers synchronously. */
export class PromptRequest extends Guarded<Verdict, Verdict> {
  override readonly size = 1;
  readonly #around: ResilientContext;
  readonly #charge: Charge;
  readonly #blockNowMs: number;

  constructor(around: ResilientContext, charge: Charge, blockNowMs: number) {
    super();
    this.#around = around;
    this.#charge = charge;
    this.#blockNowMs = blockNowMs;
  }

  override get caller(): string {
    return this.#charge.key;
  }

  override send(): MaybePromise<Verdict> {
    const { counter, key, cost, nowMs } = this.#charge;
    const { inner } = this.#around;
    return (inner as Required<Store>).decideOne(counter, key, cost, nowMs, this.#blockNowMs);
  }

  override accept(verdict: Verdict): Verdict {
    return verdict;
  }

  override instead(failure: unknown): Verdict {
    const { fallback, counts } = this.#around;
    counts.fallbackDecisions++;
    const options = { blockNowMs: this.#blockNowMs };
    return fallback.decideOne(this.#charge, options, absenceOf(this.#around, failure));
  }
}

/** `peek`, which follows the policies as a decision does. */
export class GuardedPeek extends Guarded<readonly Verdict[], readonly Verdict[]> {
  readonly #around: ResilientContext;
  readonly #charges: readonly Charge[];
  readonly #options: PeekOptions;

  constructor(around: ResilientContext, charges: readonly Charge[], options: PeekOptions) {
    super();
    this.#around = around;
    this.#charges = charges;
    this.#options = options;
  }

  override get size(): number {
    return this.#charges.length;
  }

  override get caller(): string {
    return callerOf(this.#charges);
  }

  override send(): MaybePromise<readonly Verdict[]> {
    return this.#around.inner.peek(this.#charges, this.#options);
  }

  override accept(verdicts: readonly Verdict[]): readonly Verdict[] {
    return verdicts;
  }

  override instead(failure: unknown): readonly Verdict[] {
    const absence = absenceOf(this.#around, failure);
    return this.#around.fallback.peek(this.#charges, this.#options, absence);
  }
}

/** `settle`: what the store does not take is kept for later. */
export class SettleRequest extends Guarded<void, void> {
  readonly #around: ResilientContext;
  readonly #settlings: readonly Settling[];
  /** Whether the store took them. */
  isTaken = false;

  constructor(around: ResilientContext, settlings: readonly Settling[]) {
    super();
    this.#around = around;
    this.#settlings = settlings;
  }

  override get size(): number {
    return this.#settlings.length;
  }

  override get caller(): string {
    return this.#settlings[0]?.receipt.key ?? "";
  }

  override send(): MaybePromise<void> {
    return this.#around.inner.settle(this.#settlings);
  }

  override accept(): void {
    this.isTaken = true;
  }

  override instead(failure: unknown): void {
    // Another region is home now: what was charged under the epoch before stays spent.
    if (isFenced(failure)) this.isTaken = true;
    else this.#around.unsettled.add(this.#settlings);
  }
}

/** A request of an operator: no fallback can answer it. */
export class OperatorRequest<T> extends Guarded<T, T> {
  override readonly size: number;
  override readonly caller = "";
  readonly #call: () => MaybePromise<T>;

  /** @param size - How many charges the store has to look at. */
  constructor(call: () => MaybePromise<T>, size: number) {
    super();
    this.#call = call;
    this.size = size;
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
}
