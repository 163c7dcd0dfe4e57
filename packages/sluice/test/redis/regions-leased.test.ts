// Leases between three regions with a Redis server each, and a fault proxy on every way to the home region.

import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import {
  type FaultProxy,
  type RedisProcess,
  startFaultProxy,
  startRedis,
} from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/base/clock.js";
import { createPolicy, type Facts, type Policy } from "../../src/rules/rules.js";
import { redisStore } from "../../src/stores/redis/redis.js";
import { resilient } from "../../src/stores/resilient/resilient.js";
import { SeededRandom } from "../../src/testing/conformance/random.js";
import { FAULT_ROUNDS, RegionFaults, randomSkewMs, regionSeeds } from "./region-faults.js";
import { eternalKeys, longWindowMs } from "./servers.js";

const NAMES = ["eu", "us", "ap"] as const;
type Name = (typeof NAMES)[number];
const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };

const servers = new Map<Name, RedisProcess>();
/** The way from a region to the home region. */
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
beforeEach(forgetAll);
afterEach(endAll);

async function forgetAll(): Promise<void> {
  for (const each of servers.values()) await each.command("FLUSHALL");
}

/** Heals all ways, and ends all processes, which could still return what they leased. */
async function endAll(): Promise<void> {
  for (const each of ways.values()) await each.heal();
  for (const end of ends.splice(0)) await end();
}

interface ProcessOptions {
  readonly rule?: object;
  readonly regions?: object;
  /** How wrong the clock of the process and of its region's store is. */
  readonly skewMs?: number;
  /** How wrong the clock of each region's store is meanwhile; default: that of the own region by `skewMs`. */
  readonly steps?: Readonly<Record<Name, number>>;
}

/** A policy of one process in a region. Its own store is near, that of the home region behind the proxy. */
function policyIn(self: Name, { rule, regions, skewMs = 0, steps }: ProcessOptions = {}): Policy {
  const clock: Clock = {
    now: () => systemClock.now() + skewMs,
    wall: () => Date.now() + skewMs + (steps?.[self] ?? 0),
  };
  const storeAt = (name: Name, { host, port }: { host: string; port: number }) => {
    const client = new Redis({ host, port });
    client.on("error", () => {});
    ends.push(async () => client.disconnect());
    const wrongMs = () => (steps === undefined ? skewMs : steps[name]);
    const isRight = steps === undefined && (skewMs === 0 || name !== self);
    return redisStore(client, isRight ? {} : { clock: { now: () => Date.now() + wrongMs() } });
  };
  // A busy machine must not make a region look as if its store had failed.
  const own = resilient(storeAt(self, server(self)), { clock, timeoutMs: 5_000 });
  const stores = { [self]: own, ...(self === "eu" ? {} : { eu: storeAt("eu", way(self)) }) };
  const policy = createPolicy({
    rules: {
      version: 1,
      rules: [{ id: "global", across: "leased", timeoutMs: 5_000, ...rule }],
    },
    regions: { self, home: "eu", stores, weights: { eu: 1, us: 1, ap: 1 }, ...regions },
    clock,
  });
  ends.unshift(() => policy.close());
  return policy;
}

const limit = (units: number) => ({ fixedWindow: { limit: units, windowMs: longWindowMs() } });

/** Sends requests in all processes together, and returns how many were admitted. */
async function burst(policies: readonly Policy[], count: number): Promise<number> {
  const all = policies.flatMap((policy) => Array.from({ length: count }, () => policy));
  const decisions = await Promise.all(all.map((policy) => policy.admit(facts)));
  return decisions.filter(({ allowed }) => allowed).length;
}

async function rounds(policies: readonly Policy[], times: number, count: number): Promise<number> {
  let sum = 0;
  for (let i = 0; i < times; i++) sum += await burst(policies, count);
  return sum;
}

/** Waits until no process holds a lease any more: what was not spent has returned. */
async function returned(policies: readonly Policy[]): Promise<void> {
  const held = () =>
    policies.reduce((sum, { stats }) => sum + (stats.regionLeased?.unitsHeld ?? 0), 0);
  await expect.poll(held, { timeout: 20_000 }).toBe(0);
}

const both = [["strict"], ["leased"]] as const;

describe("three regions that lease from one", () => {
  it.each([80, 200])(
    "admit the limit at a round trip of %d ms, and not a unit more",
    async (ms) => {
      for (const name of NAMES) way(name).delay(ms / 2);
      const options = { rule: { limit: limit(1_200) }, regions: { leaseMs: 1_000 } };
      const policies = NAMES.map((name) => policyIn(name, options));
      let sum = await rounds(policies, 6, 20);
      expect(sum).toBeLessThanOrEqual(360);
      expect(sum).toBeGreaterThanOrEqual(180);
      // Early refusals are bounded by what the others hold, and that returns: nothing of the limit is lost.
      const isSpent = async () => {
        sum += await burst(policies, 20);
        return sum;
      };
      await expect.poll(isSpent, { timeout: 30_000, interval: 50 }).toBeGreaterThanOrEqual(1_200);
      const leases = policies.map(({ stats }) => stats.regionLeased?.leases ?? 0);
      expect(Math.max(...leases)).toBeGreaterThan(0);
      await returned(policies);
      expect(sum + (await rounds(policies, 2, 5))).toBe(1_200);
    },
  );

  it("decide most requests of a busy key without the home region", async () => {
    way("us").delay(40);
    const us = policyIn("us", { rule: { limit: limit(1_000_000) } });
    expect(await rounds([us], 20, 50)).toBe(1_000);
    const { regionLeased } = us.stats;
    expect(regionLeased?.regionDecisions).toBeGreaterThan(700);
    expect(regionLeased?.leases).toBeLessThan(20);
  });

  it("share a lease between the processes of a region", async () => {
    const rule = { limit: limit(1_000_000) };
    const [first, second] = [policyIn("us", { rule }), policyIn("us", { rule })];
    await rounds([first], 5, 20);
    await way("us").partition();
    // The second process never asked the home region, which can't be reached now.
    expect(await burst([second], 5)).toBe(5);
    expect(second.stats.regionLeased?.regionDecisions).toBe(5);
  });

  it("leave no key without a TTL, and return what is unspent when they end", async () => {
    const rule = { limit: limit(10_000) };
    const us = policyIn("us", { rule });
    await rounds([us], 5, 20);
    for (const each of servers.values()) expect(await eternalKeys(each)).toEqual([]);
    await us.close();
    const { rules } = await policyIn("eu", { rule }).explain(facts);
    expect(rules[0].limits[0].remaining).toBe(10_000 - 100);
  });

  it("spend what they hold while they are cut off, then their reserve, and recover", async () => {
    const rule = { limit: limit(3_000), timeoutMs: 200 };
    const [us, eu] = [
      policyIn("us", { rule, regions: { reserve: 0.3 } }),
      policyIn("eu", { rule, regions: { reserve: 0.3 } }),
    ];
    let sum = await rounds([us], 5, 20);
    way("us").partition();
    const held = us.stats.regionLeased?.unitsHeld ?? 0;
    const whileCut = await burst([us], 1_000);
    // Its third of the reserve, and what was left of what it held.
    expect(whileCut).toBeGreaterThan(300);
    expect(whileCut).toBeLessThanOrEqual(300 + held);
    sum += whileCut + (await burst([eu], 3_000));
    expect(sum).toBeLessThanOrEqual(3_000);
    await way("us").heal();
    const isBack = async () => (await us.peek(facts)).source !== "fallback";
    await expect.poll(isBack, { timeout: 15_000 }).toBe(true);
  });

  it("go on with the home region alone when their own store fails", async () => {
    const proxy = await startFaultProxy({ port: server("us").port });
    ends.push(async () => proxy.close());
    const client = new Redis({ host: proxy.host, port: proxy.port });
    client.on("error", () => {});
    const homeClient = new Redis({ host: server("eu").host, port: server("eu").port });
    ends.push(async () => {
      client.disconnect();
      homeClient.disconnect();
    });
    const us = createPolicy({
      rules: {
        version: 1,
        rules: [{ id: "global", across: "leased", limit: limit(1_000) }],
      },
      regions: {
        self: "us",
        home: "eu",
        stores: { us: redisStore(client), eu: redisStore(homeClient) },
      },
    });
    ends.unshift(() => us.close());
    expect((await us.admit(facts)).allowed).toBe(true);
    proxy.partition();
    expect(await us.admit(facts)).toMatchObject({ allowed: true, source: "store" });
  });
});

describe("where the clocks of regions differ by a minute", () => {
  it.each(both)("admit no more with consistency %s", async (consistency) => {
    const rule = { consistency, limit: limit(90) };
    const policies = [
      policyIn("eu", { rule }),
      policyIn("us", { rule, skewMs: 60_000 }),
      policyIn("ap", { rule, skewMs: -60_000 }),
    ];
    const sum = await rounds(policies, 10, 10);
    expect(sum).toBeLessThanOrEqual(90);
    expect(sum).toBeGreaterThanOrEqual(40);
  });
});

describe("where the clocks of regions are set while leases are out", () => {
  it.each(both)("no more is admitted with consistency %s", async (consistency) => {
    for (const seed of regionSeeds(2)) {
      await endAll();
      await forgetAll();
      const random = new SeededRandom(`clocks set ${consistency} ${seed}`);
      const steps = { eu: 0, us: 0, ap: 0 };
      const rule = { consistency, limit: limit(90) };
      const policies = (["eu", "us", "us", "ap"] as const).map((name) =>
        policyIn(name, { rule, steps, regions: { leaseMs: 1_000 } }),
      );
      let sum = 0;
      for (let round = 0; round < 12; round++) {
        sum += await burst(policies, random.between(1, 5));
        if (random.chance(0.5)) steps[random.pick(NAMES)] = random.pick([-60_000, 0, 60_000]);
        await sleep(random.between(0, 100));
      }
      sum += await burst(policies, 60);
      await returned(policies);
      sum += await burst(policies, 60);
      expect(sum, `seed ${seed}`).toBeLessThanOrEqual(90);
      expect(sum, `seed ${seed}`).toBeGreaterThan(20);
    }
  });
});

describe("over random schedules of faults between regions", () => {
  it.each(both)("never admit more than the limit with consistency %s", async (consistency) => {
    for (const seed of regionSeeds(2)) {
      await endAll();
      await forgetAll();
      const random = new SeededRandom(`regions leased ${consistency} ${seed}`);
      const faults = new RegionFaults(random);
      const skews = { eu: 0, us: randomSkewMs(random), ap: randomSkewMs(random) };
      const rule = { consistency, timeoutMs: 100, limit: limit(90) };
      const regions = { leaseMs: 1_000, reserve: random.pick([0, 0.3]) };
      // Two processes in each region but home.
      const policies = (["eu", "us", "us", "ap", "ap"] as const).map((name) =>
        policyIn(name, { rule, regions, skewMs: skews[name] }),
      );
      let sum = 0;
      for (let round = 0; round < FAULT_ROUNDS; round++) {
        const name = random.pick(["us", "ap"] as const);
        const [, admitted] = await Promise.all([
          faults.breakWay(way(name)),
          burst(policies, random.between(1, 8)),
        ]);
        sum += admitted;
      }
      for (const name of NAMES) await way(name).heal();
      sum += await burst(policies, 60);
      await returned(policies);
      sum += await burst(policies, 60);
      expect(sum, `seed ${seed}`).toBeLessThanOrEqual(90);
      expect(sum, `seed ${seed}`).toBeGreaterThan(0);
    }
  });
});
