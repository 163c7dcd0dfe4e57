// What moves over from express-rate-limit besides its options: keys by hand, and several limiters in a row.

import { createServer } from "node:http";
import express, { type RequestHandler } from "express";
import { afterEach, describe, expect, it } from "vitest";
import { listen, type RunningServer } from "../../../../test/http/framework-harness.js";
import { tokenBucket } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import byDefault, { ipKeyGenerator, rateLimit } from "./express.js";

const running: RunningServer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});
const clock = new ManualClock(Date.UTC(2030, 0, 1));

async function serve(...limiters: RequestHandler[]): Promise<() => Promise<Response>> {
  const app = express();
  app.use(...limiters);
  app.get("/", (request, response) => void response.json(request.rateLimit ?? null));
  const server = await listen(createServer(app));
  running.push(server);
  return () => fetch(server.url);
}

describe("rateLimit without arguments", () => {
  it("admits 5 in a minute, and is the default export", async () => {
    const send = await serve(byDefault());
    const statuses = [];
    for (let n = 0; n < 6; n++) statuses.push((await send()).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });
});

describe("keys by hand", () => {
  it.each([
    ["an address", {}, "127.0.0.1"],
    ["a key of keyGenerator", { keyGenerator: () => "a" }, "a"],
    ["a number", { keyGenerator: () => 42 }, 42],
    ["a key under a limit that a function chooses", { limit: () => 1 }, "127.0.0.1"],
  ])("are read and forgotten: %s", async (_name, options, key) => {
    const limiter = rateLimit({ limit: 1, clock, ...options });
    const send = await serve(limiter);
    expect(await limiter.getKey(key as string)).toBeUndefined();
    expect([(await send()).status, (await send()).status]).toEqual([200, 429]);
    const resetTime = new Date(clock.now() + 60_000);
    expect(await limiter.getKey(key as string)).toEqual({ totalHits: 1, resetTime });
    expect(await limiter.getKey("other")).toBeUndefined();
    await limiter.resetKey(key as string);
    expect((await send()).status).toBe(200);
  });

  it("are networks of IPv6 addresses", () => {
    expect(ipKeyGenerator("203.0.113.7")).toBe("203.0.113.7");
    expect(ipKeyGenerator("::ffff:203.0.113.7")).toBe("203.0.113.7");
    expect(ipKeyGenerator("2001:db8:1:2ff::1")).toBe("2001:db8:1:200::/56");
    expect(ipKeyGenerator("2001:db8:1:2::1", 64)).toBe("2001:db8:1:2::/64");
    expect(ipKeyGenerator("2001:db8:1:2::1", false)).toBe("2001:db8:1:2::1");
  });
});

describe("several limiters in a row", () => {
  it("list all policies where these have names, and the numbers of the last one", async () => {
    const limits = [
      rateLimit({ limit: 5, windowMs: 60_000, name: "minute", clock }),
      rateLimit({ limit: 50, windowMs: 3_600_000, name: "hour", clock }),
    ];
    const { headers } = await (await serve(...limits))();
    expect(headers.get("ratelimit-policy")).toBe('"minute";q=5;w=60, "hour";q=50;w=3600');
    expect(headers.get("ratelimit")).toBe('"minute";r=4;t=60, "hour";r=49;t=3600');
    expect(headers.get("x-ratelimit-limit")).toBe("50");
  });
});

describe("a refusal", () => {
  it("has the message of express-rate-limit, unless the limit or the body is ours", async () => {
    const bucket = tokenBucket({ capacity: 1, refillPerSecond: 1 });
    for (const [options, type] of [
      [{ limit: 1 }, "text/html; charset=utf-8"],
      [{ limit: 1, body: "problem" }, "application/problem+json"],
      [{ limit: bucket }, "application/problem+json"],
    ] as const) {
      const send = await serve(rateLimit({ clock, ...options }));
      await send();
      const response = await send();
      expect([response.status, response.headers.get("content-type")]).toEqual([429, type]);
    }
  });
});

describe("a request that is skipped", () => {
  it("has no info", async () => {
    const send = await serve(rateLimit({ limit: 1, skip: () => true }));
    expect(await (await send()).json()).toBeNull();
  });
});
