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

/** A policy of one process in a region. The guards of its stores run on real time: a busy machine is no failure. */
function policyIn(self: Name, clock: ManualClock): Policy {
  const storeAt = ({ host, port }: { host: string; port: number }, timeoutMs: number) => {
    const client = new Redis({ host, port });
    client.on("error", () => {});
    ends.push(async () => client.disconnect());
    return resilient(redisStore(client, { clock }), { timeoutMs, onEvent: () => {} });
  };
  const own = storeAt(server(self), 10_000);
  const stores = { [self]: own, ...(self === "eu" ? {} : { eu: storeAt(way(self), 300) }) };
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

function toWorld() {
  const clock = new ManualClock(1_800_000_000_000);
  const policies = new Map(NAMES.map((name) => [name, policyIn(name, clock)]));
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
        clock.advance(250);
        // Answers of the servers to what timers asked for.
        await sleep(15);
      }
      return admitted;
    },
  };
}

it("follow demand over real servers, within the limit in every window", async () => {
  const world = toWorld();
  for (let i = 0; i < 25; i++)
    expect(await world.second({ eu: 20, us: 400, ap: 20 })).toBeLessThanOrEqual(LIMIT);
  expect(world.share("us")).toBeGreaterThan(0.6);
  for (const each of servers.values()) expect(await eternalKeys(each)).toEqual([]);
}, 60_000);

it.each([1, 2])(
  "stay within the limit, whatever becomes of the ways between regions: seed %d",
  async (seed) => {
    const random = new SeededRandom(`learned shares ${seed}`);
    const world = toWorld();
    for (let i = 0; i < 30; i++) {
      const each = way(NAMES[random.between(0, 2)]);
      const kind = random.between(0, 5);
      if (kind === 0) each.partition();
      if (kind === 1) each.dropReplies({ count: random.between(1, 5) });
      if (kind === 2) each.delay(random.between(0, 100));
      if (kind === 3) await each.heal();
      const asked = {
        eu: 4 * random.between(0, 60),
        us: 4 * random.between(0, 60),
        ap: 4 * random.between(0, 60),
      };
      expect(await world.second(asked), `second ${i}`).toBeLessThanOrEqual(LIMIT);
    }
  },
  60_000,
);
