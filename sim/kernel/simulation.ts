// Discrete events on one thread: time jumps from one event to the next, and nothing happens in between. Library code
// runs unchanged, on clocks and networks of the simulation. After an event that code waits for, promises settle before the
// next one, always in the same order: a run depends on nothing but its seed.

import { EventQueue } from "./event-queue.js";
import { Random } from "./random.js";

/** The time at which simulations start: a Monday, at midnight. */
export const START_MS: number = Date.UTC(2026, 0, 5);

/** Cancels what was planned, if it has not happened yet. */
export type Cancel = () => void;

/** A world in which only events make time pass. */
export class Simulation {
  readonly seed: number;
  readonly #queue = new EventQueue();
  #nowMs = START_MS;
  #order = 0;

  constructor(seed: number) {
    this.seed = seed;
  }

  /** The true time, in milliseconds since 1970, with fractions. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** The random numbers of a part of the simulation. */
  randomOf(part: string): Random {
    return new Random(`${this.seed}/${part}`);
  }

  /** Plans a task for `delayMs` from now. Promises that it settles go on at the end of its instant. */
  after(delayMs: number, task: () => void): Cancel {
    return this.#plan(delayMs, task, false);
  }

  /** As `after`, and whatever waits for the task continues before anything else happens. */
  afterAwaited(delayMs: number, task: () => void): Cancel {
    return this.#plan(delayMs, task, true);
  }

  #plan(delayMs: number, task: () => void, isAwaited: boolean): Cancel {
    const atMs = this.#nowMs + Math.max(0, delayMs);
    const event = { atMs, order: this.#order++, isAwaited, task: task as typeof task | undefined };
    this.#queue.add(event);
    return () => {
      event.task = undefined;
    };
  }

  /** Lets everything happen that is planned up to `durationMs` from now, what it plans included. */
  async run(durationMs: number): Promise<void> {
    const endMs = this.#nowMs + durationMs;
    while (this.#queue.nextMs <= endMs) {
      this.#nowMs = this.#queue.nextMs;
      while (this.#queue.nextMs === this.#nowMs) {
        const { task, isAwaited } = this.#queue.take();
        task?.();
        if (isAwaited && task !== undefined) await settlePromises();
      }
      await settlePromises();
    }
    this.#nowMs = endMs;
  }

  /** As `run`, for a world without promises. */
  runNow(durationMs: number): void {
    const endMs = this.#nowMs + durationMs;
    while (this.#queue.nextMs <= endMs) {
      this.#nowMs = this.#queue.nextMs;
      this.#queue.take().task?.();
    }
    this.#nowMs = endMs;
  }
}

/** All promises that can settle have settled when this one has. Node runs ticks when no promise is left to go on. */
function settlePromises(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
