// One process of a fleet: the library's limiter over the store that its consistency asks for, on a clock and a network
// of the simulation.

import {
  createLimiter,
  denyCache,
  eventual,
  type FailurePolicy,
  type Limit,
  type Limiter,
  leased,
  memoryStore,
  resilient,
  type Store,
} from "sluice";
import type { NodeClock } from "../kernel/node-clock.js";
import type { RemoteStore } from "./remote-store.js";

/** How processes agree; as in a rule. */
export const CONSISTENCIES = ["strict", "leased", "eventual", "local"] as const;
export type Consistency = (typeof CONSISTENCIES)[number];

/** What all processes of a fleet are configured with. */
export interface NodeOptions {
  readonly limits: readonly Limit[];
  readonly consistency: Consistency;
  readonly nodes: number;
  readonly onStoreFailure: FailurePolicy;
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly syncMs: number;
  /** The most keys that one process knows. */
  readonly keysMax: number;
}

/** A process. */
export class Node {
  readonly limiter: Limiter<false>;
  readonly remote: RemoteStore;
  readonly #clock: NodeClock;
  /** Requests that have no answer yet. */
  unanswered = 0;

  constructor(clock: NodeClock, remote: RemoteStore, options: NodeOptions) {
    this.#clock = clock;
    this.remote = remote;
    this.limiter = createLimiter({
      name: "sim",
      limit: [...options.limits],
      store: toStore(clock, remote, options),
      clock,
    });
  }

  /** The process dies: nothing that it had planned happens, and no answer reaches it. */
  crash(): void {
    this.#clock.stop();
    this.remote.disconnect();
  }

  /** The process stops gracefully: it answers the requests that it has, and returns what it holds. */
  async stop(): Promise<void> {
    for (
      let waitedMs = 0;
      this.unanswered > 0 && waitedMs < DRAIN_MS_MAX;
      waitedMs += DRAIN_STEP_MS
    )
      await new Promise<void>((resolve) => this.#clock.after(DRAIN_STEP_MS, resolve));
    await this.limiter.close();
    this.crash();
  }
}

/** How long a process that stops waits for its requests, and how often it looks. */
const DRAIN_MS_MAX = 2_000;
const DRAIN_STEP_MS = 10;

/** The stores that a policy puts in front of a shared store for a rule of that consistency. */
function toStore(clock: NodeClock, remote: RemoteStore, options: NodeOptions): Store {
  const { keysMax, nodes, onStoreFailure, timeoutMs } = options;
  // Real processes each draw a seed; a fixed one makes runs repeatable.
  if (options.consistency === "local") return memoryStore({ keysMax, seed: { low: 3, high: 4 } });
  const localShare = 1 / nodes;
  const guarded = resilient(remote, {
    clock,
    keysMax,
    localShare,
    onStoreFailure,
    timeoutMs,
    // Otherwise every process of a fleet in trouble would print a warning; the results say it once.
    onEvent: () => {},
  });
  switch (options.consistency) {
    case "strict":
      return denyCache(guarded, { clock, keysMax });
    case "leased": {
      const holders = Math.max(1, Math.min(nodes, HOLDERS_MAX));
      return denyCache(leased(guarded, { clock, holders, keysMax, leaseMs: options.leaseMs }), {
        clock,
        keysMax,
      });
    }
    case "eventual":
      return eventual(guarded, { clock, keysMax, nodes, syncMs: options.syncMs });
  }
}

/** Of a large fleet only some processes meet one caller within the life of a lease. */
const HOLDERS_MAX = 16;
