// A backend as a queueing model: workers that serve one request each, a queue before them, service times that vary, and
// pauses in which nothing is served. Clients give up after a deadline; the backend does not know, and serves them anyway.

import type { Random } from "../kernel/random.js";
import { type Simulation, START_MS } from "../kernel/simulation.js";

/** What the backend is like. */
export interface BackendOptions {
  /** Requests that it serves together. */
  readonly workers: number;
  /** The mean of the service times, which are log-normally distributed. */
  readonly serviceMs: number;
  /** The standard deviation of service times, as a share of their mean. */
  readonly variation: number;
  /** Pauses, as a garbage collector makes them; undefined: none. */
  readonly pauses?: { readonly everyMs: number; readonly lastMs: number } | undefined;
}

/** Served requests that the queue keeps before it is cut. */
const SERVED_MAX = 1_000;

/** A backend that can change while it serves. */
export class BackendModel {
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #variation: number;
  readonly #pauses: BackendOptions["pauses"];
  readonly #queue: (() => void)[] = [];
  /** The first of the queue; those before it are served. */
  #head = 0;
  #busy = 0;
  workers: number;
  serviceMs: number;

  constructor(simulation: Simulation, options: BackendOptions) {
    this.#simulation = simulation;
    this.#random = simulation.randomOf("backend");
    this.#variation = options.variation;
    this.workers = options.workers;
    this.serviceMs = options.serviceMs;
    this.#pauses = options.pauses;
  }

  /** Changes how much it can take. Requests that are being served are finished. */
  change({ workers, serviceMs }: Partial<Pick<BackendOptions, "workers" | "serviceMs">>): void {
    this.workers = workers ?? this.workers;
    this.serviceMs = serviceMs ?? this.serviceMs;
    this.#serveNext();
  }

  /** Serves a request when its turn comes, then calls back. */
  serve(onServed: () => void): void {
    this.#queue.push(onServed);
    this.#serveNext();
  }

  #serveNext(): void {
    while (this.#busy < this.workers && this.#head < this.#queue.length) {
      const onServed = this.#queue[this.#head++];
      this.#busy++;
      this.#simulation.after(this.#toEndMs(this.#toServiceMs()), () => {
        this.#busy--;
        onServed();
        this.#serveNext();
      });
    }
    if (this.#head < SERVED_MAX) return;
    this.#queue.splice(0, this.#head);
    this.#head = 0;
  }

  /** How long a request takes that is served from now on, with the pauses in between. Each period ends with a pause. */
  #toEndMs(serviceMs: number): number {
    if (this.#pauses === undefined) return serviceMs;
    const { everyMs, lastMs } = this.#pauses;
    const workMs = everyMs - lastMs;
    const phaseMs = (this.#simulation.nowMs - START_MS) % everyMs;
    const waitMs = Math.max(0, phaseMs - workMs);
    const doneMs = Math.min(phaseMs, workMs);
    const pauses = Math.floor((doneMs + serviceMs) / workMs);
    return serviceMs + pauses * lastMs - waitMs;
  }

  #toServiceMs(): number {
    const variance = Math.log(1 + this.#variation ** 2);
    const location = Math.log(this.serviceMs) - variance / 2;
    return Math.exp(location + Math.sqrt(variance) * this.#random.normal());
  }
}
