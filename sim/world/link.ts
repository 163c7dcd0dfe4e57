// A network between a process and a store. Messages take time and arrive in the order in which they were sent, and packets
// are lost, which delays a message and those behind it, as TCP does. While a direction is cut, what is sent that way never
// arrives.

import type { Random } from "../kernel/random.js";
import type { Simulation } from "../kernel/simulation.js";

/** How a network behaves; a scenario may change it at any time. */
export interface LinkState {
  /** One way, in milliseconds. */
  latencyMs: number;
  /** Added to it, up to this much at random. */
  jitterMs: number;
  /** The share of messages whose packet is lost once: 0 to 1. */
  loss: number;
  isCutThere: boolean;
  isCutBack: boolean;
}

/** What went over a network. */
export interface LinkCounts {
  bytes: number;
}

/** How long TCP waits until it sends a lost packet again. */
const RETRANSMISSION_MS = 200;

/** Both directions between a process and a store. */
export class Link {
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #state: LinkState;
  readonly #counts: LinkCounts;
  /** When the latest message of each direction arrives. */
  #thereAtMs = 0;
  #backAtMs = 0;

  constructor(simulation: Simulation, random: Random, state: LinkState, counts: LinkCounts) {
    this.#simulation = simulation;
    this.#random = random;
    this.#state = state;
    this.#counts = counts;
  }

  /** Sends a message to the store, which gets it in a while, or never. */
  sendThere(bytes: number, deliver: () => void): void {
    this.#counts.bytes += bytes;
    if (this.#state.isCutThere) return;
    const { nowMs } = this.#simulation;
    this.#thereAtMs = Math.max(this.#thereAtMs, nowMs + this.#delayMs());
    this.#simulation.after(this.#thereAtMs - nowMs, deliver);
  }

  /** Sends an answer back at `atMs`, now or later. */
  sendBack(bytes: number, atMs: number, deliver: () => void): void {
    this.#counts.bytes += bytes;
    if (this.#state.isCutBack) return;
    this.#backAtMs = Math.max(this.#backAtMs, atMs + this.#delayMs());
    this.#simulation.afterAwaited(this.#backAtMs - this.#simulation.nowMs, deliver);
  }

  #delayMs(): number {
    const { latencyMs, jitterMs, loss } = this.#state;
    const lostMs = loss > 0 && this.#random.fraction() < loss ? RETRANSMISSION_MS : 0;
    return latencyMs + lostMs + (jitterMs > 0 ? this.#random.between(0, jitterMs) : 0);
  }
}
