// How much callers ask for: for each caller and several windows, the most that a sliding window counter would ever have
// counted. That is exactly the smallest limit under which the caller would never have been refused. A million callers
// take a fixed amount of memory: beyond a bound, callers are sampled by their hash.

import { SampledKeys } from "../../base/sampled-keys.js";

/** The windows in which demand is measured. */
export const WINDOWS_MS = [1_000, 10_000, 60_000, 3_600_000] as const;

/** Callers whose demand is kept: enough that one in ten thousand is still seen. */
export const CALLERS_MAX = 262_144;

/** Columns of each window: its number, what was counted in the one before it and in it, and the most so far. */
const COLUMNS = 4;

/** The demand of callers. */
export class Demand {
  readonly #callers: SampledKeys;

  /**
   * @param salt - Chooses which callers are kept if there are more.
   * @param callersMax - Default {@link CALLERS_MAX}.
   */
  constructor(salt: number, callersMax: number = CALLERS_MAX) {
    this.#callers = new SampledKeys(callersMax, salt, COLUMNS * WINDOWS_MS.length);
  }

  /** How many callers there were: exact while all are kept. */
  get callers(): number {
    return this.#callers.estimate;
  }

  /** The share of callers that is kept, about: 1 if all are. */
  get share(): number {
    return this.#callers.share;
  }

  /** Counts a request. Times must not go back. */
  add(caller: string, atMs: number): void {
    const callers = this.#callers;
    const place = callers.placeOf(caller);
    if (place < 0) return;
    for (let at = 0; at < WINDOWS_MS.length; at++) {
      const windowMs = WINDOWS_MS[at];
      const numbers = callers.column(COLUMNS * at);
      const earlier = callers.column(COLUMNS * at + 1);
      const counts = callers.column(COLUMNS * at + 2);
      const peaks = callers.column(COLUMNS * at + 3);
      // From 1, since 0 is that of a caller that has not come before. Seconds fit until the year 2106.
      const number = Math.floor(atMs / windowMs) + 1;
      if (numbers[place] !== number) {
        earlier[place] = numbers[place] === number - 1 ? counts[place] : 0;
        counts[place] = 0;
        numbers[place] = number;
      }
      counts[place]++;
      const leftMs = windowMs - (atMs % windowMs);
      const counted = Math.ceil((earlier[place] * leftMs) / windowMs) + counts[place];
      if (counted > peaks[place]) peaks[place] = counted;
    }
  }

  /** The most that was counted of each caller in the window of that number, the smallest first. */
  peaksOf(window: number): Uint32Array {
    const peaks = this.#callers.column(COLUMNS * window + 3);
    const sorted = new Uint32Array(this.#callers.count);
    let at = 0;
    for (const place of this.#callers.places()) sorted[at++] = peaks[place];
    return sorted.sort();
  }
}
