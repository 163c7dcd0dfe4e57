// The clock of one machine: it runs as true time does, a fixed amount ahead or behind, and its timers die with the
// process.

import type { Clock } from "sluice";
import type { Cancel, Simulation } from "./simulation.js";

/** What a process takes for the time. */
export class NodeClock implements Clock {
  readonly #simulation: Simulation;
  readonly #skewMs: number;
  #isStopped = false;

  /** @param skewMs - How far it is ahead of true time; below zero: behind. */
  constructor(simulation: Simulation, skewMs: number) {
    this.#simulation = simulation;
    this.#skewMs = skewMs;
  }

  now(): number {
    return Math.floor(this.#simulation.nowMs + this.#skewMs);
  }

  after(delayMs: number, task: () => void): Cancel {
    return this.#simulation.afterAwaited(delayMs, () => {
      if (!this.#isStopped) task();
    });
  }

  /** The process has ended: none of its timers fires. */
  stop(): void {
    this.#isStopped = true;
  }
}
