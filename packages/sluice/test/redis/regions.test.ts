// Three Redis servers, one a region, and a fault proxy on every way from one region to another.

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
import type { Store } from "../../src/stores/store.js";
import { SeededRandom } from "../../src/testing/conformance/random.js";
import { FAULT_ROUNDS, RegionFaults, randomSkewMs, regionSeeds } from "./region-faults.js";
import { longWindowMs } from "./servers.js";

const NAMES = ["eu", "us", "ap"] as const;
type Name = (typeof NAMES)[number];
const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };

const servers = new Map<Name, RedisProcess>();
/** The way from a region to the home region. */
const ways = new Map<Name, FaultProxy>();
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  for (const name of NAMES) servers.set(name, await startRedis());
  const home = server("eu");
  for (const name of NAMES) ways.set(name, await startFaultProxy({ port: home.port }));
});
afterAll(async () => {
  for (const way of ways.values()) way.close();
  for (const each of servers.values()) await each.stop();
});
beforeEach(forgetAll);
afterEach(endAll);

async function forgetAll(): Promise<void> {
  for (const each of servers.values()) await each.command("FLUSHALL");
}

/** Heals all ways, and ends all processes, which could still return what they leased. */
async function endAll(): Promise<void> {
  for (const way of ways.values()) await way.heal();
  for (const end of ends.splice(0)) await end();
}

function server(name: Name): RedisProcess {
  return servers.get(name) as RedisProcess;
}

function way(name: Name): FaultProxy {
  return ways.get(name) as FaultProxy;
}

/** How wrong the clocks of a region's processes and its store are. */
type Skews = Readonly<Record<Name, number>>;
const NO_SKEWS: Skews = { eu: 0, us: 0, ap: 0 };

/** Timers run as they do; only what the clock says is wrong. */
function skewedClock(skewMs: number): Clock {
  return { now: () => systemClock.now() + skewMs, wall: () => Date.now() + skewMs };
}

/** A policy of one process in a region. Its own store is near, that of the home region behind the proxy. */
function policyIn(self: Name, rule: object, skews: Skews = NO_SKEWS): Policy {
  const addressOf = (name: Name) => (name === "eu" && self !== "eu" ? way(self) : server(name));
  const stores: Record<string, Store> = {};
  for (const name of NAMES) {
    const client = new Redis({ host: addressOf(name).host, port: addressOf(name).port });
    client.on("error", () => {});
    const storeClock = { now: () => Date.now() + skews[name] };
    stores[name] = redisStore(client, skews[name] === 0 ? {} : { clock: storeClock });
    ends.push(async () => client.disconnect());
  }
  const policy = createPolicy({
    rules: { version: 1, rules: [{ id: "global", ...rule }] },
    regions: { self, home: "eu", stores },
    clock: skewedClock(skews[self]),
  });
  ends.unshift(() => policy.close());
  return policy;
}

const limit = (units: number) => ({ fixedWindow: { limit: units, windowMs: longWindowMs() } });

/** Sends requests in all regions together, and returns how many each admitted. */
async function burst(policies: readonly Policy[], count: number): Promise<number[]> {
  const sums = policies.map(() => 0);
  await Promise.all(
    policies.flatMap((policy, i) =>
      Array.from({ length: count }, async () => {
        if ((await policy.admit(facts)).allowed) sums[i]++;
      }),
    ),
  );
  return sums;
}

const total = (sums: readonly number[]) => sums.reduce((sum, n) => sum + n, 0);

describe("three regions with a Redis server each", () => {
  it("across each admit the limit in each region, also when the home region is cut off", async () => {
    const policies = NAMES.map((name) => policyIn(name, { timeoutMs: 5_000, limit: limit(20) }));
    expect(await burst(policies, 10)).toEqual([10, 10, 10]);
    way("us").partition();
    expect(await burst(policies, 40)).toEqual([10, 10, 10]);
  });

  it("across split admit the limit together, also when the home region is cut off", async () => {
    const policies = NAMES.map((name) =>
      policyIn(name, { across: "split", timeoutMs: 5_000, limit: limit(20) }),
    );
    way("us").partition();
    expect(await burst(policies, 40)).toEqual([7, 6, 7]);
  });

  it.each([80, 200])(
    "across central admit the limit together at a round trip of %d ms",
    async (ms) => {
      const policies = NAMES.map((name) =>
        policyIn(name, { across: "central", timeoutMs: 5_000, limit: limit(30) }),
      );
      for (const name of NAMES) way(name).delay(ms / 2);
      const sums = await burst(policies, 30);
      expect(total(sums)).toBe(30);
    },
  );

  it("across central a region that is cut off refuses, and comes back by itself", async () => {
    const rule = { across: "central", limit: limit(500) };
    const us = policyIn("us", { ...rule, timeoutMs: 200 });
    // A busy machine must not make it look cut off.
    const ap = policyIn("ap", { ...rule, timeoutMs: 5_000 });
    // Once at least, whatever else the machine does.
    await expect.poll(async () => (await us.admit(facts)).allowed, { timeout: 15_000 }).toBe(true);
    way("us").partition();
    expect(await us.admit(facts)).toMatchObject({ allowed: false });
    expect((await ap.admit(facts)).allowed).toBe(true);
    await way("us").heal();
    await expect.poll(async () => (await us.admit(facts)).allowed, { timeout: 15_000 }).toBe(true);
  });
});

/** What all regions together may admit of a limit of 60. */
const MOST = [
  ["each", "strict", 180],
  ["each", "leased", 180],
  ["central", "strict", 60],
  ["central", "leased", 60],
  ["split", "strict", 60],
  ["split", "leased", 60],
] as const;

describe("where the clocks of regions differ by a minute", () => {
  it.each(MOST)(
    "across %s with consistency %s admits no more",
    async (across, consistency, most) => {
      const rule = { across, consistency, timeoutMs: 5_000, limit: limit(60) };
      for (const skews of [
        { eu: 0, us: 60_000, ap: -60_000 },
        { eu: 60_000, us: -60_000, ap: 0 },
      ]) {
        await endAll();
        await forgetAll();
        const policies = NAMES.map((name) => policyIn(name, rule, skews));
        let sum = 0;
        for (let round = 0; round < 8; round++) sum += total(await burst(policies, 10));
        expect(sum).toBeLessThanOrEqual(most);
        expect(sum).toBeGreaterThanOrEqual(consistency === "strict" ? most : (2 * most) / 3);
      }
    },
  );
});

describe("over random schedules of faults between regions", () => {
  it.each(MOST)(
    "across %s with consistency %s never admits more than it promises: %d units",
    async (across, consistency, most) => {
      for (const seed of regionSeeds(3)) {
        await endAll();
        await forgetAll();
        const random = new SeededRandom(`${across} ${consistency} ${seed}`);
        const faults = new RegionFaults(random);
        const skews = { eu: 0, us: randomSkewMs(random), ap: randomSkewMs(random) };
        // Only `central` asks over a way that fails.
        const timeoutMs = across === "central" ? 100 : 5_000;
        const rule = { across, consistency, timeoutMs, onStoreFailure: "closed" };
        const policies = NAMES.map((name) => policyIn(name, { ...rule, limit: limit(60) }, skews));
        const sums = [0, 0, 0];
        const add = (admitted: readonly number[]) => {
          for (const [i, units] of admitted.entries()) sums[i] += units;
        };
        for (let round = 0; round < FAULT_ROUNDS; round++) {
          const name = NAMES[random.between(1, 2)];
          const [, admitted] = await Promise.all([
            faults.breakWay(way(name)),
            burst(policies, random.between(1, 10)),
          ]);
          add(admitted);
        }
        for (const name of NAMES) await way(name).heal();
        add(await burst(policies, 60));
        const sum = total(sums);
        expect(sum, `seed ${seed}`).toBeLessThanOrEqual(most);
        if (across !== "central")
          expect(Math.max(...sums), `seed ${seed}: its own part`).toBeLessThanOrEqual(most / 3);
        // No fault concerns a region that asks its own store: all of its limit was admitted.
        const isCertain = across !== "central" && consistency === "strict";
        expect(sum, `seed ${seed}`).toBeGreaterThanOrEqual(isCertain ? most : 1);
      }
    },
  );
});
