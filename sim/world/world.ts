// A fleet, the stores that it shares, the callers, and an omniscient counter beside them. A scenario says what they are
// like and what goes wrong. Without regions there is one store for all; with regions each has a store, and its processes
// reach that of the home region, the first one, over a longer distance.

import type { Decision } from "sluice";
import { isThenable } from "sluice/internals";
import { NodeClock } from "../kernel/node-clock.js";
import type { Random } from "../kernel/random.js";
import { type Simulation, START_MS } from "../kernel/simulation.js";
import { Zipf } from "../kernel/zipf.js";
import { Link, type LinkCounts, type LinkState } from "./link.js";
import { Node, toLimiter } from "./node.js";
import { type RegionalOptions, toRegionalPolicy } from "./regional-policy.js";
import { RemoteStore } from "./remote-store.js";
import { StoreServer } from "./store-server.js";
import { Truth } from "./truth.js";
import { LAG_STEP_MS, UnheardUnits } from "./unheard-units.js";

/** What a caller does after a refusal. */
export interface RetryBehaviour {
  /** When it asks again, in milliseconds from the refusal; undefined: never. */
  delayMs(decision: Decision, attempt: number, random: Random): number | undefined;
}

/** What a world is made of. */
export interface WorldOptions extends RegionalOptions {
  readonly callers: number;
  /** The exponent of Zipf's law, by which some callers ask more often than others. */
  readonly exponent: number;
  /** At how many processes the load balancer lets one caller arrive, at most. */
  readonly reach: number;
  readonly network: LinkState;
  /** Between a region and the home region. */
  readonly distance: LinkState;
  /** The share of its requests that a caller sends from other regions than its own. */
  readonly roaming: number;
  /** On how many machines the shared store is, each with its part of the keys. */
  readonly shards: number;
  /** How long a machine of the store takes for one charge. */
  readonly chargeMs: number;
  /** The clocks of processes are wrong by up to this much. */
  readonly skewMsMax: number;
}

/** Separates the names of two regions in the name of the link between them. */
const BETWEEN = "–";

/** Everything that a scenario acts on. */
export class World {
  readonly simulation: Simulation;
  readonly options: WorldOptions;
  /** The store of each region; without regions, the only one. */
  readonly servers: readonly StoreServer[];
  readonly truth: Truth;
  readonly network: LinkState;
  /** How each region reaches the home region. That of the home region itself is not used. */
  readonly distances: readonly LinkState[];
  /** What went over each link: within a region by its name, between two by both: `eu–us`. Without regions it is `store`. */
  readonly links = new Map<string, LinkCounts>();
  readonly nodes: Node[] = [];
  decisions = 0;
  fallbackDecisions = 0;
  /** Checks that failed with an error; there should be none. */
  failures = 0;
  readonly #random: Random;
  readonly #networkRandom: Random;
  readonly #zipf: Zipf;
  readonly #keys: string[] = [];
  /** Processes so far, those that have ended included. */
  #started = 0;

  constructor(simulation: Simulation, options: WorldOptions) {
    this.simulation = simulation;
    this.options = options;
    this.network = { ...options.network };
    this.#random = simulation.randomOf("callers");
    this.#networkRandom = simulation.randomOf("network");
    this.#zipf = new Zipf(this.#random, options.callers, options.exponent);
    // Nothing is evicted: a process whose counts are merged has a register of each caller in each other region.
    const perCaller = options.across === "merged" ? 4 * (options.nodes + 1) : 4;
    const keysMax = Math.max(1_000, Math.min(perCaller * options.callers, 4_000_000));
    const { chargeMs, shards } = options;
    this.distances = options.regions.map(() => ({ ...options.distance }));
    this.servers = Array.from(
      { length: Math.max(1, options.regions.length) },
      (_, i) =>
        new StoreServer(simulation, { skewMs: skewOf(i, options), chargeMs, shards, keysMax }),
    );
    const unheard = options.across === "merged" ? toUnheard(options) : undefined;
    this.truth = new Truth(
      [...options.limits, ...options.homeLimits],
      options.callers,
      START_MS,
      unheard,
    );
    for (let i = 0; i < options.nodes; i++) this.nodes.push(this.#startNode(i));
    if (unheard !== undefined) this.#watchLags(unheard);
  }

  /** The shared store, or that of the home region. */
  get server(): StoreServer {
    return this.servers[0];
  }

  /** Calls that all stores answered. */
  get storeCalls(): number {
    return this.servers.reduce((sum, { calls }) => sum + calls, 0);
  }

  /** What went within regions, and between them. */
  get traffic(): { readonly bytes: number; readonly distantBytes: number } {
    let [bytes, distantBytes] = [0, 0];
    for (const [name, counts] of this.links) {
      if (name.includes(BETWEEN)) distantBytes += counts.bytes;
      else bytes += counts.bytes;
    }
    return { bytes, distantBytes };
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

  /** A request of one caller, at any process that it can reach. */
  ask(caller: number, retries?: RetryBehaviour, attempt = 1): void {
    this.#askAt(this.nodes[this.#nodeOf(caller)], caller, retries, attempt);
  }

  /** A request of one caller in the region of that index, whichever is its own. */
  askIn(region: number, caller: number): void {
    this.#askAt(this.nodes[this.#nodeIn(region)], caller, undefined, 1);
  }

  #watchLags(unheard: UnheardUnits): void {
    const { regions } = this.options;
    for (const node of this.nodes) {
      for (const [region, lagMs] of node.lagsMs)
        unheard.note(node.id, regions.indexOf(region), lagMs, this.simulation.nowMs);
    }
    this.simulation.after(LAG_STEP_MS, () => this.#watchLags(unheard));
  }

  #askAt(node: Node, caller: number, retries: RetryBehaviour | undefined, attempt: number): void {
    this.decisions++;
    const decision = node.check(this.keyOf(caller));
    if (!isThenable(decision)) {
      this.#note(node, caller, decision, this.simulation.nowMs);
      if (retries !== undefined) this.#retry(caller, decision, retries, attempt);
      return;
    }
    node.unanswered++;
    decision.then(
      (answer) => {
        node.unanswered--;
        this.#note(
          node,
          caller,
          answer,
          isDecidedThere(answer) ? node.decidedAtMs : this.simulation.nowMs,
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
    this.#end(this.nodes[index]);
    this.nodes[index].crash();
    this.nodes[index] = this.#startNode(index);
  }

  /** A process is replaced gracefully: a new one takes its requests, and it returns what it holds. */
  replace(index: number): void {
    const before = this.nodes[index];
    this.#end(before);
    this.nodes[index] = this.#startNode(index);
    void before.stop();
  }

  #end({ id }: Node): void {
    this.truth.unheard?.end(id, this.simulation.nowMs);
  }

  #startNode(index: number): Node {
    const { skewMsMax, regions } = this.options;
    const skewMs = skewMsMax === 0 ? 0 : this.#random.between(-skewMsMax, skewMsMax);
    const clock = new NodeClock(this.simulation, skewMs);
    const region = index % this.servers.length;
    const id = this.#started++;
    this.truth.unheard?.start(id, region);
    const own = this.#reach(this.servers[region], this.network, regions[region] ?? "store");
    if (regions.length === 0) {
      const decider = toLimiter(clock, own, this.options);
      return new Node({ id, clock, remotes: [own], decider });
    }
    const all = this.#reachAll(region, own);
    const remotes = [...all.values()];
    const decider = toRegionalPolicy(clock, { self: regions[region], own, all }, this.options);
    return new Node({ id, clock, remotes, decider });
  }

  /** The stores that a process of a region reaches: its own, those of the home region and its standby, and all if counts are merged. */
  #reachAll(region: number, own: RemoteStore): ReadonlyMap<string, RemoteStore> {
    const { regions, across, standby } = this.options;
    const reached = new Map([[regions[region], own]]);
    for (const [other, name] of regions.entries()) {
      const isReached = other === 0 || name === standby || across === "merged";
      if (other === region || !isReached) continue;
      // Between two regions that are not home, the way of the later one counts.
      const way = this.distances[Math.max(region, other)];
      const pair = [regions[Math.min(region, other)], regions[Math.max(region, other)]];
      reached.set(name, this.#reach(this.servers[other], way, pair.join(BETWEEN)));
    }
    return reached;
  }

  #reach(server: StoreServer, network: LinkState, link: string): RemoteStore {
    const traffic = this.links.get(link) ?? { bytes: 0 };
    this.links.set(link, traffic);
    return new RemoteStore(
      new Link(this.simulation, this.#networkRandom, network, traffic),
      server,
    );
  }

  #note({ id }: Node, caller: number, decision: Decision, atMs: number): void {
    if (decision.source === "fallback") this.fallbackDecisions++;
    this.truth.note(caller, decision.allowed, { atMs, nowMs: this.simulation.nowMs }, id);
  }

  #retry(caller: number, decision: Decision, retries: RetryBehaviour, attempt: number): void {
    if (decision.allowed) return;
    const delayMs = retries.delayMs(decision, attempt, this.#random);
    if (delayMs !== undefined)
      this.simulation.after(delayMs, () => this.ask(caller, retries, attempt + 1));
  }

  /** Where a request arrives: in the caller's region or another, or at one of the processes side by side that it reaches. */
  #nodeOf(caller: number): number {
    const { length } = this.nodes;
    const regions = this.options.regions.length;
    if (regions > 0) {
      const roams = this.#random.fraction() < this.options.roaming;
      return this.#nodeIn(roams ? this.#random.below(regions) : caller % regions);
    }
    if (this.options.reach >= length) return this.#random.below(length);
    const first = (caller * 7_919) % length;
    return (first + this.#random.below(this.options.reach)) % length;
  }

  /** Any process of a region; process `i` is in region `i` modulo their number. */
  #nodeIn(region: number): number {
    const regions = this.servers.length;
    return region + regions * this.#random.below(Math.floor(this.nodes.length / regions));
  }

  /** What a caller is counted by. */
  keyOf(caller: number): string {
    this.#keys[caller] ??= `user:${caller}`;
    return this.#keys[caller];
  }
}

/**
 * How wrong the clock of a region's store is, in scenarios with wrong clocks. The clock of the home region is never wrong,
 * and where regions count in windows of their own, none is.
 */
function skewOf(region: number, { across, skewMsMax, regions }: WorldOptions): number {
  if (across !== "leased" || region === 0) return 0;
  return Math.round(skewMsMax * ((2 * region) / Math.max(1, regions.length - 1) - 1.5));
}

/** How long the store of the own region takes for an answer. */
const ANSWER_MS_MAX = 10;

/** How much regions that merge their counts may not have heard of. */
function toUnheard({ regions, syncMs, consistency, leaseMs, limits }: WorldOptions): UnheardUnits {
  const [limit] = limits;
  // What is leased is announced when it is leased, and may be spent later. A process knows of a decision when its own
  // region's store has answered.
  const extraMs = syncMs + ANSWER_MS_MAX + (consistency === "leased" ? leaseMs : 0);
  const windowMs = limits.length === 1 && "windowMs" in limit ? limit.windowMs : undefined;
  return new UnheardUnits({ regions: regions.length, extraMs, windowMs });
}

/** Whether the shared store made the decision, at the instant that it noted. */
function isDecidedThere({ source }: Decision): boolean {
  return source === "store";
}
