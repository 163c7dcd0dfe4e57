// Regions for tests, in one process: each has a memory store with a clock of its own, and between each two of them is a
// way that loses calls, loses answers, or delivers a call later.

import { ForwardingStore } from "../src/stores/forwarding-store.js";
import { type MemoryStore, memoryStore } from "../src/stores/memory/memory-store.js";
import { MergedStore } from "../src/stores/regions/merged/merged.js";
import type { Charge, Counter, CounterStatus } from "../src/stores/store.js";
import { ManualClock } from "../src/testing/manual-clock.js";

export const START_MS: number = Date.UTC(2024, 5, 1, 12);

/** What happens to a call: it arrives, it never does, its answer never does, or it arrives after it was given up. */
export type Fate = "arrives" | "lost" | "unanswered" | "late";

/** A region's store, by its own clock. */
export class RegionServer extends ForwardingStore {
  readonly #skewMs: number;
  #store: MemoryStore;

  constructor(skewMs = 0, store = memoryStore({ keysMax: 10_000 })) {
    super(store);
    this.#store = store;
    this.#skewMs = skewMs;
  }

  /** Forgets everything, as Redis does without persistence. */
  restart(): void {
    this.#store = memoryStore({ keysMax: 10_000 });
  }

  /** Units in use. */
  used(counter: Counter, key: string, nowMs: number): number {
    return this.debit([{ counter, key, cost: 0, nowMs }])[0].used;
  }

  override decideOne(counter: Counter, key: string, cost: number, nowMs: number) {
    return this.#store.decideOne(counter, key, cost, nowMs + this.#skewMs);
  }

  override decide(...[charges, options]: Parameters<MemoryStore["decide"]>) {
    return this.#store.decide(this.#at(charges), options);
  }

  override peek(charges: readonly Charge[]) {
    return this.#store.peek(this.#at(charges));
  }

  override debit(charges: readonly Charge[]): readonly CounterStatus[] {
    return this.#store.debit(this.#at(charges));
  }

  override refund(charges: readonly Charge[]): void {
    this.#store.refund(this.#at(charges));
  }

  override reset(charges: readonly Charge[]): void {
    this.#store.reset(this.#at(charges));
  }

  override settle(...[settlings]: Parameters<MemoryStore["settle"]>): void {
    const at = settlings.map((each) => ({ ...each, nowMs: each.nowMs + this.#skewMs }));
    this.#store.settle(at);
  }

  #at(charges: readonly Charge[]): readonly Charge[] {
    return charges.map((charge) => ({ ...charge, nowMs: charge.nowMs + this.#skewMs }));
  }
}

/** The way from a process to the store of another region. */
export class Way extends ForwardingStore {
  readonly #server: RegionServer;
  readonly #late: (() => void)[] = [];
  fate: () => Fate = () => "arrives";

  constructor(server: RegionServer) {
    super(server);
    this.#server = server;
  }

  override debit(charges: readonly Charge[]): readonly CounterStatus[] {
    return this.#send(() => this.#server.debit(charges));
  }

  override refund(charges: readonly Charge[]): void {
    this.#send(() => this.#server.refund(charges));
  }

  /** Delivers what is late. */
  deliver(): void {
    for (const call of this.#late.splice(0)) call();
  }

  #send<T>(call: () => T): T {
    const fate = this.fate();
    if (fate === "late") this.#late.push(call);
    if (fate === "unanswered") call();
    if (fate !== "arrives") throw new Error(`the call is ${fate}`);
    return call();
  }
}

/** Regions with a process each, and time that passes for all of them. */
export class RegionsRig {
  readonly clock = new ManualClock(START_MS);
  readonly servers: readonly RegionServer[];
  /** From each region to each other; that to itself is not used. */
  readonly ways: readonly (readonly Way[])[];
  readonly processes: readonly MergedStore[];

  constructor(options: { readonly skewsMs?: readonly number[]; readonly keysMax?: number } = {}) {
    const skewsMs = options.skewsMs ?? [0, 0, 0];
    this.servers = skewsMs.map((skewMs) => new RegionServer(skewMs));
    this.ways = this.servers.map(() => this.servers.map((server) => new Way(server)));
    this.processes = this.servers.map((own, i) => {
      const peers = new Map(
        this.ways[i].flatMap((way, j) => (i === j ? [] : [[`r${j}`, way] as const])),
      );
      const { keysMax = 1_000 } = options;
      return new MergedStore(own, { region: `r${i}`, peers, nodes: 1, keysMax, clock: this.clock });
    });
  }

  /** Asks for one unit some times in one region; returns how many were admitted. */
  ask(region: number, counter: Counter, key: string, times = 1): number {
    let admitted = 0;
    for (let i = 0; i < times; i++) {
      const verdict = this.processes[region].decideOne(counter, key, 1, this.clock.now());
      if ((verdict as { allowed: boolean }).allowed) admitted++;
    }
    return admitted;
  }

  /** Units in use in each region. */
  used(counter: Counter, key: string): readonly number[] {
    return this.servers.map((server) => server.used(counter, key, this.clock.now()));
  }

  /** Lets processes exchange their counts some times. */
  sync(times = 1): void {
    for (let i = 0; i < times; i++) this.clock.advance(100);
  }

  /** Nothing fails any more, and what was late arrives. */
  heal(): void {
    for (const way of this.ways.flat()) {
      way.fate = () => "arrives";
      way.deliver();
    }
  }
}
