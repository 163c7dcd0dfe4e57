// A home region and its standby, and a third region, with a Redis server each and a fault proxy on every way to another
// region: promotions in the middle of traffic, by an operator. SLUICE_REGION_SEEDS runs more random schedules. Tests mostly
// wait for leases and permissions to end, so they run beside each other, with ways and keys of their own.

import { Redis } from "ioredis";
import {
  type FaultProxy,
  type RedisProcess,
  startFaultProxy,
  startRedis,
} from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import {
  createPolicy,
  type Facts,
  type HomeControl,
  homeControl,
  type Policy,
} from "../../src/rules/rules.js";
import { redisStore } from "../../src/stores/redis/redis.js";
import { resilient } from "../../src/stores/resilient/resilient.js";
import type { Store } from "../../src/stores/store.js";
import { SeededRandom } from "../../src/testing/conformance/random.js";
import { FAULT_ROUNDS, RegionFaults, randomSkewMs } from "./region-faults.js";
import { eternalKeys, longWindowMs } from "./servers.js";

const NAMES = ["eu", "us", "ap"] as const;
type Name = (typeof NAMES)[number];
const SEEDS = Math.ceil(Number(process.env.SLUICE_REGION_SEEDS ?? 4) / 4);
const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };

const servers = new Map<Name, RedisProcess>();
const server = (name: Name) => servers.get(name) as RedisProcess;

beforeAll(async () => {
  for (const name of NAMES) servers.set(name, await startRedis());
});
afterAll(async () => {
  for (const each of servers.values()) await each.stop();
});

/** Has something ended when the test is over. */
type EndLater = (end: () => unknown) => void;

/** What ends with a test, the latest first. */
function endsOf({ onTestFinished }: Pick<TestContext, "onTestFinished">): EndLater {
  const ends: (() => unknown)[] = [];
  onTestFinished(async () => {
    for (const end of ends.reverse()) await end();
  });
  return (end) => void ends.push(end);
}

/** What lies between the regions of a test, and where their keys are. */
interface Network {
  /** Of the keys: no two networks share a counter, or a home. */
  readonly prefix: string;
  readonly ways: readonly FaultProxy[];
  way(from: Name, to: Name): FaultProxy;
  readonly endLater: EndLater;
}

let networks = 0;

async function startNetwork(endLater: EndLater): Promise<Network> {
  /** The way from a region to another: `us>eu`. */
  const ways = new Map<string, FaultProxy>();
  for (const from of NAMES) {
    for (const to of ["eu", "us"] as const) {
      if (from === to) continue;
      const proxy = await startFaultProxy({ port: server(to).port });
      endLater(() => proxy.close());
      ways.set(`${from}>${to}`, proxy);
    }
  }
  return {
    prefix: `network-${++networks}`,
    ways: [...ways.values()],
    way: (from, to) => ways.get(`${from}>${to}`) as FaultProxy,
    endLater,
  };
}

interface Region {
  readonly policy: Policy;
  readonly control: HomeControl;
}

interface RegionOptions {
  readonly rule?: object;
  readonly regions?: object;
  /** How far the clock of the store of eu is ahead of that of us. */
  readonly aheadMs?: number;
}

/** One process in a region. Stores of other regions are behind their proxies. */
function regionIn(
  { prefix, way, endLater }: Network,
  self: Name,
  { rule, regions, aheadMs = 0 }: RegionOptions = {},
): Region {
  const clockOf = (name: Name) => ({
    clock: { now: () => Date.now() + (name === "eu" ? aheadMs : 0) },
  });
  const storeOf = (name: Name): Store => {
    const { host, port } = name === self ? server(name) : way(self, name);
    const client = new Redis({ host, port });
    client.on("error", () => {});
    endLater(() => client.disconnect());
    const remote = redisStore(client, { prefix, ...(aheadMs === 0 ? {} : clockOf(name)) });
    // A busy machine must not make a region look as if its store had failed.
    return resilient(remote, { clock: systemClock, timeoutMs: 5_000, onEvent: () => {} });
  };
  const stores = Object.fromEntries(
    [...new Set([self, "eu", "us"] as const)].map((name) => [name, storeOf(name)]),
  );
  const options = {
    self,
    home: "eu",
    standby: "us",
    stores,
    weights: { eu: 1, us: 1, ap: 1 },
    leaseMs: 1_000,
    permissionMs: 2_000,
    ...regions,
  };
  const policy = createPolicy({
    rules: {
      version: 1,
      rules: [{ id: "global", across: "leased", timeoutMs: 5_000, ...rule }],
    },
    regions: options,
  });
  const control = homeControl(options);
  endLater(async () => {
    control.close();
    await policy.close();
  });
  return { policy, control };
}

const limit = (units: number) => ({ fixedWindow: { limit: units, windowMs: longWindowMs() } });

/** Sends requests in all regions together, and returns how many were admitted. */
async function burst(regions: readonly Region[], count: number): Promise<number> {
  const all = regions.flatMap((region) => Array.from({ length: count }, () => region.policy));
  const decisions = await Promise.all(all.map((policy) => policy.admit(facts)));
  return decisions.filter(({ allowed }) => allowed).length;
}

/** Promotes, again if a fault was in the way, until it was. */
async function promote({ control }: Region, to: Name): Promise<void> {
  await eventually(
    async () => (await control.promote(to)).isPromoted || control.stats?.home === to,
  );
}

async function opened({ control }: Region, home: Name): Promise<void> {
  await eventually(async () => {
    const stats = await control.show();
    return stats?.home === home && stats.isOpen;
  });
}

/** Waits for a state. */
async function eventually(isThere: () => Promise<boolean | undefined>): Promise<void> {
  await vi.waitFor(async () => expect(await isThere()).toBe(true), { timeout: 60_000 });
}

const both = [["central"], ["leased"]] as const;

describe.concurrent("three regions, of which one is home and one its standby", () => {
  it.for(both)(
    "admit the limit across %s, and leave no key without a TTL",
    async ([across], test) => {
      const network = await startNetwork(endsOf(test));
      const rule = { across, limit: limit(60) };
      const regions = NAMES.map((name) => regionIn(network, name, { rule }));
      await opened(regions[2], "eu");
      let sum = 0;
      for (let i = 0; i < 6; i++) sum += await burst(regions, 10);
      expect(sum).toBeLessThanOrEqual(60);
      expect(sum).toBeGreaterThanOrEqual(40);
      for (const each of servers.values()) expect(await eternalKeys(each)).toEqual([]);
      const { rules } = await regions[0].policy.explain(facts);
      expect(rules[0].region).toBe("eu");
    },
  );

  it.for([80, 200])("go on in the standby after a promotion, at %d ms", async (ms, test) => {
    const network = await startNetwork(endsOf(test));
    for (const each of network.ways) each.delay(ms / 2);
    const rule = { across: "central", limit: limit(40) };
    const regions = NAMES.map((name) => regionIn(network, name, { rule }));
    for (const region of regions) await opened(region, "eu");
    expect(await burst(regions, 20)).toBe(40);
    expect(await regions[2].control.promote("us")).toMatchObject({
      isPromoted: true,
      epoch: 2,
      isOldHomeFenced: true,
    });
    // Fenced, and the new home not open yet: refused, wherever a request is sent.
    expect(await burst(regions, 5)).toBe(0);
    for (const region of regions) await opened(region, "us");
    // A window that takes longer than promotionWaitMs: one limit more, and no more than that.
    expect(await burst(regions, 20)).toBe(40);
    const { rules } = await regions[0].policy.explain(facts);
    expect(rules[0].region).toBe("us");
    expect(regions[0].policy.stats.home).toMatchObject({ epoch: 2, home: "us", isOpen: true });
  });

  it("refuse a limit that recovers soon until nothing of the old home counts any more", async (test) => {
    const network = await startNetwork(endsOf(test));
    const bucket = { tokenBucket: { capacity: 10, refill: { amount: 10, everyMs: 4_000 } } };
    const rule = { across: "central", limit: bucket };
    const regions = NAMES.map((name) => regionIn(network, name, { rule }));
    await opened(regions[1], "eu");
    expect(await burst(regions, 10)).toBeGreaterThanOrEqual(10);
    await promote(regions[1], "us");
    for (const region of regions) await opened(region, "us");
    const refused = await regions[0].policy.admit(facts);
    expect(refused).toMatchObject({ allowed: false, remaining: 0 });
    expect(refused.retryAfterMs).toBeLessThanOrEqual(4_000);
    await eventually(async () => (await burst(regions, 1)) > 0);
  });

  it("keep blocks of keys after a promotion", async (test) => {
    const network = await startNetwork(endsOf(test));
    const rule = { across: "central", key: "ip", limit: limit(30) };
    const regions = NAMES.map((name) => regionIn(network, name, { rule }));
    await opened(regions[1], "eu");
    await regions[2].policy.block("global", "ip:203.0.113.10", 600_000);
    await promote(regions[1], "us");
    for (const region of regions) await opened(region, "us");
    expect(await regions[2].policy.admit(facts)).toMatchObject({ allowed: false });
    expect(await burst(regions, 1)).toBe(0);
  });
});

describe.concurrent("where the clock of the home region's store is a minute off", () => {
  it.for([60_000, -60_000])(
    "(%d ms) a promotion admits no more than one limit more",
    async (aheadMs, test) => {
      const network = await startNetwork(endsOf(test));
      const rule = { across: "leased", consistency: "leased", limit: limit(60) };
      const regions = NAMES.map((name) => regionIn(network, name, { rule, aheadMs }));
      await opened(regions[1], "eu");
      let sum = 0;
      for (let i = 0; i < 4; i++) sum += await burst(regions, 10);
      expect(sum).toBeLessThanOrEqual(60);
      await promote(regions[2], "us");
      for (const region of regions) await opened(region, "us");
      for (let i = 0; i < 6; i++) sum += await burst(regions, 20);
      expect(sum).toBeLessThanOrEqual(120);
      expect(sum).toBeGreaterThan(60);
    },
  );
});

describe.concurrent("over random schedules of faults between regions", () => {
  it.for(both)(
    "promotions in the middle admit one limit more each, across %s",
    async ([across], test) => {
      const endLater = endsOf(test);
      for (let seed = 1; seed <= SEEDS; seed++) {
        const network = await startNetwork(endLater);
        const random = new SeededRandom(`standby ${across} ${seed}`);
        const consistency = random.pick(["strict", "leased"]);
        const rule = { across, consistency, timeoutMs: 150, limit: limit(45) };
        const faults = new RegionFaults(random);
        const aheadMs = randomSkewMs(random);
        const regions = NAMES.map((name) => regionIn(network, name, { rule, aheadMs }));
        await opened(regions[1], "eu");
        let [sum, promotions] = [0, 0];
        for (let round = 0; round < FAULT_ROUNDS; round++) {
          await faults.breakWay(random.pick(network.ways));
          if (random.chance(0.3)) {
            const { control } = random.pick(regions);
            const { isPromoted } = await control.promote(random.pick(["eu", "us"]));
            if (isPromoted) promotions++;
          }
          sum += await burst(regions, random.between(1, 6));
          await new Promise((resolve) => setTimeout(resolve, random.between(0, 300)));
        }
        for (const each of network.ways) await each.heal();
        const last = regions[0];
        await eventually(async () => (await last.control.show())?.isOpen);
        sum += await burst(regions, 60);
        // What was promoted although the answer was lost counts too.
        const epoch = last.control.stats?.epoch ?? 1;
        expect(epoch - 1).toBeGreaterThanOrEqual(promotions);
        expect(sum, `seed ${seed}`).toBeLessThanOrEqual(45 * epoch);
        expect(sum, `seed ${seed}`).toBeGreaterThan(0);
      }
    },
  );
});

// Not beside the others: its requests time out soon.
describe("three regions, of which the home region was cut off", () => {
  it("don't decide in an old home that comes back and was never fenced", async (test) => {
    const network = await startNetwork(endsOf(test));
    const { way } = network;
    const rule = { across: "central", limit: limit(30), timeoutMs: 500 };
    const regions = NAMES.map((name) => regionIn(network, name, { rule }));
    await opened(regions[1], "eu");
    // Everybody loses eu but the process in it, which loses the others: it stops renewing, and its permission ends.
    for (const each of [way("us", "eu"), way("ap", "eu"), way("eu", "us")]) each.partition();
    await regions[0].policy.close();
    regions[0].control.close();
    const promotion = await regions[1].control.promote("us", { isOldHomeStopped: true });
    expect(promotion).toMatchObject({ isPromoted: true, isOldHomeFenced: false });
    await opened(regions[1], "us");
    const back = regionIn(network, "eu", { rule });
    // It reaches its own store, which is not home, and can't ask the standby.
    expect(await burst([back], 10)).toBe(0);
    for (const each of network.ways) await each.heal();
    await opened(back, "us");
    expect(await burst([back, ...regions.slice(1)], 30)).toBe(30);
    expect(back.policy.stats.home?.fenceRefusals).toBeGreaterThan(0);
  });
});
