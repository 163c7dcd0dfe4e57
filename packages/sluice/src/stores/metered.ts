// Counts what a store admits, answer by answer, for a meter beside it: the units that callers were admitted, whether
// or not the store has charged them. A policy puts it in front of a ledger, so that the two can be compared.

import type { Verdict } from "../base/decision.js";
import { isThenable, type MaybePromise } from "../base/maybe-promise.js";
import { ForwardingStore } from "./forwarding-store.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  DecideOptions,
  Outcome,
  Settling,
  Store,
} from "./store.js";

/**
 * Who answered for admitted units:
 *
 * - `charged`: the store, or a lease of it
 * - `repeated`: the store, as it had answered the same request id before
 * - `uncharged`: the fallback, because the store did not answer
 */
export type AdmissionSource = "charged" | "repeated" | "uncharged";

/** Counts admitted units. Called with every admission: it must be cheap, and must not throw. */
export interface AdmissionMeter {
  /**
   * @param units - Below zero if less was used in the end than was admitted.
   * @param nowMs - By the clock of the limit.
   */
  count(source: AdmissionSource, counter: Counter, key: string, units: number, nowMs: number): void;
}

/** How the charge of a receipt was counted: what settles it belongs to the same source and period. */
interface Admitted {
  readonly source: AdmissionSource;
  readonly nowMs: number;
}

/** A store whose admissions are counted. */
export class MeteredStore extends ForwardingStore {
  readonly #meter: AdmissionMeter;
  readonly #admitted = new WeakMap<ChargeReceipt, Admitted>();

  constructor(inner: Store, meter: AdmissionMeter) {
    super(inner);
    this.#meter = meter;
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): MaybePromise<Verdict> {
    const verdict = super.decideOne(counter, key, cost, nowMs, blockNowMs);
    if (isThenable(verdict)) return this.#countLater(verdict, { counter, key, cost, nowMs });
    if (verdict.allowed) this.#meter.count(sourceOf(verdict), counter, key, cost, nowMs);
    return verdict;
  }

  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    const outcome = super.decide(charges, options);
    if (!isThenable(outcome)) return this.#countAll(outcome, charges);
    return Promise.resolve(outcome).then((answer) => this.#countAll(answer, charges));
  }

  /** What a charge really cost counts, whenever the store learns of it. */
  override settle(settlings: readonly Settling[]): MaybePromise<void> {
    for (const { receipt, kept } of settlings) {
      const { counter, key, cost } = receipt;
      const admitted = this.#admitted.get(receipt);
      if (admitted === undefined) continue;
      // Presented twice, a receipt is settled once.
      this.#admitted.delete(receipt);
      this.#meter.count(admitted.source, counter, key, kept - cost, admitted.nowMs);
    }
    return super.settle(settlings);
  }

  // Apart from `decideOne`: a function that makes closures pays for them on every way through it.
  #countLater(answer: PromiseLike<Verdict>, charge: Omit<Charge, "shadow">): Promise<Verdict> {
    const { counter, key, cost, nowMs } = charge;
    return Promise.resolve(answer).then((verdict) => {
      if (verdict.allowed) this.#meter.count(sourceOf(verdict), counter, key, cost, nowMs);
      return verdict;
    });
  }

  #countAll(outcome: Outcome, charges: readonly Charge[]): Outcome {
    if (!outcome.allowed) return outcome;
    const { verdicts, isRepeated, receipts } = outcome;
    // The store answers a request as a whole, or its fallback does.
    const source = isRepeated === true ? "repeated" : sourceOf(verdicts[0]);
    for (let i = 0; i < charges.length; i++) {
      const { counter, key, cost, nowMs } = charges[i];
      // A shadow charge that did not pass was not taken.
      if (verdicts[i].allowed) this.#meter.count(source, counter, key, cost, nowMs);
    }
    for (const receipt of receipts)
      this.#admitted.set(receipt, { source, nowMs: charges[0].nowMs });
    return outcome;
  }
}

function sourceOf({ source }: Verdict): AdmissionSource {
  return source === "fallback" ? "uncharged" : "charged";
}
