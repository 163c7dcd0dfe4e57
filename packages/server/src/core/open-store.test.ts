// The store of a service: what is configured of it reaches Redis, and a Redis that is not there is no hurry.

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Redis } from "ioredis";
import { createLimiter, fixedWindow, systemClock } from "sluice";
import { startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import { openStore } from "./open-store.js";

const limit = fixedWindow({ limit: 10, windowMs: 3_600_000 });
const options = { telemetry: silentTelemetry(), clock: systemClock };
let server: Awaited<ReturnType<typeof startRedis>>;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

function redisConfig(port: number) {
  return {
    kind: "redis",
    onStoreFailure: "local",
    url: `redis://127.0.0.1:${port}`,
    keyPrefix: "app",
    timeoutMs: 1_000,
    failReadiness: false,
  } as const;
}

describe("a store in Redis", () => {
  it("counts there, under the prefix that is configured", async () => {
    const opened = openStore(redisConfig(server.port), options);
    const limiter = createLimiter({ limit, store: opened.store, name: "test" });
    expect(await limiter.check("user:42")).toMatchObject({ remaining: 9, source: "store" });
    const client = new Redis(server.port);
    expect(await client.keys("*")).toEqual(["app:{user:42}:test"]);
    client.disconnect();
    await opened.close();
  });

  it("never holds a secret as it is", async () => {
    const keySecret = "0123456789abcdef";
    const opened = openStore({ ...redisConfig(server.port), keySecret }, options);
    const limiter = createLimiter({ limit, store: opened.store, name: "test" });
    expect(await limiter.check("apiKey:sesame")).toMatchObject({ source: "store" });
    const client = new Redis(server.port);
    expect((await client.keys("*")).join()).not.toContain("sesame");
    client.disconnect();
    await opened.close();
  });

  it("that is not there yet is answered for, and says since when", async () => {
    const opened = openStore(redisConfig(9), options);
    const limiter = createLimiter({ limit, store: opened.store, name: "test" });
    for (let i = 0; i < 6; i++) {
      expect(await limiter.check("user:42")).toMatchObject({ source: "fallback" });
    }
    expect(opened.awaySinceMs()).toBeLessThanOrEqual(systemClock.now());
    await opened.close();
  });

  it("that is not there keeps no process waiting once it is closed", async () => {
    const opened = openStore(redisConfig(9), options);
    await opened.known;
    const timers = vi.spyOn(globalThis, "setTimeout");
    await opened.close();
    const longestMs = Math.max(0, ...timers.mock.calls.map(([, delayMs]) => delayMs ?? 0));
    timers.mockRestore();
    expect(longestMs).toBeLessThan(500);
  });

  it("that is some other server is named as that, in words for an operator", async () => {
    const other = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const opened = openStore(redisConfig(port), options);
    await expect
      .poll(() => opened.problem())
      .toContain("does not speak the Redis protocol (check store.url");
    expect(opened.problem()).not.toContain("report");
    await opened.close();
    other.close();
  });
});

describe("whether Redis can be reached", () => {
  it("is known at the start, and again when it goes", async () => {
    const other = await startRedis();
    const opened = openStore(redisConfig(other.port), options);
    await opened.known;
    expect([opened.name, opened.problem()]).toEqual([
      `redis at 127.0.0.1:${other.port}`,
      undefined,
    ]);
    await other.stop();
    await expect
      .poll(() => opened.problem(), { timeout: 10_000 })
      .toMatch(/^redis unreachable at 127\.0\.0\.1:\d+: .*; deciding locally until it is back$/);
    await opened.close();
  });

  it("is answered with the error of the server if the password is wrong", async () => {
    const url = `redis://someone:hush@127.0.0.1:${server.port}`;
    const opened = openStore({ ...redisConfig(server.port), url }, options);
    await opened.known;
    expect(opened.problem()).toMatch(/: WRONGPASS/);
    expect(opened.problem()).not.toContain("hush");
    await opened.close();
  });
});

describe("a store in memory", () => {
  it("is never away", async () => {
    const opened = openStore({ kind: "memory", onStoreFailure: "local", keysMax: 1_000 }, options);
    const limiter = createLimiter({ limit, store: opened.store });
    expect(limiter.check("user:42")).toMatchObject({ remaining: 9, source: "memory" });
    expect(opened.awaySinceMs()).toBeUndefined();
    await opened.close();
  });
});
