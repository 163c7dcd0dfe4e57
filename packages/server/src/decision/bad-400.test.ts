// Bad input: reported with the field and what was seen, before anything is charged.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestListener, type TestListener } from "../../test/decision-listener.js";

let test: TestListener;
beforeAll(async () => {
  test = await openTestListener();
});
afterAll(() => test.close());

const facts = { method: "GET", path: "/api", ip: "203.0.113.10" };
const limit = { tokenBucket: { capacity: 5, refillPerSecond: 1 } };
const own = { limit, key: "user:42" };

const bad: [string, string, unknown, string, string | undefined][] = [
  ["no object", "/v1/check", [], "the body must be an object, got an empty list", undefined],
  [
    "nothing to decide",
    "/v1/check",
    {},
    "needs requests or facts or limit, got an empty object",
    undefined,
  ],
  [
    "an unknown field",
    "/v1/check",
    { facts, costs: 2 },
    "costs is unknown, did you mean cost? known: facts, cost",
    "costs",
  ],
  [
    "an unknown fact",
    "/v1/check",
    { facts: { ...facts, uid: 1 } },
    "facts.uid is unknown",
    "facts.uid",
  ],
  ["no method", "/v1/check", { facts: { path: "/" } }, "facts.method is missing", "facts.method"],
  [
    "a user that is no text",
    "/v1/check",
    { facts: { ...facts, user: 42 } },
    "facts.user must be a string of 1 to 4096 characters, got 42",
    "facts.user",
  ],
  [
    "an empty user",
    "/v1/check",
    { facts: { ...facts, user: "" } },
    "got 0 characters",
    "facts.user",
  ],
  [
    "a header that is no text",
    "/v1/check",
    { facts: { ...facts, headers: { "x-a": 1 } } },
    "got 1",
    'facts.headers["x-a"]',
  ],
  [
    "a name of the language",
    "/v1/check",
    '{"facts":{"method":"GET","path":"/","__proto__":{"ip":"::1"}}}',
    "facts.__proto__ is unknown",
    "facts.__proto__",
  ],
  [
    "a negative cost",
    "/v1/check",
    { facts, cost: -1 },
    "cost must be a whole number from 0 to 9007199254740991, got -1",
    "cost",
  ],
  ["half a unit", "/v1/check", { ...own, cost: 0.5 }, "got 0.5", "cost"],
  ["a cost as text", "/v1/check", { ...own, cost: "3" }, 'got "3"', "cost"],
  ["null for a cost", "/v1/check", { ...own, cost: null }, "got null", "cost"],
  ["no key", "/v1/check", { limit }, "key is missing", "key"],
  [
    "a limit with invalid numbers",
    "/v1/check",
    { ...own, limit: { tokenBucket: { capacity: "ten", refillPerSecond: 1 } } },
    "limit.tokenBucket.capacity must be a whole number from 1",
    "limit.tokenBucket.capacity",
  ],
  [
    "an invalid limit",
    "/v1/check",
    { ...own, limit: "100/fortnight" },
    'got "100/fortnight"',
    "limit",
  ],
  ["no limit at all", "/v1/check", { ...own, limit: "unlimited" }, 'got "unlimited"', "limit"],
  ["both ways at the same time", "/v1/check", { facts, ...own }, "limit is unknown", "limit"],
  [
    "an empty batch",
    "/v1/check",
    { requests: [] },
    "requests must be a list of 1 to 1000 requests, got 0",
    "requests",
  ],
  ["a batch of 1,001", "/v1/peek", { requests: Array(1_001).fill(own) }, "got 1001", "requests"],
  ["a batch to reserve", "/v1/reserve", { requests: [own] }, "needs facts or limit", undefined],
  ["a permit by facts", "/v1/acquire", { facts }, "facts is unknown", "facts"],
  ["a block without an end", "/v1/block", { ...own }, "forMs is missing", "forMs"],
  ["a block for no time", "/v1/block", { ...own, forMs: 0 }, "got 0", "forMs"],
  [
    "a key that the rule does not count",
    "/v1/reset",
    { rule: "per-address", key: "user:42" },
    "the rule does not count this key",
    undefined,
  ],
  [
    "a permit limit that is checked",
    "/v1/check",
    { ...own, limit: { concurrency: { limit: 1, permitMs: 1_000 } } },
    "use acquire",
    undefined,
  ],
  [
    "a rate limit that is acquired",
    "/v1/acquire",
    own,
    "needs a limiter with a concurrency limit",
    undefined,
  ],
  ["no JSON", "/v1/check", '{"facts":', "the body is not JSON", undefined],
  ["no body", "/v1/check", "", "the body is not JSON", undefined],
];

describe("a request with", () => {
  it.each(bad)("%s is reported", async (_, path, body, detail, field) => {
    const { status, headers, body: problem } = await test.post(path, body);
    expect(status).toBe(400);
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(problem).toMatchObject({ type: "about:blank", title: "Bad Request", status: 400 });
    expect(problem.detail).toContain(detail);
    expect(problem.field).toBe(field);
  });

  it("text that is not UTF-8 is refused: two keys must never become one", async () => {
    const body = Buffer.from('{"limit":"5/minute","key":"\xff"}', "latin1");
    const headers = { "content-type": "application/json" };
    const { status, body: problem } = await test.get("/v1/check", {
      method: "POST",
      headers,
      body,
    });
    expect(status).toBe(400);
    expect(problem.detail).toContain("not UTF-8");
  });
});

it("charges nothing for any of it", async () => {
  expect((await test.post("/v1/peek", { facts })).body.remaining).toBe(10);
  expect((await test.post("/v1/peek", own)).body.remaining).toBe(5);
});

it("answers a limit that is nested beyond reason with 400", async () => {
  const depth = 100_000;
  const limit = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  const deep = await test.post("/v1/check", `{"limit":${limit},"key":"k"}`);
  expect(deep.status).toBe(400);
});

it("goes on deciding for all callers, however many different limits one of them makes up", async () => {
  const tokens = ["one", "two"];
  const apart = await openTestListener({ decision: { tokens } });
  const by = (token: string) => ({ authorization: `Bearer ${token}` });
  const known = { limit: { fixedWindow: { limit: 7, windowMs: 60_000 } }, name: "mine", key: "k" };
  await apart.post("/v1/check", known, by("two"));
  for (let batch = 0; batch < 12; batch++) {
    const requests = Array.from({ length: 1_000 }, (_, i) => ({
      limit: { fixedWindow: { limit: batch * 1_000 + i + 1, windowMs: 1_000 } },
      key: "k",
    }));
    await apart.post("/v1/check", { requests }, by("one"));
  }
  const more = { limit: { fixedWindow: { limit: 20_000, windowMs: 1_000 } }, key: "k" };
  const other = await apart.post("/v1/check", more, by("two"));
  const again = await apart.post("/v1/check", known, by("two"));
  await apart.close();
  expect([other.status, other.body.allowed]).toEqual([200, true]);
  expect(again.body).toMatchObject({ allowed: true, remaining: 5 });
});

it("reads every field of a request, however many come before it", async () => {
  const many = Object.fromEntries(Array.from({ length: 1_200 }, (_, i) => [`a${i}`, "b"]));
  const headers = { ...many, "idempotency-key": '"once"' };
  const first = await test.post("/v1/check", { ...own, key: "many" }, headers);
  const second = await test.post("/v1/check", { ...own, key: "many" }, headers);
  expect(second.body).toEqual(first.body);
});
