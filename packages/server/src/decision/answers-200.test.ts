// What callers get for requests that can be decided: allowed and refused alike are answers with status 200.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openTestListener, type TestListener } from "../../test/decision-listener.js";

let test: TestListener;
beforeEach(async () => {
  test = await openTestListener();
});
afterEach(() => test.close());

const facts = { method: "GET", path: "/api", ip: "203.0.113.10" };
const bucket = { tokenBucket: { capacity: 50, refillPerSecond: 10 } };
const own = { limit: bucket, key: "user:42", name: "login" };

async function leftOf(request: object = own): Promise<unknown> {
  return (await test.post("/v1/peek", { ...request, cost: 0 })).body.remaining;
}

describe("check by facts", () => {
  it("answers by the rules, with the rule that bound", async () => {
    const { status, headers, body } = await test.post("/v1/check", { facts });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(body).toEqual({
      allowed: true,
      limit: 10,
      remaining: 9,
      retryAfterMs: 0,
      resetMs: 60_000,
      delayMs: 0,
      source: "memory",
      rule: "per-address",
    });
  });

  it("answers a refusal with 200 too, with its reason, and charges nothing for it", async () => {
    await test.post("/v1/check", { facts, cost: 9 });
    test.clock.advance(1_000);
    const refused = await test.post("/v1/check", { facts, cost: 2 });
    expect(refused.status).toBe(200);
    expect(refused.body).toMatchObject({ allowed: false, remaining: 1, reason: "limit" });
    expect(refused.body.retryAfterMs).toBe(59_000);
    expect((await test.post("/v1/check", { facts })).body.allowed).toBe(true);
  });

  it("says null where a cost can never fit, and where no rule matched", async () => {
    const never = await test.post("/v1/check", { facts, cost: 11 });
    expect(never.body).toMatchObject({ allowed: false, retryAfterMs: null });
    const uncounted = await openTestListener({ rules: [] });
    const { body } = await uncounted.post("/v1/check", { facts });
    await uncounted.close();
    expect(body).toMatchObject({ allowed: true, limit: null, remaining: null });
    expect(body).not.toHaveProperty("rule");
  });

  it("shows what each rule said, if asked", async () => {
    const { body } = await test.post("/v1/check", { facts, results: true });
    expect(body.results).toEqual([
      expect.objectContaining({ rule: "per-address", keyType: "ip", cost: 1, remaining: 9 }),
    ]);
  });

  it("counts an API key by the hash that the gateway counts it by", async () => {
    const rules = [{ id: "by-key", key: "apiKey", limit: "3/minute" }];
    const identity = { apiKey: { header: "x-api-key" }, keySecret: "0123456789abcdef" };
    const keyed = await openTestListener({ rules, config: { identity } });
    const { createRequestHandler, NodeHttpRequest } = await import("sluice/http");
    const gateway = createRequestHandler(keyed.core.policy, { identity });
    const headers = { "x-api-key": "secret-key" };
    const request = { method: "GET", url: "/", headers, socket: { remoteAddress: "203.0.113.9" } };
    await gateway.handle(new NodeHttpRequest(request as never));
    const { body } = await keyed.post("/v1/check", {
      facts: { method: "GET", path: "/", apiKey: "secret-key" },
    });
    await keyed.close();
    expect(body.remaining).toBe(1);
  });

  it("takes names of headers in any case, and names that objects have anyway", async () => {
    const rules = [
      { id: "by-header", key: "header:x-team", limit: "3/minute", onMissing: "skip" },
      { id: "odd", key: "header:constructor", limit: "3/minute", onMissing: "skip" },
    ];
    const by = await openTestListener({ rules });
    const { body } = await by.post("/v1/check", {
      facts: { ...facts, headers: { "X-Team": "red" } },
      results: true,
    });
    await by.close();
    expect(body.results).toMatchObject([{ rule: "by-header" }]);
  });
});

describe("check by a limit and key", () => {
  it("counts by name, key and numbers", async () => {
    const { body } = await test.post("/v1/check", { ...own, cost: 3 });
    expect(body).toEqual({
      allowed: true,
      limit: 50,
      remaining: 47,
      retryAfterMs: 0,
      resetMs: 300,
      delayMs: 0,
      source: "memory",
    });
    expect(await leftOf()).toBe(47);
    expect(await leftOf({ ...own, name: "other" })).toBe(50);
    expect(await leftOf({ ...own, key: "user:43" })).toBe(50);
  });

  it.each([
    ["a text", "100/minute"],
    ["tokenBucket", bucket],
    ["leakyBucket", { leakyBucket: { ratePerSecond: 10, queueSize: 5 } }],
    ["fixedWindow", { fixedWindow: { limit: 5, windowMs: "1m" } }],
    ["slidingWindowCounter", { slidingWindowCounter: { limit: 5, windowMs: 60_000 } }],
    ["slidingWindowLog", { slidingWindowLog: { limit: 5, windowMs: 60_000 } }],
    ["quota", { quota: { limit: 5, period: "month" } }],
    ["several", ["5/minute", "100/hour"]],
  ])("takes %s as the limit", async (_, limit) => {
    const { status, body } = await test.post("/v1/check", { limit, key: "user:42" });
    expect(status).toBe(200);
    expect(body.allowed).toBe(true);
  });

  it("never meets the counters of a rule of the same name", async () => {
    const window = { fixedWindow: { limit: 10, windowMs: 60_000 } };
    const same = { limit: window, key: "ip:203.0.113.10", name: "per-address" };
    await test.post("/v1/check", { ...same, cost: 10 });
    expect((await test.post("/v1/check", { facts })).body.remaining).toBe(9);
  });
});

describe("peek", () => {
  it("charges nothing", async () => {
    await test.post("/v1/peek", { facts });
    await test.post("/v1/peek", own);
    expect((await test.post("/v1/peek", { facts })).body.remaining).toBe(10);
    expect(await leftOf()).toBe(50);
  });
});

describe("a batch", () => {
  it("is answered in order, each request decided by itself", async () => {
    const requests = [{ facts, cost: 9 }, { facts, cost: 2 }, { facts }, own];
    const { status, body } = await test.post("/v1/check", { requests });
    expect(status).toBe(200);
    const answers = body.answers as { allowed: boolean; remaining: number }[];
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, false, true, true]);
    expect(answers.map(({ remaining }) => remaining)).toEqual([1, 1, 0, 49]);
  });

  it("answers a bad request in its place and fails no other", async () => {
    const bad = { facts: { ...facts, method: 7 } };
    const { status, body } = await test.post("/v1/check", {
      requests: [own, bad, { key: "x" }, own],
    });
    expect(status).toBe(200);
    expect(body.answers).toMatchObject([
      { allowed: true },
      { error: { status: 400, code: "SLUICE_REQUEST_INVALID", field: "requests[1].facts.method" } },
      { error: { status: 400, field: "requests[2]" } },
      { allowed: true, remaining: 48 },
    ]);
  });

  it("by one limit is answered for each key, as often as it is repeated", async () => {
    const byKeys = (path: string, ...keys: string[]) => {
      const requests = keys.map((key) => ({ limit: "9/minute", key, cost: 2 }));
      return test.post(path, { requests });
    };
    const left = async (path: string, ...keys: string[]) => {
      const { body } = await byKeys(path, ...keys);
      return (body.answers as { remaining: number }[]).map(({ remaining }) => remaining);
    };
    // Both endpoints read from the second batch on by its keys alone.
    expect(await left("/v1/check", "a")).toEqual([7]);
    expect(await left("/v1/check", "b", "a", "b", "c")).toEqual([7, 5, 5, 7]);
    for (let i = 0; i < 2; i++) expect(await left("/v1/peek", "a", "b", "c")).toEqual([5, 5, 7]);
    const { body } = await byKeys("/v1/check", "a", "a", "a", "d");
    expect(body.answers).toMatchObject([
      { allowed: true, remaining: 3 },
      { allowed: true, remaining: 1 },
      { allowed: false, remaining: 1 },
      { allowed: true, remaining: 7 },
    ]);
  });

  it("says where in a batch of keys a limit is invalid", async () => {
    const worse = (key: string) => ({ limit: "0/minute", key });
    for (let i = 0; i < 2; i++) {
      const { status, body } = await test.post("/v1/check", { requests: ["a", "b"].map(worse) });
      expect(status).toBe(200);
      expect(body.answers).toMatchObject([
        { error: { status: 400, field: "requests[0].limit" } },
        { error: { status: 400, field: "requests[1].limit" } },
      ]);
    }
  });

  it("says where in the batch a limit is invalid", async () => {
    const worse = { ...own, limit: ["5/minute", { fixedWindow: { limit: 0, windowMs: 1 } }] };
    const { body } = await test.post("/v1/check", { requests: [own, worse] });
    const [, { error }] = body.answers as { error: { field: string } }[];
    expect(error.field).toBe("requests[1].limit[1].fixedWindow.limit");
  });

  it("is decided at one instant, and its quotas by the wall clock", async () => {
    const listener = await openTestListener({
      rules: [{ id: "slow", key: "ip", limit: "1/second" }],
    });
    const ms = listener.clock.now();
    let readings = 0;
    listener.clock.now = () => ms + 1_000 * readings++;
    const dayMs = 86_400_000;
    Object.assign(listener.clock, { wall: () => ms + dayMs * readings++ });
    const daily = { limit: { quota: { limit: 1, period: "day" } }, key: "user:42" };
    const slow = { limit: "1/second", key: "user:42" };
    const answersTo = async (request: object) => {
      const { body } = await listener.post("/v1/check", { requests: [request, request] });
      return (body.answers as { allowed: boolean }[]).map(({ allowed }) => allowed);
    };
    expect(await answersTo({ facts })).toEqual([true, false]);
    expect(await answersTo(slow)).toEqual([true, false]);
    expect(await answersTo(daily)).toEqual([true, true]);
    await listener.close();
  });

  it("takes a thousand requests", async () => {
    const requests = Array.from({ length: 1_000 }, (_, i) => ({ ...own, key: `user:${i}` }));
    const { body } = await test.post("/v1/peek", { requests });
    expect(body.answers).toHaveLength(1_000);
  });
});

describe("reserve", () => {
  it.each([
    ["a limit", own],
    ["rules", { facts, cost: 5 }],
  ])("holds a cost under %s until it is committed", async (_, request) => {
    const before = (await leftOf(request)) as number;
    const { body } = await test.post("/v1/reserve", { ...request, cost: 5 });
    expect(body).toMatchObject({ allowed: true, id: expect.stringMatching(/^[\w-]{22}$/) });
    expect(await leftOf(request)).toBe(before - 5);
    const committed = await test.post("/v1/commit", { id: body.id, cost: 2 });
    expect(committed).toMatchObject({ status: 200, body: { ok: true } });
    expect(await leftOf(request)).toBe(before - 2);
  });

  it.each([
    ["a limit", own],
    ["rules", { facts }],
  ])("refunds all of it under %s when it is cancelled", async (_, request) => {
    const before = await leftOf(request);
    const { body } = await test.post("/v1/reserve", { ...request, cost: 5 });
    await test.post("/v1/cancel", { id: body.id });
    expect(await leftOf(request)).toBe(before);
  });

  it("has no id if it was refused", async () => {
    const { body } = await test.post("/v1/reserve", { ...own, cost: 51 });
    expect(body).toMatchObject({ allowed: false });
    expect(body).not.toHaveProperty("id");
  });
});

describe("acquire", () => {
  const one = { limit: { concurrency: { limit: 1, permitMs: 30_000 } }, key: "user:42" };

  it("acquires a permit, and release ends it", async () => {
    const first = await test.post("/v1/acquire", one);
    expect(first.body).toMatchObject({ allowed: true });
    expect((await test.post("/v1/acquire", one)).body.allowed).toBe(false);
    await test.post("/v1/release", { id: first.body.id });
    expect((await test.post("/v1/acquire", one)).body.allowed).toBe(true);
  });
});

describe("operators", () => {
  const targets: [string, object, object][] = [
    ["a rule", { rule: "per-address", key: "ip:203.0.113.10" }, { facts }],
    ["a limit", own, own],
  ];

  it.each(targets)("block and unblock a key of %s", async (_, target, request) => {
    await test.post("/v1/block", { ...target, forMs: 1_000 });
    const refused = await test.post("/v1/check", request);
    expect(refused.body).toMatchObject({ allowed: false, retryAfterMs: 1_000, reason: "blocked" });
    const unblocked = await test.post("/v1/unblock", target);
    expect(unblocked.body).toEqual({ ok: true, wasBlocked: true });
    const again = await test.post("/v1/unblock", target);
    expect(again.body).toEqual({ ok: true, wasBlocked: false });
    expect((await test.post("/v1/check", request)).body.allowed).toBe(true);
    await test.post("/v1/block", { ...target, forMs: null });
    expect((await test.post("/v1/check", request)).body).toMatchObject({
      allowed: false,
      retryAfterMs: null,
    });
  });

  it.each(targets)("refund and reset a key of %s", async (_, target, request) => {
    const full = (await leftOf(request)) as number;
    await test.post("/v1/check", { ...request, cost: 5 });
    const refunded = await test.post("/v1/refund", { ...target, cost: 2 });
    expect(refunded.body).toEqual({ ok: true, refunded: 2 });
    expect(await leftOf(request)).toBe(full - 3);
    await test.post("/v1/refund", target);
    expect(await leftOf(request)).toBe(full - 2);
    const rest = await test.post("/v1/refund", { ...target, cost: 50 });
    expect(rest.body).toEqual({ ok: true, refunded: 2 });
    await test.post("/v1/reset", target);
    expect(await leftOf(request)).toBe(full);
  });
});

describe("explain and limits", () => {
  it("explain why a request would be answered as it would", async () => {
    const { body } = await test.post("/v1/explain", { facts, cost: 11 });
    expect(body).toMatchObject({ allowed: false, rule: "per-address", reason: "limit" });
  });

  it("show the rules in force, also after they changed", async () => {
    const before = await test.get("/v1/limits");
    expect(before.headers.get("cache-control")).toBe("no-store");
    expect(before.body.rules).toEqual([
      {
        id: "per-address",
        isEnabled: true,
        match: { paths: [], methods: [], hosts: [] },
        key: "ip",
        limits: [{ algorithm: "fixedWindow", limit: 10, windowMs: 60_000, align: "first" }],
        tiers: {},
        onExceed: "reject",
        consistency: "strict",
        isDurable: false,
      },
    ]);
    test.core.blindPolicy?.replace({ version: 1, rules: [] });
    expect((await test.get("/v1/limits")).body.rules).toEqual([]);
  });
});

it("says that it is alive, without a token and a store", async () => {
  expect(await test.get("/livez")).toMatchObject({ status: 200, body: { alive: true } });
});
