// A fleet, the store that it shares, the callers, and an omniscient counter beside them. A scenario says what they are
// like and what goes wrong.

import type { Decision, MaybePromise } from "sluice";
import { NodeClock } from "../kernel/node-clock.js";
import type { Random } from "../kernel/random.js";
import { type Simulation, START_MS } from "../kernel/simulation.js";
import { Zipf } from "../kernel/zipf.js";
import { Link, type LinkCounts, type LinkState } from "./link.js";
import { Node, type NodeOptions } from "./node.js";
import { RemoteStore } from "./remote-store.js";
import { StoreServer } from "./store-server.js";
import { Truth } from "./truth.js";

/** What a caller does after a refusal. */
export interface RetryBehaviour {
  /** When it asks again, in milliseconds from the refusal; undefined: never. */
  delayMs(decision: Decision, attempt: number, random: Random): number | undefined;
}

/** What a world is made of. */
export interface WorldOptions extends NodeOptions {
  readonly callers: number;
  /** The exponent of Zipf's law, by which some callers ask more often than others. */
  readonly exponent: number;
  /** At how many processes the load balancer lets one caller arrive, at most. */
  readonly reach: number;
  readonly network: LinkState;
  /** On how many machines the shared store is, each with its part of the keys. */
  readonly shards: number;
  /** How long a machine of the store takes for one charge. */
  readonly chargeMs: number;
  /** The clocks of processes are wrong by up to this much. */
  readonly skewMsMax: number;
}

/** Everything that a scenario acts on. */
export class World {
  readonly simulation: Simulation;
  readonly options: WorldOptions;
  readonly server: StoreServer;
  readonly truth: Truth;
  readonly network: LinkState;
  readonly traffic: LinkCounts = { bytes: 0 };
  readonly nodes: Node[] = [];
  decisions = 0;
  fallbackDecisions = 0;
  /** Checks that failed with an error; there should be none. */
  failures = 0;
  readonly #random: Random;
  readonly #networkRandom: Random;
  readonly #zipf: Zipf;
  readonly #keys: string[] = [];

  constructor(simulation: Simulation, options: WorldOptions) {
    this.simulation = simulation;
    this.options = options;
    this.network = { ...options.network };
    this.#random = simulation.randomOf("callers");
    this.#networkRandom = simulation.randomOf("network");
    this.#zipf = new Zipf(this.#random, options.callers, options.exponent);
    const keysMax = Math.max(1_000, Math.min(4 * options.callers, 4_000_000));
    const { chargeMs, shards } = options;
    this.server = new StoreServer(simulation, { skewMs: 0, chargeMs, shards, keysMax });
    this.truth = new Truth(options.limits, options.callers, START_MS);
    for (let i = 0; i < options.nodes; i++) this.nodes.push(this.#startNode());
  }

  /** How many requests have no answer yet, those of processes that died apart. */
  get unanswered(): number {
    return this.nodes.reduce((sum, node) => sum + node.unanswered, 0);
  }

  /** A request of a caller chosen by Zipf's law, at any process. */
  askRandomly(retriesOf?: (caller: number) => RetryBehaviour): void {
    const caller = this.#zipf.next();
    this.ask(caller, retriesOf?.(caller));
  }

  /** A request of one caller, at any process. */
  ask(caller: number, retries?: RetryBehaviour, attempt = 1): void {
    const node = this.nodes[this.#nodeOf(caller)];
    this.decisions++;
    const decision = node.limiter.check(this.#keyOf(caller));
    if (!isThenable(decision)) {
      this.#note(caller, decision, this.simulation.nowMs);
      if (retries !== undefined) this.#retry(caller, decision, retries, attempt);
      return;
    }
    node.unanswered++;
    decision.then(
      (answer) => {
        node.unanswered--;
        this.#note(
          caller,
          answer,
          isDecidedThere(answer) ? node.remote.decidedAtMs : this.simulation.nowMs,
        );
        if (retries !== undefined) this.#retry(caller, answer, retries, attempt);
      },
      () => {
        node.unanswered--;
        this.failures++;
      },
    );
  }

  /** A process dies, and another takes its place. What it had leased stays charged. */
  crash(index: number): void {
    this.nodes[index].crash();
    this.nodes[index] = this.#startNode();
  }

  /** A process is replaced gracefully: a new one takes its requests, and it returns what it holds. */
  replace(index: number): void {
    const before = this.nodes[index];
    this.nodes[index] = this.#startNode();
    void before.stop();
  }

  #startNode(): Node {
    const { skewMsMax } = this.options;
    const skewMs = skewMsMax === 0 ? 0 : this.#random.between(-skewMsMax, skewMsMax);
    const clock = new NodeClock(this.simulation, skewMs);
    const link = new Link(this.simulation, this.#networkRandom, this.network, this.traffic);
    const remote = new RemoteStore(link, this.server);
    return new Node(clock, remote, this.options);
  }

  #note(caller: number, decision: Decision, atMs: number): void {
    if (decision.source === "fallback") this.fallbackDecisions++;
    this.truth.note(caller, decision.allowed, { atMs, nowMs: this.simulation.nowMs });
  }

  #retry(caller: number, decision: Decision, retries: RetryBehaviour, attempt: number): void {
    if (decision.allowed) return;
    const delayMs = retries.delayMs(decision, attempt, this.#random);
    if (delayMs !== undefined)
      this.simulation.after(delayMs, () => this.ask(caller, retries, attempt + 1));
  }

  /** Where a request arrives: at one of the processes side by side that the caller can reach. */
  #nodeOf(caller: number): number {
    const { length } = this.nodes;
    if (this.options.reach >= length) return this.#random.below(length);
    const first = (caller * 7_919) % length;
    return (first + this.#random.below(this.options.reach)) % length;
  }

  #keyOf(caller: number): string {
    this.#keys[caller] ??= `user:${caller}`;
    return this.#keys[caller];
  }
}

function isThenable<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>>).then === "function";
}

/** Whether the shared store made the decision, at the instant that it noted. */
function isDecidedThere({ source }: Decision): boolean {
  return source === "store";
}
