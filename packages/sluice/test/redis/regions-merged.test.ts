// Three Redis servers, one a region, whose counts are merged, and a fault proxy on every way from one region to another.

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
import { fixedWindow } from "../../src/limits/limits.js";
import { createPolicy, type Facts, type Policy } from "../../src/rules/rules.js";
import { type RedisStore, redisStore } from "../../src/stores/redis/redis.js";
import type { Store } from "../../src/stores/store.js";
import { SeededRandom } from "../../src/testing/conformance/random.js";
import { HeardUnits, LateClock } from "./heard-units.js";
import { RegionFaults, randomSkewMs, regionSeeds } from "./region-faults.js";
import { eternalKeys, longWindowMs } from "./servers.js";

const NAMES = ["eu", "us", "ap"] as const;
type Name = (typeof NAMES)[number];
const LIMIT = 60;
const SYNC_MS = 20;
const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };

const servers = new Map<Name, RedisProcess>();
/** The way from a region to another: `eu>us`. */
const ways = new Map<string, FaultProxy>();
const readers = new Map<Name, RedisStore>();
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  await Promise.all(NAMES.map(async (name) => servers.set(name, await startRedis())));
  for (const to of NAMES) {
    const { port } = server(to);
    for (const from of NAMES) {
      if (from !== to) ways.set(`${from}>${to}`, await startFaultProxy({ port }));
    }
    const client = new Redis({ port, lazyConnect: true });
    readers.set(to, redisStore(client));
  }
});
afterAll(async () => {
  for (const reader of readers.values()) await reader.close();
  for (const way of ways.values()) way.close();
  await Promise.all([...servers.values()].map((each) => each.stop()));
});
beforeEach(async () => {
  for (const each of servers.values()) await each.command("FLUSHALL");
});
afterEach(async () => {
  await healAll();
  for (const end of ends.splice(0)) await end();
});

function server(name: Name): RedisProcess {
  return servers.get(name) as RedisProcess;
}

async function healAll(): Promise<void> {
  for (const way of ways.values()) await way.heal();
}

/** All ways from and to a region. */
function waysOf(name: Name): FaultProxy[] {
  return [...ways].filter(([way]) => way.split(">").includes(name)).map(([, proxy]) => proxy);
}

const limit = () => ({ fixedWindow: { limit: LIMIT, windowMs: longWindowMs() } });

const LEASE_MS = 100;

/** A policy of one process in a region. `skewsMs` says how wrong the clocks of the regions' stores are. */
function policyIn(
  self: Name,
  rule: object = {},
  clock: Clock = systemClock,
  skewsMs?: ReadonlyMap<Name, number>,
): Policy {
  const stores: Record<string, Store> = {};
  for (const name of NAMES) {
    const { host, port } =
      name === self ? server(name) : (ways.get(`${self}>${name}`) as FaultProxy);
    const client = new Redis({ host, port });
    client.on("error", () => {});
    const skewMs = skewsMs?.get(name) ?? 0;
    const skewed = { clock: { now: () => Date.now() + skewMs } };
    stores[name] = redisStore(client, skewMs === 0 ? {} : skewed);
    ends.push(async () => client.disconnect());
  }
  const written = { id: "global", across: "merged", timeoutMs: 5_000, limit: limit(), ...rule };
  const policy = createPolicy({
    rules: { version: 1, rules: [written] },
    regions: { self, home: "eu", stores },
    merged: { nodes: 1, syncMs: SYNC_MS },
    leased: { leaseMs: LEASE_MS },
    clock,
  });
  ends.unshift(() => policy.close());
  return policy;
}

/** Sends requests in all regions together, and returns how many were admitted. */
async function burst(policies: readonly Policy[], count: number): Promise<number> {
  const asked = policies.flatMap((policy) =>
    Array.from({ length: count }, () => policy.admit(facts)),
  );
  const decisions = await Promise.all(asked);
  return decisions.filter(({ allowed }) => allowed).length;
}

/** What each region has counted. */
async function counted(): Promise<number[]> {
  const counter = { scope: "global", part: 0, limit: fixedWindow(limit().fixedWindow) };
  const charge = { counter, key: "ip:203.0.113.10", cost: 0, nowMs: 0 };
  const statuses = await Promise.all(NAMES.map((name) => readers.get(name)?.debit([charge])));
  return statuses.map((status) => status?.[0].used ?? 0);
}

/** Waits until every region has counted everything once. */
async function settled(total: number): Promise<void> {
  await expect.poll(counted, { timeout: 20_000, interval: 20 }).toEqual([total, total, total]);
}

/** Waits until all regions have counted the same; leases that ended unspent count as spent. */
async function agreed(totalMin: number): Promise<void> {
  const isAgreed = async () => {
    const [first, ...others] = await counted();
    return first >= totalMin && others.every((units) => units === first);
  };
  await expect.poll(isAgreed, { timeout: 20_000, interval: 20 }).toBe(true);
}

describe("three regions with a Redis server each that merge their counts", () => {
  it.each([
    [80, "strict"],
    [200, "strict"],
    [200, "leased"],
  ])(
    "admit the limit, and what others admit unheard of, at a round trip of %d ms, %s",
    async (ms, consistency) => {
      for (const way of ways.values()) way.delay(ms / 2);
      const policies = NAMES.map((name) => policyIn(name, { consistency }));
      let total = await burst(policies, 10);
      expect(total).toBeGreaterThan(0);
      await expect
        .poll(async () => Math.min(...(await counted())), { timeout: 20_000 })
        .toBeGreaterThanOrEqual(total);
      // Each region knows of these, so none admits more than what they leave.
      const most = total + 3 * (LIMIT - total);
      total += await burst(policies, 40);
      expect(total).toBeLessThanOrEqual(most);
      if (consistency === "strict") await settled(total);
      else await agreed(total);
    },
  );

  it("write no key without an expiry", async () => {
    const policies = NAMES.map((name) => policyIn(name));
    const total = await burst(policies, 5);
    await settled(total);
    for (const each of servers.values()) expect(await eternalKeys(each)).toEqual([]);
  });

  it("that are cut off count alone, and merge on return", async () => {
    const policies = NAMES.map((name) => policyIn(name));
    let total = await burst(policies, 5);
    await settled(total);
    for (const way of waysOf("ap")) way.partition();
    const alone = await burst(policies.slice(2), 10);
    expect(alone).toBe(10);
    total += alone;
    await healAll();
    await settled(total);
    // Until all is spent; the last units may be spent in each region.
    while (total < LIMIT) {
      total += await burst(policies, 1);
      await settled(total);
    }
    expect(total).toBeLessThanOrEqual(LIMIT + 2);
    expect(await burst(policies, 5)).toBe(0);
  });

  it("merge by windows, where the clocks of processes differ by a minute", async () => {
    const skewed = (byMs: number): Clock => ({
      now: () => systemClock.now() + byMs,
      wall: () => Date.now() + byMs,
    });
    const policies = NAMES.map((name, i) => policyIn(name, {}, skewed((i - 1) * 60_000)));
    const total = await burst(policies, 10);
    await settled(total);
    expect(total).toBeGreaterThan(0);
  });

  it("learn again what they forgot", async () => {
    const policies = NAMES.map((name) => policyIn(name));
    expect(await burst(policies, 5)).toBe(15);
    await settled(15);
    await server("us").command("FLUSHALL");
    expect(await burst(policies.slice(0, 1), 1)).toBe(1);
    expect(await burst(policies.slice(2), 1)).toBe(1);
    // The five of its own are gone there.
    await expect.poll(counted, { timeout: 20_000 }).toEqual([17, 12, 17]);
  });
});

describe("over random schedules of faults between regions", () => {
  /** A process in each region, and what each of their admissions is checked against. */
  function toChecked(consistency: string, skewsMs: readonly number[]): HeardUnits {
    const skews = new Map(NAMES.map((name, i) => [name, skewsMs[i]]));
    const processes = NAMES.map((region) => {
      const clock = new LateClock(skews.get(region));
      return { region, clock, policy: policyIn(region, { consistency }, clock, skews) };
    });
    const leaseMs = consistency === "leased" ? LEASE_MS : 0;
    return new HeardUnits(processes, { limit: LIMIT, syncMs: SYNC_MS, leaseMs });
  }

  const ask = async (policy: Policy) => (await policy.admit(facts)).allowed;

  /** Faults of random ways in the middle of requests, then none. */
  async function play(checked: HeardUnits, random: SeededRandom): Promise<void> {
    // Lags are known once every region has answered.
    await checked.burst(ask, 1);
    await agreed(checked.total);
    const faults = new RegionFaults(random);
    for (let round = 0; round < 8; round++) {
      const broken = [...ways.values()].filter(() => random.chance(0.4));
      const broke = broken.map((way) => faults.breakWay(way));
      await Promise.all([checked.burst(ask, random.between(1, 8)), ...broke]);
      await sleep(random.between(0, 60));
    }
    await healAll();
  }

  it("a region that is cut off admits up to the limit alone, as its lag says", async () => {
    const checked = toChecked("strict", [0, 0, 0]);
    await checked.burst(ask, 1);
    await agreed(checked.total);
    for (const way of waysOf("ap")) {
      way.refuse();
      way.cut();
    }
    // Requests that wait for a busy machine longer than their deadline are not admitted, so rounds are not counted.
    for (let round = 0; round < 100 && checked.total <= 1.5 * LIMIT; round++) {
      await checked.burst(ask, 10);
      await sleep(50);
    }
    // Of this, neither side could hear.
    expect(checked.total).toBeGreaterThan(1.5 * LIMIT);
    await healAll();
    await settled(checked.total);
    expect(await burst(checked.policies, 3)).toBe(0);
  });

  it.each(regionSeeds(3))(
    "admit the limit, and what they can't have heard of; in the end every unit counts once: seed %d",
    async (seed) => {
      const random = new SeededRandom(`merged ${seed}`);
      const skewsMs = NAMES.map(() => randomSkewMs(random));
      const checked = toChecked("strict", skewsMs);
      await play(checked, random);
      await settled(checked.total);
      // All have heard of everything, so this exceeds the limit by nothing.
      await checked.burst(ask, 3);
      await settled(checked.total);
      if (checked.total >= LIMIT) expect(await burst(checked.policies, 1)).toBe(0);
    },
  );

  it.each(regionSeeds(2))(
    "admit no more out of leases either, by clocks that differ by a minute: seed %d",
    async (seed) => {
      const checked = toChecked("leased", [60_000, 0, -60_000]);
      await play(checked, new SeededRandom(`merged leased ${seed}`));
      await agreed(checked.total);
    },
  );
});
