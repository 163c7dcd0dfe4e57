// Over a real Redis: one limit for all servers that share it, and answers in time when it is gone.

import { Redis } from "ioredis";
import { systemClock } from "sluice";
import { redisStore } from "sluice/redis";
import { startRedis } from "sluice-test-servers";
import { expect, it, vi } from "vitest";
import { connect, descriptor, later, makeCore, makeFiles } from "../../test/envoy-harness.js";
import { openEnvoy } from "./envoy.js";

const FILE = `
domain: web
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 200 }
  - key: api_key
    rate_limit: { unit: hour, requests_per_unit: 200 }
  - key: plan
    quota_mode: true
    rate_limit: { unit: hour, requests_per_unit: 1 }
`;

async function openOver(port: number, storeTimeoutMs = 10_000) {
  const client = new Redis({ port, host: "127.0.0.1", lazyConnect: true });
  client.on("error", () => {});
  const store = redisStore(client);
  const { core, heard } = makeCore({
    files: [makeFiles({ "ratelimit.yaml": FILE })],
    store,
    clock: systemClock,
  });
  later(async () => {
    await store.close();
    client.disconnect();
  });
  // Both servers, their clients and the other tests share a busy machine.
  const listener = await openEnvoy(core, { storeTimeoutMs });
  later(() => listener.close());
  return { listener, heard, ...connect(listener.url) };
}

it("two servers that share a Redis admit together what the limit says, all or nothing", async () => {
  const redis = await startRedis();
  later(() => redis.stop());
  const servers = await Promise.all([openOver(redis.port), openOver(redis.port)]);
  const asked = servers.flatMap(({ ask }) =>
    Array.from({ length: 150 }, (_, i) =>
      ask({ descriptors: [descriptor({ user: "a" }), descriptor({ user: `${i % 7}` })] }),
    ),
  );
  const answers = await Promise.all(asked);
  expect(answers.filter(({ overallCode }) => overallCode === 1)).toHaveLength(200);
  const left = await Promise.all(
    Array.from({ length: 7 }, async (_, i) => {
      const { statuses } = await servers[0].ask({
        descriptors: [descriptor({ user: `${i}` }, { hits: 0 })],
      });
      return statuses[0].remaining;
    }),
  );
  expect(7 * 200 - left.reduce((sum, each) => sum + each)).toBe(200);
});

it("secrets are in Redis by a digest only, and every key has an end", async () => {
  const redis = await startRedis();
  later(() => redis.stop());
  const { ask } = await openOver(redis.port);
  const secret = "sk-live-0123456789";
  const descriptors = [descriptor({ api_key: secret }), descriptor({ plan: "a" })];
  expect((await ask({ descriptors })).overallCode).toBe(1);
  expect((await ask({ descriptors })).overallCode).toBe(2);
  const client = new Redis({ port: redis.port, host: "127.0.0.1" });
  later(() => client.disconnect());
  const keys = await client.keys("*");
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.join("\n")).not.toContain(secret);
  for (const key of keys) expect(await client.pttl(key)).toBeGreaterThan(0);
  const { statuses } = await ask({ descriptors: [descriptor({ api_key: secret }, { hits: 0 })] });
  expect(statuses[0].remaining).toBe(199);
});

it("a Redis that goes is answered for, and counts again when it is back", async () => {
  const redis = await startRedis();
  later(() => redis.stop());
  const { ask } = await openOver(redis.port, 200);
  const codeOf = async () => (await ask({ descriptors: [descriptor({ user: "a" })] })).overallCode;
  expect(await codeOf()).toBe(1);
  await redis.kill();
  for (let i = 0; i < 20; i++) expect(await codeOf()).toBe(1);
  await redis.restart();
  const client = new Redis({ port: redis.port, host: "127.0.0.1" });
  later(() => client.disconnect());
  const isCounted = async () => {
    await codeOf();
    return (await client.keys("*")).length > 0;
  };
  await vi.waitUntil(isCounted, { timeout: 30_000, interval: 100 });
});
