import { describe, expect, it } from "vitest";
import { createPolicy, type Facts, type Policy } from "../../../rules/rules.js";
import { SeededRandom } from "../../../testing/conformance/random.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { ForwardingStore } from "../../forwarding-store.js";
import { memoryStore } from "../../memory/memory-store.js";
import type { Charge, DecideOptions, Outcome, Store } from "../../store.js";

const START_MS = 1_800_000_000_000;
const NAMES = ["eu", "us", "ap"] as const;
type Name = (typeof NAMES)[number];
const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };
const KEY = "ip:203.0.113.10";

/** A store behind a network that can be cut. */
class DistantStore extends ForwardingStore {
  isCut = false;
  decisions = 0;
  /** Called when a decision was made, before its answer arrives. */
  onDecided: () => void = () => {};

  override get isRemote(): boolean {
    return true;
  }

  override async decide(charges: readonly Charge[], options?: DecideOptions): Promise<Outcome> {
    this.decisions++;
    if (this.isCut) throw new Error("cut");
    const outcome = await this.inner.decide(charges, options);
    this.onDecided();
    return outcome;
  }

  override decideOne = undefined as never;
}

/** Regions with a store each; home is reached over a network of its own from each. */
function toWorld(rule: object, options: object = {}) {
  const clock = new ManualClock(START_MS);
  const stores: Readonly<Record<string, Store>> = Object.fromEntries(
    NAMES.map((name) => [name, memoryStore({ keysMax: 100 })]),
  );
  const ways = new Map<Name, DistantStore>();
  const policies = new Map<Name, Policy>();
  const startIn = (self: Name): Policy => {
    const own = new DistantStore(stores[self]);
    const home = self === "eu" ? own : new DistantStore(stores.eu);
    ways.set(self, home);
    const policy = createPolicy({
      rules: { version: 1, rules: [{ id: "all", key: "ip", across: "leased", ...rule }] },
      regions: {
        self,
        home: "eu",
        stores: { [self]: own, eu: home },
        weights: { eu: 1, us: 1, ap: 1 },
        ...options,
      },
      clock,
      onEvent: () => {},
    });
    policies.set(self, policy);
    return policy;
  };
  for (const name of NAMES) startIn(name);
  const policy = (name: Name) => policies.get(name) as Policy;
  return {
    clock,
    stores,
    startIn,
    policy,
    home: (name: Name) => ways.get(name) as DistantStore,
    isAdmitted: async (name: Name) => (await policy(name).admit(facts)).allowed,
    admitted: async (name: Name, count: number) => {
      let sum = 0;
      for (let i = 0; i < count; i++) if ((await policy(name).admit(facts)).allowed) sum++;
      return sum;
    },
    remaining: async (name: Name) =>
      (await policy(name).explain(facts)).rules[0].limits[0].remaining,
  };
}

const minute = (limit: number) => ({ fixedWindow: { limit, windowMs: 60_000 } });

describe("a rule with across: leased", () => {
  it("admits exactly the limit over all regions", async () => {
    const world = toWorld({ limit: minute(60) });
    let sum = 0;
    for (let i = 0; i < 60; i++) for (const name of NAMES) sum += await world.admitted(name, 1);
    // What regions hold and don't spend is returned, and then home says no.
    world.clock.advance(6_000);
    for (let i = 0; i < 60; i++) for (const name of NAMES) sum += await world.admitted(name, 1);
    expect(sum).toBe(60);
  });

  it("refuses early by at most what other regions hold", async () => {
    const world = toWorld({ limit: minute(600) });
    const held = (name: Name) => world.policy(name).stats.regionLeased?.unitsHeld ?? 0;
    let [sum, refused] = [0, 0];
    for (let i = 0; i < 60; i++) {
      for (const name of NAMES) {
        for (let n = 0; n < 8; n++) {
          if (await world.isAdmitted(name)) sum++;
          else {
            refused++;
            const others = NAMES.filter((other) => other !== name);
            const elsewhere = others.reduce((units, other) => units + held(other), 0);
            expect(sum + elsewhere, `round ${i}, ${name}`).toBeGreaterThanOrEqual(600);
          }
          // A lease on its way arrives.
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      world.clock.advance(20);
    }
    expect(refused).toBeGreaterThan(0);
    expect(sum).toBeLessThanOrEqual(600);
  });

  it("returns a lease that has expired before it arrives", async () => {
    const world = toWorld({ limit: minute(100), timeoutMs: 5_000 }, { leaseMs: 1_000 });
    world.home("us").onDecided = () => world.clock.advance(1_100);
    expect(await world.admitted("us", 8)).toBe(8);
    const { regionLeased } = world.policy("us").stats;
    expect(regionLeased?.leases).toBeGreaterThan(0);
    expect(regionLeased).toMatchObject({ regionDecisions: 0, unitsHeld: 0 });
    expect(await world.remaining("eu")).toBe(100 - 8);
  });

  it("asks the home region for few of the requests of a busy key", async () => {
    const world = toWorld({ limit: minute(100_000) });
    for (let i = 0; i < 25; i++) {
      expect(await world.admitted("us", 20)).toBe(20);
      world.clock.advance(20);
    }
    expect(world.home("us").decisions).toBeLessThan(15);
    const { regionLeased } = world.policy("us").stats;
    expect(regionLeased?.regionDecisions).toBeGreaterThan(485);
    expect(regionLeased?.unitsHeld).toBeGreaterThan(0);
  });

  it("leases on to processes with consistency: leased, and admits no more than the limit", async () => {
    const world = toWorld({ limit: minute(1_000), consistency: "leased" });
    let sum = 0;
    for (let i = 0; i < 25; i++) {
      for (const name of NAMES) sum += await world.admitted(name, 20);
      world.clock.advance(20);
    }
    expect(world.policy("us").stats.regionProcessLeased?.leasedDecisions).toBeGreaterThan(100);
    world.clock.advance(7_000);
    await Promise.resolve();
    for (const name of NAMES) sum += await world.admitted(name, 500);
    expect(sum).toBeLessThanOrEqual(1_000);
    expect(sum).toBeGreaterThan(900);
  });

  it("spends what it holds while it is cut off, then refuses, and recovers", async () => {
    const world = toWorld({ limit: minute(6_000) });
    for (let i = 0; i < 20; i++) {
      await world.admitted("us", 20);
      world.clock.advance(50);
    }
    world.home("us").isCut = true;
    const whileCut = await world.admitted("us", 3_000);
    expect(whileCut).toBeGreaterThan(20);
    expect(whileCut).toBeLessThan(3_000);
    expect(await world.isAdmitted("eu")).toBe(true);
    world.home("us").isCut = false;
    world.clock.advance(10_000);
    expect(await world.isAdmitted("us")).toBe(true);
  });

  it("falls back on its reserve while it is cut off, and never exceeds the limit with it", async () => {
    const world = toWorld({ limit: minute(300) }, { reserve: 0.2 });
    world.home("us").isCut = true;
    world.home("ap").isCut = true;
    // A fifth of the limit, in three parts.
    expect(await world.admitted("us", 100)).toBe(20);
    expect(await world.admitted("ap", 100)).toBe(20);
    expect(await world.admitted("eu", 400)).toBe(260);
  });

  it("returns what it holds when the process ends", async () => {
    const world = toWorld({ limit: minute(1_000) });
    await world.admitted("us", 100);
    expect(await world.remaining("eu")).toBeLessThan(900);
    await world.policy("us").close();
    expect(await world.remaining("eu")).toBe(900);
  });

  it("returns what lies idle after half of its life, and the rest when it has expired", async () => {
    const world = toWorld({ limit: minute(1_000) });
    await world.admitted("us", 100);
    expect(await world.remaining("eu")).toBeLessThan(900);
    world.clock.advance(3_200);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await world.remaining("eu")).toBe(900);
  });

  it("returns what lies idle of any number of keys, as soon as of one", async () => {
    const world = toWorld({ limit: minute(6_000) });
    const us = world.policy("us");
    for (let i = 0; i < 900; i++) await us.admit({ ...facts, ip: `203.0.113.${i % 90}` });
    expect(us.stats.regionLeased?.leases).toBeGreaterThanOrEqual(90);
    world.clock.advance(3_200);
    for (let turns = 0; turns < 4; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(us.stats.regionLeased).toMatchObject({ unitsHeld: 0 });
  });

  it("loses what a process that died had leased, and no more", async () => {
    const world = toWorld({ limit: minute(1_000) });
    await world.admitted("us", 100);
    const held = 900 - (await world.remaining("eu"));
    expect(held).toBeGreaterThan(0);
    // Another process of the region spends what is left in the region's store.
    const us = world.startIn("us");
    let sum = 0;
    for (let i = 0; i < held; i++) if ((await us.admit(facts)).allowed) sum++;
    expect(sum).toBe(held);
  });

  it("shows what the home region has left, and what the region holds", async () => {
    const world = toWorld({ limit: minute(1_000) });
    await world.admitted("us", 100);
    expect(await world.remaining("us")).toBe(900);
  });

  it("refuses a blocked key in its region immediately, and elsewhere when what is held has expired", async () => {
    const world = toWorld({ limit: minute(1_000) });
    await world.admitted("us", 50);
    await world.admitted("ap", 50);
    await world.policy("us").block("all", KEY, 60_000);
    expect(await world.policy("us").admit(facts)).toMatchObject({ allowed: false });
    world.clock.advance(5_001);
    expect(await world.isAdmitted("ap")).toBe(false);
    await world.policy("us").unblock("all", KEY);
    expect(await world.isAdmitted("us")).toBe(true);
  });

  it("starts over after a reset, without what the region held", async () => {
    const world = toWorld({ limit: minute(100) });
    await world.admitted("us", 60);
    await world.policy("us").reset("all", KEY);
    expect(await world.remaining("us")).toBe(100);
  });

  it("gives units back that another rule refuses", async () => {
    const world = toWorld({ limit: minute(1_000) });
    await world.admitted("us", 50);
    world.policy("us").replace({
      version: 1,
      rules: [
        { id: "all", key: "ip", across: "leased", limit: minute(1_000) },
        { id: "none", key: "ip", across: "central", limit: minute(1), cost: 1 },
      ],
    });
    expect(await world.admitted("us", 20)).toBe(1);
    expect(await world.remaining("us")).toBe(949);
  });

  it("leaves the deposits of other numbers alone when the limit changes, and keeps what was used", async () => {
    const world = toWorld({ limit: minute(1_000) });
    await world.admitted("us", 100);
    for (const name of NAMES) {
      world.policy(name).replace({
        version: 1,
        rules: [{ id: "all", key: "ip", across: "leased", limit: minute(500) }],
      });
    }
    expect(await world.admitted("us", 1_000)).toBeLessThanOrEqual(400);
  });

  it("combines what the region and home have for a cost that neither covers alone", async () => {
    const world = toWorld({ limit: minute(100) });
    await world.admitted("us", 20);
    const left = await world.remaining("us");
    expect(left).toBe(80);
    expect((await world.policy("us").admit(facts, { cost: 80 })).allowed).toBe(true);
    expect(await world.remaining("us")).toBe(0);
  });
});

describe("over random schedules", () => {
  it("a window never admits more than the limit, whatever is cut, dies or waits", async () => {
    for (let seed = 1; seed <= 5; seed++) {
      const random = new SeededRandom(`region leased ${seed}`);
      const consistency = random.pick(["strict", "leased"]);
      const reserve = random.pick([0, 0.3]);
      const world = toWorld({ limit: minute(200), consistency }, { reserve });
      let sum = 0;
      while (world.clock.now() < START_MS + 30_000) {
        const name = random.pick(NAMES);
        const act = random.between(0, 9);
        if (act === 0 && name !== "eu") world.home(name).isCut = true;
        else if (act === 1) world.home(name).isCut = false;
        else if (act === 2) world.startIn(name);
        else if (act === 3) world.clock.advance(random.between(1, 4_000));
        else sum += await world.admitted(name, random.between(1, 12));
        world.clock.advance(random.between(0, 300));
      }
      expect(sum, `seed ${seed}`).toBeLessThanOrEqual(200);
      expect(sum, `seed ${seed}`).toBeGreaterThan(40);
    }
  });
});

describe("what can't be leased between regions", () => {
  const parse = (rule: object) => () => toWorld(rule);
  it.each([
    ["permits", { limit: { concurrency: { limit: 5, permitMs: 1_000 } } }],
    ["places in a queue", { limit: { leakyBucket: { ratePerSecond: 5, queueSize: 5 } } }],
    [
      "windows that requests start",
      { limit: { fixedWindow: { limit: 5, windowMs: 1_000, align: "first" } } },
    ],
    ["counts in a process", { limit: minute(5), consistency: "local" }],
    ["counts that lag behind", { limit: minute(5), consistency: "eventual" }],
  ])("%s are an error when the rule is loaded", (_, rule) => {
    expect(parse(rule)).toThrow(/leased/);
  });
});
