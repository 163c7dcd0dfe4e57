import { Cluster as IoredisCluster } from "ioredis";
import { createCluster } from "redis";
import { type Cluster, type RedisProcess, startCluster } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Charge,
  fixedWindow,
  type Limit,
  slidingWindowLog,
  tokenBucket,
} from "../../src/index.js";
import { type RedisStore, redisStore } from "../../src/stores/redis/redis.js";
import { hostileKeys, illFormedKeys } from "../../src/testing/conformance/hostile-keys.js";
import { storeConformance } from "../../src/testing/testing.js";
import { toTest } from "../conformance-test.js";
import { eternalKeys, longWindowMs, slowRefill } from "./servers.js";

const windowMs = longWindowMs();
const skip = {
  "a requestId makes a request count once: with another key it is an error":
    "an id is recorded beside its counter, where another key of a Cluster can't see it",
};

let cluster: Cluster;
let ioredis: IoredisCluster;
/** One that sends nothing twice by itself, and that stores therefore share. */
let carefulIoredis: IoredisCluster;
let nodeRedis: ReturnType<typeof createCluster>;
beforeAll(async () => {
  cluster = await startCluster();
  const { host, port } = cluster.nodes[0] as RedisProcess;
  ioredis = new IoredisCluster([{ host, port }]);
  carefulIoredis = new IoredisCluster([{ host, port }], {
    retryDelayOnFailover: 0,
    redisOptions: { maxRetriesPerRequest: 0 },
  });
  nodeRedis = createCluster({ rootNodes: [{ url: `redis://${host}:${port}` }] });
  await nodeRedis.connect();
});
afterAll(async () => {
  ioredis.disconnect();
  carefulIoredis.disconnect();
  nodeRedis.destroy();
  await cluster.stop();
});

const clients = {
  "an ioredis Cluster": { client: () => ioredis, shared: () => carefulIoredis },
  "a node-redis cluster": { client: () => nodeRedis, shared: () => nodeRedis },
};

describe.each(Object.entries(clients))("over %s", (title, { client, shared }) => {
  let count = 0;
  const newStore = () =>
    redisStore(client(), { prefix: `${title.replaceAll(" ", "-")}-${count++}` });

  describe("a store keeps the contract", () => {
    const cases = storeConformance({
      createStore: (clock) =>
        redisStore(shared(), { clock, prefix: `${title.replaceAll(" ", "-")}-case-${count++}` }),
      skip,
      traces: 20,
    });
    for (const each of cases) it(each.name, toTest(each));
  });

  it("hostile keys never meet two slots in one call, and each has its own count", async () => {
    const store = newStore();
    const keys = [...hostileKeys, ...illFormedKeys];
    const verdicts = await Promise.all(
      keys.map(async (key) => {
        const outcome = await store.decide(chargesOf(key), { requestId: "request-1", hold: true });
        await store.settle(outcome.receipts.map((receipt) => ({ receipt, kept: 1, nowMs: 0 })));
        await store.block("other", key, { untilMs: 60_000, nowMs: 0 });
        return store.peek(chargesOf(key, 0));
      }),
    );
    for (const each of verdicts) expect(each.map(({ remaining }) => remaining)).toEqual([4, 4, 4]);
    for (const node of await cluster.primaries()) expect(await eternalKeys(node)).toEqual([]);
    await store.close();
  });

  it("many requests of one turn on many identities are all decided", async () => {
    const store = newStore();
    const asked = Array.from({ length: 500 }, (_, i) => store.decide(chargesOf(`user:${i % 100}`)));
    const outcomes = await Promise.all(asked);
    expect(outcomes.filter(({ allowed }) => allowed)).toHaveLength(500);
    await store.close();
  });

  it("the limits of one identity are charged all or nothing, in one call", async () => {
    const store = newStore();
    const asked = Array.from({ length: 50 }, () => store.decide(chargesOf("user:1", 2)));
    const outcomes = await Promise.all(asked);
    expect(outcomes.filter(({ allowed }) => allowed)).toHaveLength(2);
    expect(await remainingOf(store, chargesOf("user:1", 0))).toEqual([1, 1, 1]);
    await store.close();
  });

  describe("across identities", () => {
    const across = ["user:1", "ip:203.0.113.10", "tenant:a", "path:/login"];
    const chargesAcross = (cost: number): Charge[] =>
      across.flatMap((key) => chargesOf(key, cost).slice(0, across.indexOf(key) === 3 ? 1 : 3));

    it("a request that all admit is charged to all", async () => {
      const store = newStore();
      expect((await store.decide(chargesAcross(2))).allowed).toBe(true);
      expect(new Set(await remainingOf(store, chargesAcross(0)))).toEqual(new Set([3]));
      await store.close();
    });

    it("a refusal by one leaves the others as they were, with a requestId too", async () => {
      const store = newStore();
      await store.decide(chargesOf("path:/login", 5));
      const before = await remainingOf(store, chargesAcross(0));
      for (const options of [{}, { requestId: "request-1" }, { hold: true }]) {
        const outcome = await store.decide(chargesAcross(1), options);
        expect(outcome.allowed).toBe(false);
        expect(outcome.receipts).toEqual([]);
        expect(outcome.verdicts.map(({ remaining }) => remaining)).toEqual(before);
        expect(await remainingOf(store, chargesAcross(0))).toEqual(before);
      }
      await store.reset(chargesOf("path:/login"));
      // What was refused was not remembered: sent again, it is decided again.
      const again = await store.decide(chargesAcross(1), { requestId: "request-1" });
      expect(again.allowed).toBe(true);
      await store.close();
    });

    it("many concurrent requests never admit more than fits, and what is left is what was not admitted", async () => {
      const store = newStore();
      const asked = Array.from({ length: 40 }, () => store.decide(chargesAcross(1)));
      const admitted = (await Promise.all(asked)).filter(({ allowed }) => allowed).length;
      expect(admitted).toBeLessThanOrEqual(5);
      expect(new Set(await remainingOf(store, chargesAcross(0)))).toEqual(new Set([5 - admitted]));
      await store.close();
    });

    it("a request that is sent twice under its id is charged once to all", async () => {
      const store = newStore();
      const how = { requestId: "request-1" };
      await Promise.all([store.decide(chargesAcross(1), how), store.decide(chargesAcross(1), how)]);
      expect(new Set(await remainingOf(store, chargesAcross(0)))).toEqual(new Set([4]));
      await store.close();
    });
  });
});

const limits: readonly Limit[] = [
  fixedWindow({ limit: 5, windowMs }),
  tokenBucket({ capacity: 5, refill: slowRefill }),
  slidingWindowLog({ limit: 5, windowMs }),
];

/** One charge for each limit of a rule on this identity. */
function chargesOf(key: string, cost = 1): Charge[] {
  return limits.map((limit, part) => {
    return { counter: { scope: "login", part, limit }, key, cost, nowMs: 0 };
  });
}

async function remainingOf(store: RedisStore, charges: readonly Charge[]): Promise<number[]> {
  return (await store.peek(charges)).map(({ remaining }) => remaining);
}
