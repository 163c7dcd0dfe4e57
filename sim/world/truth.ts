// What an omniscient counter knows: every admission of every process, at the instant at which it was decided, by the
// store's clock.

import type { Limit } from "sluice";
import { type ExactCounter, toExactCounter } from "./exact-counters.js";
import type { UnheardUnits } from "./unheard-units.js";

/** Decisions arrive here at most this much later than they were made. */
const LATE_MS_MAX = 8_192;

/** The length of the slices of a timeline. */
export const SLICE_MS = 100;

/** What was decided in a slice of time, by the time at which it was decided. */
export interface Slice {
  admitted: number;
  refused: number;
  /** Refusals that one exact counter would have admitted. */
  early: number;
  /** Admissions that one exact counter would have refused. */
  excess: number;
}

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

/** Compares decisions with the truth. */
export class Truth {
  readonly counts: TruthCounts = {
    admitted: 0,
    refused: 0,
    excessUnits: 0,
    overshootUnitsMax: 0,
    earlyRefusals: 0,
  };
  /** Slices of {@link SLICE_MS} from the start; time in which nothing was decided may be missing at the end. */
  readonly timeline: Slice[] = [];
  /** Decisions and admissions of each caller. */
  readonly asked: Uint32Array;
  readonly given: Uint32Array;
  readonly #counters: readonly ExactCounter[];
  readonly #startMs: number;
  // Decisions by the millisecond in which they were made: a strict one is known here only after its answer arrived.
  readonly #waiting: number[][] = Array.from({ length: LATE_MS_MAX }, () => []);
  /** The processes that made them, where it matters. */
  readonly #waitingNodes: number[][];
  /** Undefined unless regions merge their counts. */
  readonly unheard: UnheardUnits | undefined;
  #nextMs: number;

  constructor(limits: readonly Limit[], callers: number, startMs: number, unheard?: UnheardUnits) {
    this.unheard = unheard;
    this.#waitingNodes = unheard === undefined ? [] : this.#waiting.map(() => []);
    this.#counters = limits.map((limit) => toExactCounter(limit, callers));
    this.asked = new Uint32Array(callers);
    this.given = new Uint32Array(callers);
    this.#startMs = startMs;
    this.#nextMs = startMs;
  }

  /** Notes a decision that was made at `atMs` by a process, not more than {@link LATE_MS_MAX} before `nowMs`. */
  note(caller: number, isAdmitted: boolean, at: { atMs: number; nowMs: number }, node = 0): void {
    this.#judgeUntil(Math.floor(at.nowMs) - LATE_MS_MAX + 1);
    const atMs = Math.floor(at.atMs);
    if (atMs < this.#nextMs)
      throw new RangeError(`a decision was known ${at.nowMs - atMs} ms late`);
    this.#waiting[atMs % LATE_MS_MAX].push(isAdmitted ? caller : ~caller);
    if (this.unheard !== undefined) this.#waitingNodes[atMs % LATE_MS_MAX].push(node);
  }

  /** Judges everything. */
  end(): void {
    this.#judgeUntil(this.#nextMs + LATE_MS_MAX);
  }

  /** What a caller was admitted under each limit, of what still counts; after {@link end}. */
  used(caller: number, atMs: number): readonly number[] {
    return this.#counters.map((counter) => counter.used(caller, atMs));
  }

  #judgeUntil(endMs: number): void {
    for (; this.#nextMs < endMs; this.#nextMs++) {
      const decisions = this.#waiting[this.#nextMs % LATE_MS_MAX];
      if (decisions.length === 0) continue;
      const slice = this.#sliceAt(this.#nextMs);
      for (let i = 0; i < decisions.length; i++)
        if (decisions[i] >= 0) this.#admit(decisions[i], this.#nextMs, slice, i);
      // Within a millisecond admissions come first: a refusal is early only if there was room for all of them and it.
      for (const decision of decisions)
        if (decision < 0) this.#refuse(~decision, this.#nextMs, slice);
      decisions.length = 0;
      if (this.unheard !== undefined) this.#waitingNodes[this.#nextMs % LATE_MS_MAX].length = 0;
    }
  }

  #sliceAt(atMs: number): Slice {
    const index = Math.floor((atMs - this.#startMs) / SLICE_MS);
    while (this.timeline.length <= index)
      this.timeline.push({ admitted: 0, refused: 0, early: 0, excess: 0 });
    return this.timeline[index];
  }

  #admit(caller: number, atMs: number, slice: Slice, index: number): void {
    this.counts.admitted++;
    slice.admitted++;
    this.asked[caller]++;
    this.given[caller]++;
    let above = 0;
    for (const counter of this.#counters) above = Math.max(above, counter.charge(caller, atMs));
    if (this.unheard !== undefined)
      this.unheard.admit(caller, atMs, this.#waitingNodes[atMs % LATE_MS_MAX][index], above);
    if (above === 0) return;
    this.counts.excessUnits++;
    slice.excess++;
    this.counts.overshootUnitsMax = Math.max(this.counts.overshootUnitsMax, above);
  }

  #refuse(caller: number, atMs: number, slice: Slice): void {
    this.counts.refused++;
    slice.refused++;
    this.asked[caller]++;
    if (!this.#counters.every((counter) => counter.hasRoom(caller, atMs))) return;
    this.counts.earlyRefusals++;
    slice.early++;
  }
}
