// Random schedules of lost, late and unanswered calls, cuts, restarts and lost data: whatever happens, the shares that
// processes use never add up to more than the whole.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import { fixedWindow } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { MemoryRecords } from "../../memory/memory-records.js";
import { memoryStore } from "../../memory/memory-store.js";
import type { RecordChange, RecordStore } from "../../record-store.js";
import { LearnedShare } from "./learned-share.js";
import { PARTS } from "./share-parts.js";

const RUNS = Number(process.env.SLUICE_SHARES_RUNS ?? 30);
const NAMES = ["ap", "eu", "us"] as const;
const PROCESSES = 2;
const WINDOW_MS = 2_000;
const byWeight = new Map([
  ["ap", 34],
  ["eu", 33],
  ["us", 33],
]);
type Fate = "arrives" | "lost" | "unanswered" | "late";

/** Records behind a network that loses calls, or answers, or delivers a call when it was given up. */
class FaultyRecords implements RecordStore {
  readonly #server: { records: MemoryRecords; skewMs: number };
  readonly #clock: ManualClock;
  readonly #late: (() => void)[] = [];
  fate: () => Fate = () => "arrives";

  constructor(server: { records: MemoryRecords; skewMs: number }, clock: ManualClock) {
    this.#server = server;
    this.#clock = clock;
  }

  read(name: string) {
    return this.#send((nowMs) => this.#server.records.read(name, nowMs));
  }

  change(change: RecordChange) {
    return this.#send((nowMs) => this.#server.records.change({ ...change, nowMs }));
  }

  deliver(): void {
    for (const call of this.#late.splice(0)) call();
  }

  async #send<T>(call: (nowMs: number) => T): Promise<T> {
    const make = () => call(this.#clock.now() + this.#server.skewMs);
    const fate = this.fate();
    if (fate === "late") this.#late.push(make);
    if (fate === "unanswered") make();
    if (fate !== "arrives") throw new Error(`the call is ${fate}`);
    return make();
  }
}

/** Three regions with two processes each. */
class SharesRig {
  readonly clock = new ManualClock(1_800_000_000_000);
  readonly servers = NAMES.map((_, i) => ({
    records: new MemoryRecords(),
    skewMs: 20_000 * (i - 1),
  }));
  readonly #demands = NAMES.map(() => memoryStore());
  readonly #ways: FaultyRecords[] = [];
  readonly #processes: LearnedShare[][] = NAMES.map(() => []);
  #fates: readonly Fate[] = ["arrives"];
  #calls = 0;
  #cut = -1;
  readonly #used: { readonly atMs: number; readonly parts: readonly number[] }[] = [];

  constructor() {
    for (const region of NAMES.keys()) for (let i = 0; i < PROCESSES; i++) this.start(region, i);
  }

  start(region: number, index: number): void {
    const records = this.#way(region, region);
    const plans = this.#way(region, 1);
    const setup = {
      self: NAMES[region],
      byWeight,
      clock: this.clock,
      own: this.#demands[region],
      records,
      plans,
    };
    this.#processes[region][index]?.close();
    const share = new LearnedShare("rule", setup);
    share.include(fixedWindow({ limit: 1_000, windowMs: WINDOW_MS }));
    this.#processes[region][index] = share;
    void share.ready();
  }

  #way(from: number, to: number): FaultyRecords {
    const way = new FaultyRecords(this.servers[to], this.clock);
    way.fate = () => {
      if (from !== to && (this.#cut === from || this.#cut === to)) return "lost";
      return this.#fates[this.#calls++ % this.#fates.length];
    };
    this.#ways.push(way);
    return way;
  }

  /** Time passes, in which units are asked for in each region. */
  async pass(steps: number, demand: readonly number[]): Promise<void> {
    for (let i = 0; i < steps; i++) {
      for (const [region, units] of demand.entries())
        this.#processes[region][i % PROCESSES].note(units);
      this.clock.advance(250);
      await settle();
      this.check();
    }
  }

  fail(fates: readonly Fate[], cut: number): void {
    this.#fates = fates;
    this.#cut = cut;
  }

  deliver(): void {
    for (const way of this.#ways) way.deliver();
  }

  /** Stores restart empty, when every process has read its region's share a moment ago. */
  async lose(regions: readonly number[]): Promise<void> {
    const [fates, cut] = [this.#fates, this.#cut];
    this.fail(["arrives"], cut);
    await this.pass(6, [0, 0, 0]);
    for (const region of regions) this.servers[region].records = new MemoryRecords();
    this.fail(fates, cut);
  }

  /** The parts that any process of each region uses. */
  get parts(): readonly number[] {
    return this.#processes.map((all) => Math.max(...all.map(({ parts }) => parts)));
  }

  /** What was used within a window counts until its end. */
  check(): void {
    const nowMs = this.clock.now();
    this.#used.push({ atMs: nowMs, parts: this.parts });
    while (this.#used[0].atMs <= nowMs - WINDOW_MS) this.#used.shift();
    const most = NAMES.map((_, i) => Math.max(...this.#used.map(({ parts }) => parts[i])));
    expect(most.reduce((sum, parts) => sum + parts)).toBeLessThanOrEqual(PARTS);
  }

  close(): void {
    for (const share of this.#processes.flat()) share.close();
  }
}

/** All promises have settled. */
function settle(): MaybePromise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const fate = fc.constantFrom<Fate>("arrives", "arrives", "arrives", "lost", "unanswered", "late");
// Far apart, so that shares move.
const units = fc.constantFrom(0, 10, 300);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      steps: fc.integer({ min: 1, max: 90 }),
      demand: fc.tuple(units, units, units),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("fail" as const),
      fates: fc.array(fate, { minLength: 1, maxLength: 9 }),
      cut: fc.integer({ min: -1, max: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("deliver" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("lose" as const),
      regions: fc.subarray([0, 1, 2], { minLength: 1 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("restart" as const),
      region: fc.nat(2),
      index: fc.nat(PROCESSES - 1),
    }),
  },
);

it("shares in use never add up to more than the whole, whatever is lost, late, cut off or restarted", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: "medium" }), async (steps) => {
      const rig = new SharesRig();
      let hasLost = false;
      await settle();
      for (const each of steps) {
        if (each.kind === "pass") await rig.pass(each.steps, each.demand);
        if (each.kind === "fail") rig.fail(each.fates, each.cut);
        if (each.kind === "deliver") rig.deliver();
        // Where all processes of a region are new too, none of them knows that shares have moved.
        if (each.kind === "restart" && !hasLost) rig.start(each.region, each.index);
        if (each.kind === "lose") {
          hasLost = true;
          await rig.lose(each.regions);
        }
        await settle();
        rig.check();
      }
      rig.close();
    }),
    { numRuns: RUNS },
  );
});

it("a home region whose store lost its data takes nothing that others hold, and gets its share back", async () => {
  const rig = new SharesRig();
  await rig.pass(120, [100, 0, 800]);
  expect(rig.parts[1]).toBe(3);
  await rig.lose([1]);
  await rig.pass(4, [100, 800, 800]);
  expect(rig.parts[1]).toBe(3);
  await rig.pass(240, [100, 800, 800]);
  expect(rig.parts[1]).toBeGreaterThanOrEqual(40);
  rig.close();
});

it("regions whose stores lost their data share the whole again, without any demand", async () => {
  const rig = new SharesRig();
  await rig.pass(120, [100, 0, 800]);
  await rig.lose([0, 1, 2]);
  await rig.pass(240, [0, 0, 0]);
  expect(rig.parts).toEqual([34, 33, 33]);
  rig.close();
});

it("shares follow demand, and a region that is cut off keeps its own", async () => {
  const rig = new SharesRig();
  await rig.pass(120, [100, 100, 800]);
  const before = rig.parts;
  expect(before[2]).toBeGreaterThanOrEqual(70);
  rig.fail(["arrives"], 2);
  await rig.pass(240, [800, 100, 0]);
  expect(rig.parts[2]).toBe(before[2]);
  rig.fail(["arrives"], -1);
  // Forty seconds longer: by so much the clocks of the two regions differ.
  await rig.pass(280, [800, 100, 0]);
  expect(rig.parts[0]).toBeGreaterThanOrEqual(70);
  expect(rig.parts[2]).toBeLessThanOrEqual(5);
  rig.close();
});
