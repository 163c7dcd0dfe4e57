// What a request costs, and when it is refused: hits, shadows, quotas, replacements and limits that come along.

import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { descriptor, limiterOf, rulesOf, START_MS } from "../../../test/envoy-harness.js";
import type { Descriptor, RateLimitResponse } from "../messages.js";
import { decodeResponse, encodeResponse } from "../wire/response.js";

/** A limiter for descriptors of a file, and a way to ask it. */
function makeLimiter(descriptors: string, { startMs = START_MS } = {}) {
  const clock = new ManualClock(startMs);
  const limiter = limiterOf(toText(descriptors), clock);
  const ask = async (...given: (Descriptor | Record<string, string>)[]) =>
    limiter.decide({ domain: "web", descriptors: given.map(toDescriptor), hits: 0 });
  const askFor = async (hits: number, ...given: Record<string, string>[]) =>
    limiter.decide({ domain: "web", descriptors: given.map(toDescriptor), hits });
  return { clock, limiter, ask, askFor };
}

function toText(descriptors: string): string {
  return `domain: web\ndescriptors:${descriptors}`;
}

function toDescriptor(given: Descriptor | Record<string, string>): Descriptor {
  return "entries" in given ? (given as Descriptor) : descriptor(given as Record<string, string>);
}

const codes = ({ overallCode, statuses }: RateLimitResponse) => [
  overallCode,
  statuses.map(({ code }) => code),
];
const left = ({ statuses }: RateLimitResponse) => statuses.map(({ remaining }) => remaining);

const TWO = `
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 5 }
  - key: ip
    rate_limit: { unit: minute, requests_per_unit: 1 }`;

describe("all or nothing", () => {
  it("a request that one limit refuses costs nothing under the others", async () => {
    const { ask } = makeLimiter(TWO);
    expect(codes(await ask({ user: "a" }, { ip: "1" }))).toEqual([1, [1, 1]]);
    for (let i = 0; i < 10; i++) {
      expect(codes(await ask({ user: "a" }, { ip: "1" }))).toEqual([2, [1, 2]]);
    }
    expect(left(await ask({ user: "a" }, { ip: "2" }))).toEqual([3, 0]);
  });

  it("the same descriptor twice in a request costs twice", async () => {
    const { ask } = makeLimiter(TWO);
    expect(left(await ask({ user: "a" }, { user: "a" }))).toEqual([3, 3]);
    expect(codes(await ask({ ip: "1" }, { ip: "1" }))).toEqual([2, [2, 2]]);
    expect(codes(await ask({ ip: "1" }))).toEqual([1, [1]]);
  });
});

describe("hits", () => {
  it("of the request count for each descriptor, 0 as 1", async () => {
    const { askFor } = makeLimiter(TWO);
    expect(left(await askFor(3, { user: "a" }))).toEqual([2]);
    expect(left(await askFor(0, { user: "a" }))).toEqual([1]);
    expect(codes(await askFor(2, { user: "a" }))).toEqual([2, [2]]);
    expect(left(await askFor(1, { user: "a" }))).toEqual([0]);
  });

  it("of a descriptor count instead of the request's", async () => {
    const { limiter } = makeLimiter(TWO);
    const descriptors = [descriptor({ user: "a" }, { hits: 4 })];
    expect(left(await limiter.decide({ domain: "web", descriptors, hits: 2 }))).toEqual([1]);
  });

  it("that are more than could ever fit are refused for good, and cost nothing", async () => {
    const { askFor } = makeLimiter(TWO);
    expect(await askFor(4_294_967_295, { user: "a" })).toMatchObject({
      overallCode: 2,
      responseHeaders: [],
    });
    expect(left(await askFor(1, { user: "a" }))).toEqual([4]);
  });

  it("of 0 on a descriptor only look: OK while one hit would pass", async () => {
    const { ask } = makeLimiter(TWO);
    const look = descriptor({ ip: "1" }, { hits: 0 });
    expect([codes(await ask(look)), left(await ask(look))]).toEqual([[1, [1]], [1]]);
    await ask({ ip: "1" });
    expect(await ask(look)).toMatchObject({
      overallCode: 2,
      statuses: [{ code: 2, remaining: 0, resetSeconds: 60 }],
      responseHeaders: [{ key: "retry-after", value: "60" }],
    });
  });

  it("of 0 that find nothing left keep what is asked beside them from being charged", async () => {
    const { ask } = makeLimiter(TWO);
    await ask({ ip: "1" });
    const look = descriptor({ ip: "1" }, { hits: 0 });
    expect(codes(await ask({ user: "a" }, look))).toEqual([2, [1, 2]]);
    expect(codes(await ask({ user: "a" }, descriptor({ ip: "2" }, { hits: 0 })))).toEqual([
      1,
      [1, 1],
    ]);
    expect(left(await ask({ user: "a" }))).toEqual([3]);
  });

  it("of a descriptor that don't fit use up what is left: Envoy reports what was spent only once", async () => {
    const { ask } = makeLimiter(`
  - key: tokens
    rate_limit: { unit: hour, requests_per_unit: 1000 }
  - key: team
    rate_limit: { unit: hour, requests_per_unit: 5000 }`);
    const spend = (hits: number) => [
      descriptor({ tokens: "a" }, { hits }),
      descriptor({ team: "t" }, { hits }),
    ];
    expect(left(await ask(...spend(900)))).toEqual([100, 4100]);
    expect(codes(await ask(descriptor({ tokens: "a" }, { hits: 0 })))).toEqual([1, [1]]);
    expect(codes(await ask(...spend(400)))).toEqual([2, [2, 1]]);
    expect(codes(await ask(descriptor({ tokens: "a" }, { hits: 0 })))).toEqual([2, [2]]);
    expect(left(await ask(descriptor({ team: "t" }, { hits: 0 })))).toEqual([3700]);
  });

  it("that are negative are refunded, and never beyond the limit", async () => {
    const { ask } = makeLimiter(TWO);
    await ask({ user: "a" }, { user: "a" }, { user: "a" });
    const back = (hits: number) => descriptor({ user: "a" }, { hits, isNegative: true });
    expect([codes(await ask(back(2))), left(await ask(back(1)))]).toEqual([[1, [1]], [5]]);
    expect(left(await ask(back(100)))).toEqual([5]);
    expect(left(await ask({ user: "a" }))).toEqual([4]);
  });
});

describe("shadow_mode", () => {
  const SHADOW = `
  - key: user
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: ip
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: blocked
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 0 }`;

  it("answers OK beyond the limit, with the limit and nothing left", async () => {
    const { ask } = makeLimiter(SHADOW);
    await ask({ user: "a" });
    expect(await ask({ user: "a" })).toEqual({
      overallCode: 1,
      statuses: [
        {
          code: 1,
          currentLimit: { requestsPerUnit: 1, unit: 2, name: "" },
          remaining: 0,
          resetSeconds: 60,
        },
      ],
      responseHeaders: [],
    });
  });

  it("does not keep other limits from counting, nor from refusing", async () => {
    const { ask } = makeLimiter(SHADOW);
    for (const expected of [1, 1, 2]) {
      expect((await ask({ user: "a" }, { ip: "1" })).overallCode).toBe(expected);
    }
  });

  it("answers OK even where no request is allowed", async () => {
    expect(codes(await makeLimiter(SHADOW).ask({ blocked: "x" }))).toEqual([1, [1]]);
  });
});

describe("quota_mode", () => {
  const QUOTA = `
  - key: plan
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: extra
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: ip
    rate_limit: { unit: minute, requests_per_unit: 10 }`;

  it("refuses only when all quotas are over, and then nothing is charged", async () => {
    const { ask } = makeLimiter(QUOTA);
    const request = [{ plan: "a" }, { extra: "a" }, { ip: "1" }];
    expect(codes(await ask(...request))).toEqual([1, [1, 1, 1]]);
    expect(codes(await ask(...request))).toEqual([1, [2, 1, 1]]);
    expect(await ask(...request)).toMatchObject({
      overallCode: 2,
      responseHeaders: [{ key: "retry-after", value: "60" }],
    });
    expect(codes(await ask(...request))).toEqual([2, [2, 2, 1]]);
    expect(left(await ask({ ip: "1" }))).toEqual([7]);
  });

  it("refuses when a normal limit is over, and charges no quota", async () => {
    const { ask, askFor } = makeLimiter(QUOTA);
    expect(codes(await askFor(11, { extra: "a" }, { ip: "1" }))[0]).toBe(2);
    await askFor(10, { ip: "1" });
    expect(codes(await ask({ extra: "a" }, { ip: "1" }))).toEqual([2, [1, 2]]);
    expect(left(await ask({ extra: "a" }))).toEqual([1]);
  });

  it("refuses alone as any limit does", async () => {
    const { ask } = makeLimiter(QUOTA);
    expect(codes(await ask({ plan: "a" }))).toEqual([1, [1]]);
    expect(codes(await ask({ plan: "a" }))).toEqual([2, [2]]);
  });

  it("lets a request pass beside a quota in shadow_mode, which is never over", async () => {
    const { ask } = makeLimiter(`${QUOTA}
  - key: trial
    quota_mode: true
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }`);
    for (const expected of [1, 2, 2]) {
      expect(codes(await ask({ plan: "a" }, { trial: "a" }))).toEqual([1, [expected, 1]]);
    }
  });

  it("is not a quota where it is unlimited: those beside it decide", async () => {
    const { ask } = makeLimiter(`${QUOTA}
  - key: free
    quota_mode: true
    rate_limit: { unlimited: true }`);
    const look = descriptor({ ip: "1" }, { hits: 0 });
    expect(codes(await ask({ free: "a" }, look))).toEqual([1, [1, 1]]);
    expect(codes(await ask({ free: "a" }, { plan: "a" }))).toEqual([1, [1, 1]]);
    expect(codes(await ask({ free: "a" }, { plan: "a" }))).toEqual([2, [1, 2]]);
  });
});

describe("replaces", () => {
  const REPLACES = `
  - key: ip
    rate_limit: { unit: minute, requests_per_unit: 1, name: by-ip }
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 5, name: by-user, replaces: [{ name: by-ip }] }
  - key: admin
    rate_limit: { unlimited: true, replaces: [{ name: by-ip }, { name: by-user }] }`;

  it("takes limits of other descriptors out of the request", async () => {
    const { ask } = makeLimiter(REPLACES);
    for (let i = 0; i < 3; i++) {
      const { overallCode, statuses } = await ask({ ip: "1" }, { user: "a" });
      expect(overallCode).toBe(1);
      expect(statuses.map(({ currentLimit }) => currentLimit?.name)).toEqual([
        undefined,
        "by-user",
      ]);
    }
    expect(codes(await ask({ ip: "1" }))).toEqual([1, [1]]);
    expect(codes(await ask({ ip: "1" }))).toEqual([2, [2]]);
  });

  it("works for what is unlimited", async () => {
    const { ask } = makeLimiter(REPLACES);
    for (let i = 0; i < 7; i++) {
      expect((await ask({ ip: "1" }, { user: "a" }, { admin: "x" })).overallCode).toBe(1);
    }
  });
});

describe("share_threshold", () => {
  it("makes all values of the wildcard share one counter, and no other", async () => {
    const { ask } = makeLimiter(`
  - key: path
    value: /api/*
    share_threshold: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: path
    value: /web/*
    rate_limit: { unit: minute, requests_per_unit: 2 }`);
    expect(left(await ask({ path: "/api/a" }))).toEqual([1]);
    expect(left(await ask({ path: "/api/b" }))).toEqual([0]);
    expect(codes(await ask({ path: "/api/c" }))).toEqual([2, [2]]);
    expect(left(await ask({ path: "/web/a" }))).toEqual([1]);
    expect(left(await ask({ path: "/web/b" }))).toEqual([1]);
  });

  it("shares one counter wherever the stars are, and with no other wildcard", async () => {
    const { ask } = makeLimiter(`
  - key: path
    value: /v*/files/*
    share_threshold: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: path
    value: /v*/files*
    share_threshold: true
    rate_limit: { unit: minute, requests_per_unit: 2 }`);
    expect(left(await ask({ path: "/v1/files/a" }))).toEqual([1]);
    expect(left(await ask({ path: "/v2/files/b" }))).toEqual([0]);
    expect(codes(await ask({ path: "/v*/files/*" }))).toEqual([2, [2]]);
    expect(left(await ask({ path: "/v1/files" }))).toEqual([1]);
  });

  it("holds for what is nested below it", async () => {
    const { ask } = makeLimiter(`
  - key: path
    value: /api/*
    share_threshold: true
    descriptors:
      - key: user
        rate_limit: { unit: minute, requests_per_unit: 2 }`);
    await ask({ path: "/api/a", user: "x" });
    expect(left(await ask({ path: "/api/b", user: "x" }))).toEqual([0]);
    expect(left(await ask({ path: "/api/b", user: "y" }))).toEqual([1]);
  });
});

describe("a limit that the request brings along", () => {
  const overridden = (requestsPerUnit: number, unit = 2) =>
    descriptor({ user: "a" }, { limit: { requestsPerUnit, unit } });

  it("counts instead of the file's, also where the file has none", async () => {
    const { ask } = makeLimiter(TWO);
    expect(await ask(overridden(1))).toMatchObject({
      overallCode: 1,
      statuses: [{ currentLimit: { requestsPerUnit: 1, unit: 2, name: "" }, remaining: 0 }],
    });
    expect(codes(await ask(overridden(1)))).toEqual([2, [2]]);
    const elsewhere = descriptor({ other: "x" }, { limit: { requestsPerUnit: 3, unit: 3 } });
    expect(left(await ask(elsewhere))).toEqual([2]);
    expect(left(await ask({ user: "a" }))).toEqual([4]);
  });

  it("counts apart from others, so that a smaller one never frees a larger one", async () => {
    const { ask } = makeLimiter(TWO);
    for (let i = 0; i < 10; i++) await ask(overridden(10));
    expect(codes(await ask(overridden(10)))[0]).toBe(2);
    expect(codes(await ask(overridden(2)))[0]).toBe(1);
    expect(codes(await ask(overridden(10)))[0]).toBe(2);
  });

  it("of 0 refuses", async () => {
    expect(codes(await makeLimiter(TWO).ask(overridden(0)))).toEqual([2, [2]]);
  });

  it("holds, rounded down, when there have been thousands of others", async () => {
    const { ask } = makeLimiter(TWO);
    for (let most = 1; most <= 4_200; most++) await ask(overridden(1_000_000 + most));
    const late = overridden(1_000);
    const { statuses } = await ask(late);
    expect(statuses[0].currentLimit?.requestsPerUnit).toBe(960);
    expect(statuses[0].remaining).toBe(959);
    expect(left(await ask(late))).toEqual([958]);
  });
});

describe("beyond the file's own limits", () => {
  it("a token bucket refills", async () => {
    const { ask, clock } = makeLimiter(`
  - key: user
    rate_limit:
      name: burst
      sluice: { tokenBucket: { capacity: 2, refillPerSecond: 1 } }`);
    expect(await ask({ user: "a" })).toMatchObject({
      statuses: [{ currentLimit: { requestsPerUnit: 2, unit: 0, name: "burst" }, remaining: 1 }],
    });
    await ask({ user: "a" });
    expect(await ask({ user: "a" })).toMatchObject({
      overallCode: 2,
      responseHeaders: [{ key: "retry-after", value: "1" }],
      statuses: [{ resetSeconds: 2 }],
    });
    clock.advance(1_000);
    expect(codes(await ask({ user: "a" }))).toEqual([1, [1]]);
    expect(codes(await ask({ user: "a" }))).toEqual([2, [2]]);
  });

  it.each([
    ["{ slidingWindowLog: { limit: 1, windowMs: 5m } }", 300_000],
    ["{ slidingWindowCounter: { limit: 1, windowMs: 5m } }", 600_000],
    ["{ fixedWindow: { limit: 1, windowMs: 5m } }", 300_000],
    ["{ leakyBucket: { ratePerSecond: 1, queueSize: 0, mode: meter } }", 1_000],
    ["{ quota: { limit: 1, period: day } }", 43_200_000],
    ["1/5m", 300_000],
  ])("%s holds over its window", async (limit, freeMs) => {
    const { ask, clock } = makeLimiter(`
  - key: user
    rate_limit: { sluice: ${limit.startsWith("{") ? limit : `"${limit}"`} }`);
    expect((await ask({ user: "a" })).overallCode).toBe(1);
    expect((await ask({ user: "a" })).overallCode).toBe(2);
    clock.advance(freeMs);
    expect((await ask({ user: "a" })).overallCode).toBe(1);
  });
});

it("calendar quotas follow the wall clock, everything else the clock that never steps", async () => {
  const clock = { now: () => START_MS, wall: () => START_MS + 6 * 3_600_000 };
  const text = toText(`
  - key: day
    rate_limit: { sluice: { quota: { limit: 1, period: day } } }
  - key: unit
    rate_limit: { unit: day, requests_per_unit: 1 }`);
  const limiter = limiterOf(text, clock);
  const descriptors = [descriptor({ day: "x" }), descriptor({ unit: "x" })];
  const { statuses } = await limiter.decide({ domain: "web", descriptors, hits: 0 });
  expect(statuses.map(({ resetSeconds }) => resetSeconds)).toEqual([6 * 3_600, 12 * 3_600]);
});

describe("keys", () => {
  const ANY = `
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 1 }
    descriptors:
      - key: path
        rate_limit: { unit: minute, requests_per_unit: 1 }`;

  it.each<[Record<string, string>, Record<string, string>]>([
    [{ user: "a|path=b" }, { user: "a", path: "b" }],
    [{ user: "a*" }, { user: "a%2A" }],
    [{ user: "é" }, { user: "e" }],
    [{ user: "a" }, { user: "A" }],
    [{ user: " " }, { user: "" }],
    [{ user: "x".repeat(5_000) }, { user: "x".repeat(5_001) }],
    [{ user: "\ud800" }, { user: "\ud801" }],
  ])("%j and %j are counted apart", async (one, other) => {
    const { ask } = makeLimiter(ANY);
    expect((await ask(one)).overallCode).toBe(1);
    expect((await ask(other)).overallCode).toBe(1);
    expect((await ask(one)).overallCode).toBe(2);
  });
});

describe("other rules", () => {
  it("keep what was used, under other numbers too", async () => {
    const { ask, limiter } = makeLimiter(TWO);
    for (let i = 0; i < 4; i++) await ask({ user: "a" });
    limiter.replace(
      rulesOf(toText(TWO.replace("requests_per_unit: 5", "requests_per_unit: 7")), limiter.rules),
    );
    expect(left(await ask({ user: "a" }))).toEqual([2]);
    limiter.replace(rulesOf(toText(TWO), limiter.rules));
    expect(codes(await ask({ user: "a" }))).toEqual([2, [2]]);
  });
});

describe("a flood under one limit", () => {
  it("is refused with one shared answer for a second, for all callers", async () => {
    const { ask, clock } = makeLimiter(TWO);
    for (const ip of ["a", "b"]) expect(codes(await ask({ ip }))).toEqual([1, [1]]);
    const first = await ask({ ip: "a" });
    expect(first.responseHeaders).toEqual([{ key: "retry-after", value: "60" }]);
    expect(first.statuses).toMatchObject([{ code: 2, remaining: 0, resetSeconds: 60 }]);
    expect(await ask({ ip: "b" })).toBe(first);
    clock.advance(1_000);
    const next = await ask({ ip: "a" });
    expect(next.responseHeaders).toEqual([{ key: "retry-after", value: "59" }]);
    expect(next.statuses).toMatchObject([{ code: 2, remaining: 0, resetSeconds: 59 }]);
    expect(encodeResponse(next)).toBe(encodeResponse(await ask({ ip: "b" })));
    expect(decodeResponse(encodeResponse(next))).toEqual(next);
  });

  it("says of each descriptor how it stands where there are several, and what is left of a larger cost", async () => {
    const { ask, askFor } = makeLimiter(TWO);
    await ask({ ip: "a" });
    const refused = await ask({ user: "x" }, { ip: "a" });
    expect([codes(refused), left(refused)]).toEqual([
      [2, [1, 2]],
      [5, 0],
    ]);
    expect(left(await askFor(6, { user: "x" }))).toEqual([5]);
    expect(left(await askFor(3, { user: "x" }))).toEqual([2]);
    expect(left(await askFor(3, { user: "x" }))).toEqual([2]);
  });
});
