// How long an origin takes to answer: a moving mean, and how far responses are from it.

/** How much one response changes the mean. */
const SHARE = 0.1;

/** The times that an origin's latest responses took. */
export class ResponseTimes {
  #meanMs = 0;
  #deviationMs = 0;

  /** The time that most responses take: the mean, and twice the mean deviation from it. 0 before the first response. */
  get mostMs(): number {
    return this.#meanMs + 2 * this.#deviationMs;
  }

  /** A response took this long. */
  add(latencyMs: number): void {
    const share = this.#meanMs === 0 ? 1 : SHARE;
    const differenceMs = latencyMs - this.#meanMs;
    this.#meanMs += share * differenceMs;
    this.#deviationMs += SHARE * (Math.abs(differenceMs) - this.#deviationMs);
  }
}
