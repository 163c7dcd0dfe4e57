// The last minutes, second by second, so that a page which has just been opened has a chart. Seconds are closed by the
// first decision after them, without a timer; seconds without decisions are not kept.

import { NO_OUTCOMES, type OutcomeCounts, sizeOf, subtractOutcomes } from "./outcome-counts.js";

/** What happened in one second. */
export interface LiveSecond extends OutcomeCounts {
  /** When it began, by the wall clock. */
  readonly atMs: number;
}

/** Five minutes. */
export const HISTORY_SECONDS_MAX = 300;
const SECOND_MS = 1_000;

/** What was counted in each second. */
export class SecondHistory {
  readonly #read: () => OutcomeCounts;
  readonly #seconds: { readonly second: number; readonly counts: OutcomeCounts }[] = [];
  #second = Number.NEGATIVE_INFINITY;
  #endMs = Number.NEGATIVE_INFINITY;
  #before = NO_OUTCOMES;

  /** @param read - The totals since the start. */
  constructor(read: () => OutcomeCounts) {
    this.#read = read;
  }

  /** A decision is about to be counted, at a monotonic reading. */
  begin(nowMs: number): void {
    if (nowMs >= this.#endMs) this.#close(Math.floor(nowMs / SECOND_MS));
  }

  /** The seconds that are over, the oldest first. */
  read(nowMs: number, wallMs: number): LiveSecond[] {
    this.begin(nowMs);
    const now = Math.floor(nowMs / SECOND_MS);
    const offsetMs = wallMs - nowMs;
    return this.#seconds
      .filter(({ second }) => second >= now - HISTORY_SECONDS_MAX)
      .map(({ second, counts }) => ({
        atMs: Math.round(second * SECOND_MS + offsetMs),
        ...counts,
      }));
  }

  #close(second: number): void {
    const totals = this.#read();
    const counts = subtractOutcomes(totals, this.#before);
    if (sizeOf(counts) > 0) {
      this.#seconds.push({ second: this.#second, counts });
      if (this.#seconds.length > HISTORY_SECONDS_MAX) this.#seconds.shift();
    }
    this.#before = totals;
    this.#second = second;
    this.#endMs = (second + 1) * SECOND_MS;
  }
}
