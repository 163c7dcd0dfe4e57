// One client against a gateway over a real Redis, with a hundred rules: whatever it asks for, and however
// often, it does not keep the store busy, the breaker stays closed, and it stays refused.

import { connect } from "node:net";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type GatewayFixture, startFixture } from "../../test/gateway-fixture.js";
import type { RedisStoreConfig } from "../config/config.js";

const RULES = 100;
const CONNECTIONS = 100;
const REQUESTS_EACH = 45;

const rules = Array.from({ length: RULES }, (_, i) => ({
  id: `rule-${i}`,
  key: "ip",
  limit: { fixedWindow: { limit: i === 0 ? 3 : 1_000_000, windowMs: 3_600_000, align: "first" } },
}));

let redis: RedisProcess;
let fixture: GatewayFixture | undefined;
beforeAll(async () => {
  redis = await startRedis();
});
afterEach(() => fixture?.close());
afterAll(() => redis.stop());

async function start(): Promise<GatewayFixture> {
  const store: RedisStoreConfig = {
    kind: "redis",
    url: `redis://${redis.host}:${redis.port}`,
    keyPrefix: `${Math.random()}`,
    onStoreFailure: "local",
    // More than a busy machine needs for a batch, and far less than the whole burst takes.
    timeoutMs: 250,
    failReadiness: false,
  };
  fixture = await startFixture({ rules, config: { store } });
  return fixture;
}

/** Statuses of this many requests that are sent in one piece over one connection. */
function pipeline(url: string, path: string, count: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1").on("error", reject);
    socket.on("data", (piece) => {
      text += piece;
    });
    socket.on("end", () => resolve([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, s]) => s)));
    const request = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
    const last = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    socket.write(request.repeat(count - 1) + last);
  });
}

/** Statuses by how often they came, of a flood over many connections. */
async function flood(url: string, path: string, each: number): Promise<Record<string, number>> {
  const all = Array.from({ length: CONNECTIONS }, () => pipeline(url, path, each));
  const counts: Record<string, number> = {};
  for (const status of (await Promise.all(all)).flat()) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

async function scriptCalls(): Promise<number> {
  const { cmdstat_evalsha: stats = "" } = await redis.info("commandstats");
  return Number(/^calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

async function exhaust(url: string): Promise<void> {
  // Waits for the connection to the store, since the first requests may come before it.
  for (let i = 0; i < 20 && (await pipeline(url, "/", 1))[0] !== "429"; i++);
  expect(await pipeline(url, "/", 1)).toEqual(["429"]);
}

describe("an exhausted client", () => {
  it("turns thousands of GET /rate_limit into few script calls, and stays at 429", async () => {
    const { url, core } = await start();
    await exhaust(url);
    const before = await scriptCalls();
    const startMs = performance.now();
    const counts = await flood(url, "/rate_limit", REQUESTS_EACH);
    const seconds = (performance.now() - startMs) / 1_000;
    expect(counts[200] + counts[429]).toBe(CONNECTIONS * REQUESTS_EACH);
    // A burst of 20, then five a second.
    expect(counts[200]).toBeLessThanOrEqual(21 + 5 * seconds);
    expect((await scriptCalls()) - before).toBeLessThanOrEqual(counts[200]);
    expect(core.storeAwaySinceMs()).toBeUndefined();
    expect(await pipeline(url, "/", 1)).toEqual(["429"]);
  });
});

describe("a client that has not exhausted its limits", () => {
  it("does not open the breaker by a burst that takes the store longer than its deadline", async () => {
    const { url, core } = await start();
    const free = rules.slice(1);
    core.policy.replace({ version: 1, rules: free } as never);
    await pipeline(url, "/", 1);
    for (let i = 0; i < 2; i++) {
      // Some 150,000 charges: a second or more of work for the store.
      await flood(url, "/", REQUESTS_EACH / 3);
      expect(core.storeAwaySinceMs()).toBeUndefined();
    }
  });
});
