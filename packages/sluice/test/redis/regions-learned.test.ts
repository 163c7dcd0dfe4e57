// Learned shares of three regions with a Redis server each, a fault proxy on every way to the home region, and time that
// only the test moves.

import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import {
  type FaultProxy,
  type RedisProcess,
  startFaultProxy,
  startRedis,
} from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createPolicy, type Facts, type Policy } from "../../src/rules/rules.js";
import { redisStore } from "../../src/stores/redis/redis.js";
import { resilient } from "../../src/stores/resilient/resilient.js";
import { SeededRandom } from "../../src/testing/conformance/random.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { RegionFaults, randomSkewMs, regionSeeds } from "./region-faults.js";
import { eternalKeys } from "./servers.js";

const NAMES = ["eu", "us", "ap"] as const;
type Name = (typeof NAMES)[number];
const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };
const LIMIT = 300;

const servers = new Map<Name, RedisProcess>();
const ways = new Map<Name, FaultProxy>();
const ends: (() => Promise<unknown>)[] = [];
const server = (name: Name) => servers.get(name) as RedisProcess;
const way = (name: Name) => ways.get(name) as FaultProxy;

beforeAll(async () => {
  for (const name of NAMES) servers.set(name, await startRedis());
  for (const name of NAMES) ways.set(name, await startFaultProxy({ port: server("eu").port }));
});
afterAll(async () => {
  for (const each of ways.values()) each.close();
  for (const each of servers.values()) await each.stop();
});
beforeEach(async () => {
  for (const each of servers.values()) await each.command("FLUSHALL");
});
afterEach(async () => {
  for (const each of ways.values()) await each.heal();
  for (const end of ends.splice(0)) await end();
});

type Clocks = ReadonlyMap<Name, ManualClock>;

/** A policy of one process in a region. The guards of its stores run on real time: a busy machine is no failure. */
function policyIn(self: Name, clocks: Clocks): Policy {
  const clock = clocks.get(self) as ManualClock;
  const storeAt = (name: Name, { host, port }: FaultProxy | RedisProcess, timeoutMs: number) => {
    const client = new Redis({ host, port });
    client.on("error", () => {});
    ends.push(async () => client.disconnect());
    return resilient(redisStore(client, { clock: clocks.get(name) as ManualClock }), {
      timeoutMs,
      onEvent: () => {},
    });
  };
  const own = storeAt(self, server(self), 10_000);
  const stores = { [self]: own, ...(self === "eu" ? {} : { eu: storeAt("eu", way(self), 300) }) };
  const rule = { id: "all", key: "global", across: "split", onStoreFailure: "closed" };
  const limit = { fixedWindow: { limit: LIMIT, windowMs: 1_000 } };
  const policy = createPolicy({
    rules: { version: 1, rules: [{ ...rule, limit }] },
    regions: {
      self,
      home: "eu",
      stores,
      weights: { eu: 1, us: 1, ap: 1 },
      shares: "learned",
    },
    clock,
  });
  ends.unshift(() => policy.close());
  return policy;
}

/** @param skewMs - How far the clock of us is ahead of that of eu, and that of ap behind it. */
function toWorld(skewMs = 0) {
  const startMs = 1_800_000_000_000;
  const clocks: Clocks = new Map([
    ["eu", new ManualClock(startMs)],
    ["us", new ManualClock(startMs + skewMs)],
    ["ap", new ManualClock(startMs - skewMs)],
  ]);
  const policies = new Map(NAMES.map((name) => [name, policyIn(name, clocks)]));
  return {
    share: (name: Name) => policies.get(name)?.stats.shares?.get("all") ?? 0,
    /** One second of requests, in four bursts. Returns how many were admitted. */
    second: async (asked: Readonly<Record<Name, number>>) => {
      let admitted = 0;
      for (let quarter = 0; quarter < 4; quarter++) {
        const all = NAMES.flatMap((name) =>
          Array.from({ length: asked[name] / 4 }, () => policies.get(name) as Policy),
        );
        const decisions = await Promise.all(all.map((policy) => policy.admit(facts)));
        admitted += decisions.filter(({ allowed }) => allowed).length;
        for (const clock of clocks.values()) clock.advance(250);
        // Answers of the servers to what timers asked for.
        await sleep(15);
      }
      return admitted;
    },
  };
}

it.each([0, 60_000])(
  "follow demand over real servers, within the limit in every window, by clocks that differ by %d ms",
  async (skewMs) => {
    const world = toWorld(skewMs);
    for (let i = 0; i < 25; i++)
      expect(await world.second({ eu: 20, us: 400, ap: 20 })).toBeLessThanOrEqual(LIMIT);
    expect(world.share("us")).toBeGreaterThan(0.6);
    for (const each of servers.values()) expect(await eternalKeys(each)).toEqual([]);
  },
);

it("of a region that is cut off stay as they were, and no other takes any of them", async () => {
  const world = toWorld();
  for (let i = 0; i < 25; i++) await world.second({ eu: 20, us: 400, ap: 20 });
  const share = world.share("us");
  expect(share).toBeGreaterThan(0.6);
  // Calls fail immediately: world time passes faster than any timeout.
  way("us").refuse();
  way("us").cut();
  for (let i = 0; i < 15; i++) {
    expect(await world.second({ eu: 400, us: 20, ap: 400 })).toBeLessThanOrEqual(LIMIT);
    expect(world.share("us")).toBe(share);
    expect(world.share("eu") + world.share("ap")).toBeLessThanOrEqual(1 - share + 1e-9);
  }
  // All of it can be used, and no more than that.
  expect(await world.second({ eu: 0, us: 400, ap: 0 })).toBe(Math.round(LIMIT * share));
});

it.each(regionSeeds(2))(
  "stay within the limit, whatever becomes of the ways between regions, also if clocks differ by a minute: seed %d",
  async (seed) => {
    const random = new SeededRandom(`learned shares ${seed}`);
    // By whole windows, so that a second is the same window everywhere.
    const world = toWorld(randomSkewMs(random));
    const faults = new RegionFaults(random);
    for (let i = 0; i < 30; i++) {
      if (random.chance(0.7)) await faults.breakWay(way(random.pick(["us", "ap"])));
      const asked = {
        eu: 4 * random.between(0, 60),
        us: 4 * random.between(0, 60),
        ap: 4 * random.between(0, 60),
      };
      expect(await world.second(asked), `second ${i}`).toBeLessThanOrEqual(LIMIT);
    }
  },
);
