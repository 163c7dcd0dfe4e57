// A store that processes share: the library's memory store on a machine of its own. It answers one call after the
// other, by its own clock, as Redis does; a conformance kit shows elsewhere that both decide alike.

import { type MemoryStore, memoryStore } from "sluice";
import type { Simulation } from "../kernel/simulation.js";

/** What a store's machine is like. */
export interface StoreServerOptions {
  /** How far its clock is ahead of true time. */
  readonly skewMs: number;
  /** How long it takes for one charge. */
  readonly chargeMs: number;
  readonly keysMax: number;
}

/** A shared store. */
export class StoreServer {
  readonly #simulation: Simulation;
  readonly #options: StoreServerOptions;
  #store: MemoryStore;
  #freeAtMs = 0;
  #isUp = true;
  /** Calls that it answered. */
  calls = 0;

  constructor(simulation: Simulation, options: StoreServerOptions) {
    this.#simulation = simulation;
    this.#options = options;
    this.#store = this.#newStore();
  }

  /** The time by its clock. */
  get clockMs(): number {
    return Math.floor(this.#simulation.nowMs + this.#options.skewMs);
  }

  /** Answers a call when its turn comes; a store that is down never does. */
  answer(charges: number, act: (store: MemoryStore, nowMs: number) => void): void {
    if (!this.#isUp) return;
    const startMs = Math.max(this.#simulation.nowMs, this.#freeAtMs);
    this.#freeAtMs = startMs + charges * this.#options.chargeMs;
    this.#simulation.after(this.#freeAtMs - this.#simulation.nowMs, () => {
      if (!this.#isUp) return;
      this.calls++;
      act(this.#store, this.clockMs);
    });
  }

  /** It stops answering. */
  fail(): void {
    this.#isUp = false;
  }

  /** It answers again, and has forgotten everything, as Redis does without persistence. */
  restartEmpty(): void {
    this.#isUp = true;
    this.#freeAtMs = 0;
    this.#store = this.#newStore();
  }

  #newStore(): MemoryStore {
    const { keysMax } = this.#options;
    // A fixed seed: which keys share a set of the table must be the same in every run.
    return memoryStore({ keysMax, receiptsMax: keysMax, seed: { low: 1, high: 2 } });
  }
}
