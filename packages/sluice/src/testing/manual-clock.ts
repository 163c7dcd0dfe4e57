// A clock that only tests move. Nothing else in a test should make time pass.

import { type Clock, toWholeMs } from "../clock.js";

/** A clock that stands still until it is told otherwise. Its wall clock is the same. */
export class ManualClock implements Clock {
  #nowMs: number;

  /** @param startMs - Milliseconds since 1970; default 0. */
  constructor(startMs = 0) {
    this.#nowMs = toWholeMs(startMs);
  }

  now(): number {
    return this.#nowMs;
  }

  /** Moves time forward by `ms`, or back if it is negative. */
  advance(ms: number): void {
    this.#nowMs = toWholeMs(this.#nowMs + ms);
  }

  /** Sets the time. */
  set(nowMs: number): void {
    this.#nowMs = toWholeMs(nowMs);
  }
}
