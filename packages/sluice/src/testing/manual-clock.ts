// A clock that only tests move. Nothing else in a test should make time pass.

import { type CancelTimer, type Clock, toWholeMs } from "../base/clock.js";

interface Timer {
  readonly atMs: number;
  readonly task: () => void;
}

/** A clock that stands still until it is moved. Its wall clock is the same. */
export class ManualClock implements Clock {
  #nowMs: number;
  readonly #timers = new Set<Timer>();

  /** @param startMs - Milliseconds since 1970; default 0. */
  constructor(startMs = 0) {
    this.#nowMs = toWholeMs(startMs);
  }

  now(): number {
    return this.#nowMs;
  }

  /** Runs `task` once, when time is moved to `delayMs` from now or past it. */
  after(delayMs: number, task: () => void): CancelTimer {
    const timer = { atMs: this.#nowMs + delayMs, task };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /**
   * Moves time forward by `ms`, or back if it is negative. Timers that come due run on the way, in
   * their order and each at its own time; what they start and wait for continues after the call.
   */
  advance(ms: number): void {
    this.set(this.#nowMs + ms);
  }

  /** Sets the time; timers run as with `advance`. */
  set(nowMs: number): void {
    const endMs = toWholeMs(nowMs);
    for (let timer = this.#nextBy(endMs); timer !== undefined; timer = this.#nextBy(endMs)) {
      this.#timers.delete(timer);
      this.#nowMs = Math.max(this.#nowMs, Math.ceil(timer.atMs));
      timer.task();
    }
    this.#nowMs = endMs;
  }

  /** The earliest timer that is due by then; of several at one instant the one made first. */
  #nextBy(endMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.atMs <= endMs && (next === undefined || timer.atMs < next.atMs)) next = timer;
    }
    return next;
  }
}
