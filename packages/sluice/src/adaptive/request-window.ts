// Counts the requests of one window. A window is over once it has lasted long enough and has seen enough requests; in
// one that is too short, only the quickest requests would have ended.

import type { WindowCounts } from "./limit-state.js";

/** Requests that a window needs: fewer say little about the backend. */
const REQUESTS_MIN = 10;
/** A window with fewer requests is over after this many times its length. */
const LENGTHS_MAX = 10;
/** The longest that a slow backend can make a window. */
const WINDOW_MS_MAX = 60_000;

/** One window, reused for the next by {@link restart}. */
export class RequestWindow implements WindowCounts {
  oks = 0;
  latencyMsSum = 0;
  failures = 0;
  shed = 0;
  inFlightMax = 0;
  startMs: number;
  #lengthMs: number;

  constructor(startMs: number, lengthMs: number) {
    this.startMs = startMs;
    this.#lengthMs = lengthMs;
  }

  /** A request has succeeded. */
  addOk(latencyMs: number): void {
    this.oks++;
    // A clock that was set back must not make a backend look fast.
    if (latencyMs > 0) this.latencyMsSum += latencyMs;
  }

  /** Whether it is over by now. */
  isOver(nowMs: number): boolean {
    const lastedMs = nowMs - this.startMs;
    if (lastedMs < this.#lengthMs) return lastedMs < 0;
    const requests = this.oks + this.failures;
    if (requests >= REQUESTS_MIN) return true;
    return requests > 0 && lastedMs >= LENGTHS_MAX * this.#lengthMs;
  }

  /**
   * Begins the next window.
   *
   * @param lengthMs - How long it lasts at least.
   */
  restart(nowMs: number, lengthMs: number, inFlight: number): void {
    this.oks = 0;
    this.latencyMsSum = 0;
    this.failures = 0;
    this.shed = 0;
    this.inFlightMax = inFlight;
    this.startMs = nowMs;
    this.#lengthMs = Math.min(WINDOW_MS_MAX, lengthMs);
  }
}
