// What an omniscient counter knows: every admission of every process, at the instant at which it was decided, by the
// store's clock. It computes limits by itself, not with the library's code, and compares.

import type { Limit } from "sluice";

/** Decisions arrive here at most this much later than they were made. */
const LATE_MS_MAX = 8_192;

/** How much was decided otherwise than by one counter that sees everything. */
export interface TruthCounts {
  admitted: number;
  refused: number;
  /** Admissions that one exact counter would have refused. */
  excessUnits: number;
  /** The most units by which one caller was above its limit at any instant. */
  overshootUnitsMax: number;
  /** Refusals that one exact counter would have admitted. */
  earlyRefusals: number;
}

/** One limit of every caller, counted exactly. */
interface ExactCounter {
  /** Charges a unit, whatever is left. Returns by how many units the caller is then above the limit; 0 if it is not. */
  charge(caller: number, atMs: number): number;
  hasRoom(caller: number, atMs: number): boolean;
}

/** Compares decisions with the truth. */
export class Truth {
  readonly counts: TruthCounts = {
    admitted: 0,
    refused: 0,
    excessUnits: 0,
    overshootUnitsMax: 0,
    earlyRefusals: 0,
  };
  readonly #counters: readonly ExactCounter[];
  // Decisions by the millisecond in which they were made: a strict one is known here only after its answer arrived.
  readonly #waiting: number[][] = Array.from({ length: LATE_MS_MAX }, () => []);
  #nextMs: number;

  constructor(limits: readonly Limit[], callers: number, startMs: number) {
    this.#counters = limits.map((limit) => toExactCounter(limit, callers));
    this.#nextMs = startMs;
  }

  /** Notes a decision that was made at `atMs`, not more than {@link LATE_MS_MAX} before `nowMs`. */
  note(caller: number, isAdmitted: boolean, at: { atMs: number; nowMs: number }): void {
    this.#judgeUntil(Math.floor(at.nowMs) - LATE_MS_MAX + 1);
    const atMs = Math.floor(at.atMs);
    if (atMs < this.#nextMs)
      throw new RangeError(`a decision was known ${at.nowMs - atMs} ms late`);
    this.#waiting[atMs % LATE_MS_MAX].push(isAdmitted ? caller : ~caller);
  }

  /** Judges everything. */
  end(): void {
    this.#judgeUntil(this.#nextMs + LATE_MS_MAX);
  }

  #judgeUntil(endMs: number): void {
    for (; this.#nextMs < endMs; this.#nextMs++) {
      const decisions = this.#waiting[this.#nextMs % LATE_MS_MAX];
      if (decisions.length === 0) continue;
      for (const decision of decisions) if (decision >= 0) this.#admit(decision, this.#nextMs);
      // Within a millisecond admissions come first: a refusal is early only if there was room for all of them and it.
      for (const decision of decisions) if (decision < 0) this.#refuse(~decision, this.#nextMs);
      decisions.length = 0;
    }
  }

  #admit(caller: number, atMs: number): void {
    this.counts.admitted++;
    let above = 0;
    for (const counter of this.#counters) above = Math.max(above, counter.charge(caller, atMs));
    if (above === 0) return;
    this.counts.excessUnits++;
    this.counts.overshootUnitsMax = Math.max(this.counts.overshootUnitsMax, above);
  }

  #refuse(caller: number, atMs: number): void {
    this.counts.refused++;
    if (this.#counters.every((counter) => counter.hasRoom(caller, atMs)))
      this.counts.earlyRefusals++;
  }
}

function toExactCounter(limit: Limit, callers: number): ExactCounter {
  switch (limit.algorithm) {
    case "tokenBucket": {
      const { amount, everyMs } = limit.refill;
      return new ExactBucket(limit.capacity, amount / everyMs, callers);
    }
    case "fixedWindow":
      return new ExactWindow(limit.capacity, limit.windowMs, callers);
    default:
      throw new RangeError(
        `the truth knows token buckets and fixed windows, not ${limit.algorithm}`,
      );
  }
}

/** Differences below this are the rounding of a quotient, not units. */
const UNITS_ERROR_MAX = 1e-6;

class ExactBucket implements ExactCounter {
  readonly #capacity: number;
  readonly #unitsPerMs: number;
  /** Units in use, and when. */
  readonly #used: Float64Array;
  readonly #atMs: Float64Array;

  constructor(capacity: number, unitsPerMs: number, callers: number) {
    this.#capacity = capacity;
    this.#unitsPerMs = unitsPerMs;
    this.#used = new Float64Array(callers);
    this.#atMs = new Float64Array(callers);
  }

  charge(caller: number, atMs: number): number {
    this.#advance(caller, atMs);
    this.#used[caller]++;
    const above = this.#used[caller] - this.#capacity;
    return above > UNITS_ERROR_MAX ? above : 0;
  }

  hasRoom(caller: number, atMs: number): boolean {
    this.#advance(caller, atMs);
    return this.#used[caller] + 1 <= this.#capacity + UNITS_ERROR_MAX;
  }

  #advance(caller: number, atMs: number): void {
    const refilled = (atMs - this.#atMs[caller]) * this.#unitsPerMs;
    this.#used[caller] = Math.max(0, this.#used[caller] - refilled);
    this.#atMs[caller] = atMs;
  }
}

class ExactWindow implements ExactCounter {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #window: Float64Array;
  readonly #used: Uint32Array;

  constructor(limit: number, windowMs: number, callers: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#window = new Float64Array(callers);
    this.#used = new Uint32Array(callers);
  }

  charge(caller: number, atMs: number): number {
    this.#advance(caller, atMs);
    return Math.max(0, ++this.#used[caller] - this.#limit);
  }

  hasRoom(caller: number, atMs: number): boolean {
    this.#advance(caller, atMs);
    return this.#used[caller] < this.#limit;
  }

  #advance(caller: number, atMs: number): void {
    const window = Math.floor(atMs / this.#windowMs);
    if (window === this.#window[caller]) return;
    this.#window[caller] = window;
    this.#used[caller] = 0;
  }
}
