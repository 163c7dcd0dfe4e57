// A home region and its standby for tests, in one process: each region has a memory store with a clock of its own, each
// process a way to each of them that loses calls, loses answers or delivers them late, and there may be an arbiter.

import type { MaybePromise } from "../src/base/maybe-promise.js";
import {
  type FenceReading,
  type FenceStore,
  type FenceSwap,
  isHomeAt,
  readRecord,
} from "../src/stores/fence-store.js";
import { ForwardingStore } from "../src/stores/forwarding-store.js";
import { memoryStore } from "../src/stores/memory/memory-store.js";
import type {
  ArbitersHome,
  ArbitersPromotion,
  HomeArbiter,
  HomeEpoch,
} from "../src/stores/regions/fenced/home-arbiter.js";
import {
  type HomeRegion,
  hasStandby,
  openHomeRegion,
} from "../src/stores/regions/fenced/home-region.js";
import { type RegionsOptions, toRegions } from "../src/stores/regions/regions.js";
import { resilient } from "../src/stores/resilient/resilient.js";
import type { Charge, DecideOptions, Outcome, Store } from "../src/stores/store.js";
import { ManualClock } from "../src/testing/manual-clock.js";
import { type Fate, RegionServer } from "./regions-rig.js";

export const HOME_START_MS: number = Date.UTC(2024, 5, 1, 12);

/** A region's store by its own clock, with the fence that goes by it. */
export class HomeServer {
  readonly skewMs: number;
  readonly #store = memoryStore({ keysMax: 10_000 });
  readonly #server: RegionServer;

  constructor(skewMs: number) {
    this.skewMs = skewMs;
    this.#server = new RegionServer(skewMs, this.#store);
  }

  get store(): Store {
    return this.#server;
  }

  read(nowMs: number): FenceReading {
    return this.#store.fence.read(nowMs + this.skewMs) as FenceReading;
  }

  swap(swap: FenceSwap): FenceReading & { isSwapped: boolean } {
    const answer = this.#store.fence.swap({ ...swap, nowMs: swap.nowMs + this.skewMs });
    return answer as FenceReading & { isSwapped: boolean };
  }

  get refusals(): number {
    return this.#store.fence.refusals;
  }

  /** Whether it would decide now, and under which epoch. */
  homeEpoch(nowMs: number): number | undefined {
    const record = readRecord(this.read(nowMs).text);
    return isHomeAt(record, record?.epoch ?? 0, nowMs + this.skewMs) ? record?.epoch : undefined;
  }

  /** Loses what it has, as Redis does without persistence. */
  forgetRecord(nowMs: number): void {
    this.#store.fence.swap({ expected: this.read(nowMs).text, next: "", nowMs });
  }
}

/** The way from one process to one region. */
export class HomeWay extends ForwardingStore {
  readonly #server: HomeServer;
  readonly #clock: ManualClock;
  readonly #late: (() => void)[] = [];
  fate: () => Fate = () => "arrives";

  constructor(server: HomeServer, clock: ManualClock) {
    super(server.store);
    this.#server = server;
    this.#clock = clock;
  }

  override get isRemote(): boolean {
    return true;
  }

  override get fence(): FenceStore {
    const server = this.#server;
    // By the time at which a call arrives, as a server with a clock of its own does.
    return {
      read: () => this.#send((nowMs) => server.read(nowMs)),
      swap: (swap) => this.#send((nowMs) => server.swap({ ...swap, nowMs })),
      get refusals() {
        return server.refusals;
      },
    };
  }

  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    return this.#send((nowMs) => {
      const now = charges.map((charge) => ({ ...charge, nowMs }));
      return this.inner.decide(now, options) as Outcome;
    });
  }

  /** Delivers what is late. */
  deliver(): void {
    for (const call of this.#late.splice(0)) {
      try {
        call();
      } catch {
        // Its caller no longer waits.
      }
    }
  }

  async #send<T>(act: (nowMs: number) => T): Promise<T> {
    const call = () => act(this.#clock.now());
    const fate = this.fate();
    if (fate === "late") this.#late.push(call);
    if (fate === "unanswered") call();
    if (fate !== "arrives") throw new Error(`the call is ${fate}`);
    return call();
  }
}

/** An arbiter in memory. */
export class TestArbiter implements HomeArbiter {
  #row: ArbitersHome | undefined;
  /** Whether it answers those of a process. */
  isReached: (process: number) => boolean = () => true;

  for(process: number): HomeArbiter {
    const ask = async <T>(call: () => Promise<T>) => {
      if (!this.isReached(process)) throw new Error("the arbiter can't be reached");
      return call();
    };
    return {
      read: (initial) => ask(() => this.read(initial)),
      renew: (home) => ask(() => this.renew(home)),
      promote: (promotion) => ask(() => this.promote(promotion)),
    };
  }

  async read(initial: HomeEpoch): Promise<ArbitersHome> {
    this.#row ??= { ...initial, renewals: 0 };
    return this.#row;
  }

  async renew({ epoch, home }: HomeEpoch): Promise<boolean> {
    const row = this.#row;
    if (row === undefined || row.epoch > epoch) return false;
    if (row.epoch === epoch && row.home !== home) return false;
    this.#row = { epoch, home, renewals: row.renewals + 1 };
    return true;
  }

  async promote({ epoch, renewals, to }: ArbitersPromotion): Promise<boolean> {
    const row = this.#row;
    if (row?.epoch !== epoch) return false;
    if (renewals !== undefined && row.renewals !== renewals) return false;
    this.#row = { epoch: epoch + 1, home: to, renewals: row.renewals };
    return true;
  }
}

/** What a rig is made of. */
export interface HomeRigOptions {
  /** One process in each of these regions. Default `["eu", "us"]`. */
  readonly processes?: readonly string[];
  /** How far the clocks of eu and us are ahead. */
  readonly skewsMs?: readonly [number, number];
  readonly arbiter?: TestArbiter;
  readonly regions?: Partial<RegionsOptions>;
  /** A region that no process reaches at first. */
  readonly cut?: "eu" | "us";
}

const PROCESSES = ["eu", "us"];

/** Two regions, eu at home, and processes. */
export class HomeRig {
  readonly clock: ManualClock = new ManualClock(HOME_START_MS);
  readonly servers: Readonly<Record<"eu" | "us", HomeServer>>;
  readonly ways: { readonly eu: HomeWay; readonly us: HomeWay }[] = [];
  readonly homes: HomeRegion[] = [];
  readonly #options: HomeRigOptions;

  constructor(options: HomeRigOptions = {}) {
    const { processes = PROCESSES, skewsMs = [0, 0] } = options;
    this.servers = { eu: new HomeServer(skewsMs[0]), us: new HomeServer(skewsMs[1]) };
    this.#options = options;
    for (const i of processes.keys()) {
      const { eu, us } = this.servers;
      this.ways.push({ eu: new HomeWay(eu, this.clock), us: new HomeWay(us, this.clock) });
      if (options.cut !== undefined) this.cut(options.cut, i);
      this.homes.push(this.#open(i));
    }
  }

  /** A process ends, and another one that knows nothing takes its place. */
  restart(process: number): void {
    this.homes[process].close();
    this.homes[process] = this.#open(process);
  }

  #open(process: number): HomeRegion {
    const { processes = PROCESSES, arbiter, regions } = this.#options;
    const { eu, us } = this.ways[process];
    const silent = { clock: this.clock, onEvent: () => {} };
    const read = toRegions({
      self: processes[process],
      home: "eu",
      standby: "us",
      stores: { eu: resilient(eu, silent), us: resilient(us, silent), ap: memoryStore() },
      permissionMs: 10_000,
      leaseMs: 1_000,
      ...(arbiter === undefined ? {} : { takeover: "automatic", arbiter: arbiter.for(process) }),
      ...regions,
    });
    if (!hasStandby(read)) throw new Error("the rig has a standby");
    return openHomeRegion(read, this.clock);
  }

  /** Lets time pass, in steps in which every process looks at home. */
  async pass(ms: number, stepMs = 1_000): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
      this.clock.advance(Math.min(stepMs, leftMs));
      await settled();
    }
  }

  /** The regions whose stores would decide now. */
  deciding(): readonly string[] {
    const nowMs = this.clock.now();
    return (["eu", "us"] as const).filter(
      (name) => this.servers[name].homeEpoch(nowMs) !== undefined,
    );
  }

  /** A process or all of them can't reach a region any more. */
  cut(region: "eu" | "us", process?: number): void {
    for (const [i, way] of this.ways.entries()) {
      if (process === undefined || process === i) way[region].fate = () => "lost";
    }
  }

  heal(): void {
    for (const way of this.ways.flatMap(({ eu, us }) => [eu, us])) {
      way.fate = () => "arrives";
      way.deliver();
    }
  }

  close(): void {
    for (const home of this.homes) home.close();
  }
}

/** Lets everything happen that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}
