// One process of a fleet: the library's limiter over the store that its consistency asks for, or its policy where there
// are regions, on a clock and a network of the simulation.

import {
  createLimiter,
  type Decision,
  denyCache,
  eventual,
  type FailurePolicy,
  type Limit,
  leased,
  type MaybePromise,
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

/** What decides the requests of a process. */
export interface Decider {
  check(key: string): MaybePromise<Decision>;
  close(): MaybePromise<void>;
  /** How many units of a caller each rule has counted, by what this process sees. Absent if there are no regions. */
  counted?(key: string): Promise<readonly number[]>;
  /** Makes a region home, whose old home region can't be reached. Absent if there are no regions. */
  promote?(region: string): Promise<void>;
  /** How old the latest counts are that other regions have of it, by region; nothing unless counts are merged. */
  readonly lagsMs?: () => Iterable<readonly [string, number]>;
}

/** What a process is made of. */
export interface NodeParts {
  /** No other process has it, not even one that takes its place. */
  readonly id: number;
  readonly clock: NodeClock;
  /** Every store that it can reach. */
  readonly remotes: readonly RemoteStore[];
  readonly decider: Decider;
}

/** A process. */
export class Node {
  readonly #parts: NodeParts;
  /** Requests that have no answer yet. */
  unanswered = 0;

  constructor(parts: NodeParts) {
    this.#parts = parts;
  }

  /** The true time at which a store decided what was answered last: every answer is dealt with before the next arrives. */
  get decidedAtMs(): number {
    const { remotes } = this.#parts;
    const last = remotes.reduce((a, b) => (b.lastAnswer > a.lastAnswer ? b : a));
    return last.decidedAtMs;
  }

  get id(): number {
    return this.#parts.id;
  }

  get lagsMs(): Iterable<readonly [string, number]> {
    return this.#parts.decider.lagsMs?.() ?? [];
  }

  check(key: string): MaybePromise<Decision> {
    return this.#parts.decider.check(key);
  }

  /** How many units of a caller each rule has counted; none without regions. */
  async counted(key: string): Promise<readonly number[]> {
    return (await this.#parts.decider.counted?.(key)) ?? [];
  }

  /** An operator makes a region home, on this process. */
  async promote(region: string): Promise<void> {
    await this.#parts.decider.promote?.(region);
  }

  /** The process dies: nothing that it had planned happens, and no answer reaches it. */
  crash(): void {
    this.#parts.clock.stop();
    for (const remote of this.#parts.remotes) remote.disconnect();
  }

  /** The process stops gracefully: it answers the requests that it has, and returns what it holds. */
  async stop(): Promise<void> {
    for (
      let waitedMs = 0;
      this.unanswered > 0 && waitedMs < DRAIN_MS_MAX;
      waitedMs += DRAIN_STEP_MS
    )
      await new Promise<void>((resolve) => this.#parts.clock.after(DRAIN_STEP_MS, resolve));
    await this.#parts.decider.close();
    this.crash();
  }
}

/** How long a process that stops waits for its requests, and how often it looks. */
const DRAIN_MS_MAX = 2_000;
const DRAIN_STEP_MS = 10;

/** A limiter of all limits over one shared store. */
export function toLimiter(clock: NodeClock, remote: RemoteStore, options: NodeOptions): Decider {
  const store = toStore(clock, remote, options);
  return createLimiter({ name: "sim", limit: [...options.limits], store, clock });
}

/** A shared store behind a deadline and a circuit breaker, as the service puts them in front of it. */
export function toGuarded(clock: NodeClock, remote: RemoteStore, options: NodeOptions): Store {
  const { keysMax, nodes, onStoreFailure, timeoutMs } = options;
  return resilient(remote, {
    clock,
    keysMax,
    localShare: 1 / nodes,
    onStoreFailure,
    timeoutMs,
    // Otherwise every process of a fleet in trouble would print a warning; the results say it once.
    onEvent: () => {},
  });
}

/** The stores that a policy puts in front of a shared store for a rule of that consistency. */
function toStore(clock: NodeClock, remote: RemoteStore, options: NodeOptions): Store {
  const { consistency, keysMax, nodes } = options;
  // Real processes each draw a seed; a fixed one makes runs repeatable.
  if (consistency === "local") return memoryStore({ keysMax, seed: { low: 3, high: 4 } });
  const guarded = toGuarded(clock, remote, options);
  switch (consistency) {
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
