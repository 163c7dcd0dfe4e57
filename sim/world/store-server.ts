// A store that processes share: the library's memory store on machines of its own, as Redis or a Cluster of it. Each
// machine answers one call after the other; a conformance kit shows elsewhere that both decide alike.

import { type MemoryStore, memoryStore } from "sluice";
import type { Simulation } from "../kernel/simulation.js";

/** What a store's machine is like. */
export interface StoreServerOptions {
  /** How far its clock is ahead of true time. */
  readonly skewMs: number;
  /** Machines, each of which has some of the keys. */
  readonly shards: number;
  /** How long a machine takes for one charge. */
  readonly chargeMs: number;
  readonly keysMax: number;
}

/** A call: which caller it is about, and how many charges it has. */
export interface Call {
  readonly key: string;
  readonly charges: number;
}

/** When a call is answered: by true time, and by the clock of the store. */
export interface CallTime {
  readonly atMs: number;
  readonly clockMs: number;
}

/** A shared store. */
export class StoreServer {
  readonly #simulation: Simulation;
  readonly #options: StoreServerOptions;
  #store: MemoryStore;
  readonly #freeAtMs: Float64Array;
  #isUp = true;
  /** Calls that it answered. */
  calls = 0;

  constructor(simulation: Simulation, options: StoreServerOptions) {
    this.#simulation = simulation;
    this.#options = options;
    this.#freeAtMs = new Float64Array(options.shards);
    this.#store = this.#newStore();
  }

  /**
   * Answers a call that has arrived; a store that is down never does. Calls are answered in their order, so it acts
   * now, as of the time at which it is done with those before: `atMs`, or `clockMs` by its own clock.
   */
  answer({ key, charges }: Call, act: (store: MemoryStore, at: CallTime) => void): void {
    if (!this.#isUp) return;
    const { shards, chargeMs, skewMs } = this.#options;
    const shard = shards === 1 ? 0 : hashOf(key) % shards;
    const startMs = Math.max(this.#simulation.nowMs, this.#freeAtMs[shard]);
    const atMs = startMs + charges * chargeMs;
    this.#freeAtMs[shard] = atMs;
    this.calls++;
    act(this.#store, { atMs, clockMs: Math.floor(atMs + skewMs) });
  }

  /** It stops answering. */
  fail(): void {
    this.#isUp = false;
  }

  /** It answers again, with everything that it had. */
  recover(): void {
    this.#isUp = true;
  }

  /** It answers again, and has forgotten everything, as Redis does without persistence. */
  restartEmpty(): void {
    this.#isUp = true;
    this.#freeAtMs.fill(0);
    this.#store = this.#newStore();
  }

  #newStore(): MemoryStore {
    const { keysMax } = this.#options;
    // A fixed seed: which keys share a set of the table must be the same in every run.
    return memoryStore({ keysMax, receiptsMax: keysMax, seed: { low: 1, high: 2 } });
  }
}

function hashOf(key: string): number {
  let hash = 0;
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
  return hash >>> 0;
}
