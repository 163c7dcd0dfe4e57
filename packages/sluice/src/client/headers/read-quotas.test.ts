import { describe, expect, it } from "vitest";
import type { QuotaReport } from "./quota-report.js";
import { QuotaReader } from "./read-quotas.js";

const WALL_MS = Date.UTC(2026, 10, 17, 6, 0, 0);
const DATE = "Tue, 17 Nov 2026 06:00:00 GMT";
const EPOCH_SECONDS = WALL_MS / 1_000;

type Fields = Readonly<Record<string, string>>;

function read(fields: Fields, reader = new QuotaReader()): readonly QuotaReport[] {
  return reader.read(new Headers(fields), WALL_MS, false);
}

/** One report, of requests unless it says otherwise. */
function quota(
  name: string,
  limit: number | undefined,
  remaining: number,
  resetMs: number | undefined,
): QuotaReport {
  return { name, limit, remaining, resetMs, isOfRequests: true };
}

describe("the RateLimit fields", () => {
  it.each<[string, Fields, readonly QuotaReport[]]>([
    [
      "draft 11, one policy",
      { "ratelimit-policy": '"hour";q=1000;w=3600', ratelimit: '"hour";r=100;t=360' },
      [{ ...quota("hour", 1_000, 100, 360_000), windowMs: 3_600_000 }],
    ],
    [
      "draft 11, several policies, of which one is reported",
      {
        "ratelimit-policy": '"hour";q=1000;w=3600, "day";q=5000;w=86400',
        ratelimit: '"day";r=100;t=600',
      },
      [{ ...quota("day", 5_000, 100, 600_000), windowMs: 3_600_000 }],
    ],
    [
      "draft 8 without a policy",
      { ratelimit: '"default";r=50;t=30' },
      [quota("default", undefined, 50, 30_000)],
    ],
    ["a token for a name", { ratelimit: "burst;r=5;t=1" }, [quota("burst", undefined, 5, 1_000)]],
    [
      "the proposed names of parameters",
      { ratelimit: '"default";a=7;w=9' },
      [quota("default", undefined, 7, 9_000)],
    ],
    ["no time", { ratelimit: '"default";r=7' }, [quota("default", undefined, 7, undefined)]],
    [
      "permits, which are not requests",
      { "ratelimit-policy": '"conc";q=20;qu="concurrent-requests"', ratelimit: '"conc";r=0' },
      [{ ...quota("conc", 20, 0, undefined), isOfRequests: false }],
    ],
    [
      "draft 7",
      { "ratelimit-policy": "100;w=60", ratelimit: "limit=100, remaining=50, reset=30" },
      [{ ...quota("", 100, 50, 30_000), windowMs: 60_000 }],
    ],
    [
      "draft 6",
      {
        "ratelimit-policy": "100;w=60",
        "ratelimit-limit": "100",
        "ratelimit-remaining": "50",
        "ratelimit-reset": "30",
      },
      [{ ...quota("", 100, 50, 30_000), windowMs: 60_000 }],
    ],
    [
      "an early draft, with policies behind the limit",
      { "ratelimit-limit": "10, 10;w=1", "ratelimit-remaining": "9", "ratelimit-reset": "1" },
      [quota("", 10, 9, 1_000)],
    ],
  ])("of %s", (_what, fields, reports) => {
    expect(read(fields)).toEqual(reports);
  });

  it("show by the partition key whether two responses are about one counter", () => {
    const [one] = read({ ratelimit: '"user";r=5;t=1;pk=:AQI=:' });
    const [other] = read({ ratelimit: '"user";r=5;t=1;pk=:AQM=:' });
    expect(one?.partitionKey).toBeDefined();
    expect(one?.partitionKey).not.toBe(other?.partitionKey);
  });

  it.each([
    ["a negative remaining", '"a";r=-1;t=5'],
    ["a fraction", '"a";r=1.5;t=5'],
    ["no remaining", '"a";t=5'],
    ["a string for a number", '"a";r="5";t=5'],
    ["numbers that are too long", '"a";r=9999999999999999;t=5'],
    ["a field cut off", '"a";r=5;t='],
    ["a policy in place of a state", "100;w=60"],
    [
      "thousands of policies",
      Array.from({ length: 2_000 }, (_, i) => `"p${i}";r=0;t=9`).join(", "),
    ],
    ["draft 7 with a word for a number", "limit=100, remaining=many, reset=3"],
  ])("with %s are ignored", (_what, field) => {
    expect(read({ ratelimit: field })).toEqual([]);
  });

  it("make the client wait no longer than an hour", () => {
    const [report] = read({ ratelimit: '"a";r=0;t=999999999999999' });
    expect(report?.resetMs).toBe(3_600_000);
  });

  it("on a response from a cache are ignored, and not on one that a proxy has just fetched", () => {
    const fields = { ratelimit: '"a";r=5;t=5' };
    expect(read({ ...fields, age: "12" })).toEqual([]);
    expect(read({ ...fields, age: "0" })).toHaveLength(1);
  });
});

// With made-up times: the names and forms are those that the services document, or that responses in public bug reports
// have. What was recorded is in `recorded-headers.test.ts`. A service that changes its headers is not noticed by either.
describe("the headers of", () => {
  it.each<[string, Fields, readonly QuotaReport[]]>([
    [
      "GitHub",
      {
        date: DATE,
        "x-ratelimit-limit": "5000",
        "x-ratelimit-remaining": "4987",
        "x-ratelimit-reset": `${EPOCH_SECONDS + 1_800}`,
        "x-ratelimit-used": "13",
        "x-ratelimit-resource": "core",
      },
      [quota("core", 5_000, 4_987, 1_800_000)],
    ],
    [
      "GitHub's secondary limit, which has something left",
      {
        date: DATE,
        "x-ratelimit-limit": "30",
        "x-ratelimit-remaining": "14",
        "x-ratelimit-reset": `${EPOCH_SECONDS + 31}`,
        "x-ratelimit-used": "16",
        "x-ratelimit-resource": "search",
      },
      [quota("search", 30, 14, 31_000)],
    ],
    [
      "Reddit, which writes fractions and no limit",
      {
        "x-ratelimit-used": "2",
        "x-ratelimit-remaining": "598.0",
        "x-ratelimit-reset": "349",
      },
      [quota("", undefined, 598, 349_000)],
    ],
    [
      "Azure, which writes -1 where it does not say",
      {
        "x-ratelimit-limit-tokens": "-1",
        "x-ratelimit-remaining-tokens": "-1",
        "x-ratelimit-reset-tokens": "0",
      },
      [],
    ],
    [
      "Discord",
      {
        "x-ratelimit-limit": "5",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": `${EPOCH_SECONDS + 1}.470`,
        "x-ratelimit-reset-after": "0.470",
        "x-ratelimit-bucket": "abcd1234",
      },
      [quota("abcd1234", 5, 0, 470)],
    ],
    [
      "OpenAI",
      {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-limit-tokens": "150000",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-remaining-tokens": "149984",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-reset-tokens": "6m0s",
      },
      [
        quota("requests", 60, 59, 1_000),
        { ...quota("tokens", 150_000, 149_984, 360_000), isOfRequests: false },
      ],
    ],
    [
      "Anthropic",
      {
        date: DATE,
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2026-11-17T06:00:02Z",
        "anthropic-ratelimit-tokens-limit": "80000",
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-tokens-reset": "2026-11-17T06:00:20Z",
        "anthropic-ratelimit-input-tokens-limit": "64000",
        "anthropic-ratelimit-input-tokens-remaining": "0",
        // Before the response's own Date, as real ones are while nothing is used up.
        "anthropic-ratelimit-input-tokens-reset": "2026-11-17T05:59:59Z",
      },
      [
        quota("requests", 50, 49, 2_000),
        { ...quota("tokens", 80_000, 0, 20_000), isOfRequests: false },
        { ...quota("input-tokens", 64_000, 0, 0), isOfRequests: false },
      ],
    ],
    [
      "Cloudflare, whose names differ",
      { ratelimit: '"default";r=50;t=30', "ratelimit-policy": '"burst";q=100;w=60' },
      [{ ...quota("default", 100, 50, 30_000), windowMs: 60_000 }],
    ],
    [
      "GitLab, whose reset is in seconds since 1970",
      {
        date: DATE,
        "ratelimit-limit": "600",
        "ratelimit-observed": "6",
        "ratelimit-remaining": "594",
        "ratelimit-reset": `${EPOCH_SECONDS + 57}`,
        "ratelimit-resettime": "Tue, 17 Nov 2026 06:00:57 GMT",
      },
      [quota("", 600, 594, 57_000)],
    ],
    [
      "Docker Hub, which has a window and no reset",
      {
        "ratelimit-limit": "100;w=21600",
        "ratelimit-remaining": "76;w=21600",
        "docker-ratelimit-source": "192.0.2.7",
      },
      [{ ...quota("", 100, 76, undefined), windowMs: 3_600_000 }],
    ],
    [
      "X",
      {
        date: DATE,
        "x-rate-limit-limit": "900",
        "x-rate-limit-remaining": "899",
        "x-rate-limit-reset": `${EPOCH_SECONDS + 900}`,
      },
      [quota("", 900, 899, 900_000)],
    ],
    [
      "Stripe, which has none",
      { "stripe-rate-limited-reason": "global-rate", "retry-after": "2" },
      [],
    ],
    ["Shopify, which has no reset", { "x-shopify-shop-api-call-limit": "32/40" }, []],
    [
      "@fastify/rate-limit",
      { "x-ratelimit-limit": "10", "x-ratelimit-remaining": "9", "x-ratelimit-reset": "60" },
      [quota("", 10, 9, 60_000)],
    ],
  ])("%s", (_service, fields, reports) => {
    expect(read(fields)).toEqual(reports);
  });

  it.each(["-1", "NaN", "many", "1e3", "5.", ".5", ""])(
    "a remaining of %j are ignored",
    (remaining) => {
      expect(read({ "x-ratelimit-remaining": remaining, "x-ratelimit-reset": "5" })).toEqual([]);
    },
  );
});

describe("a reader", () => {
  const github = { "x-ratelimit-remaining": "5", "x-ratelimit-reset": "5" };

  it("that has found nothing looks at few responses, and at every refusal", () => {
    const reader = new QuotaReader();
    for (let i = 0; i < 100; i++) read({}, reader);
    const asked: string[] = [];
    const headers = { get: (name: string) => void asked.push(name) };
    for (let i = 0; i < 7; i++) reader.read(headers, WALL_MS, false);
    const few = asked.length;
    reader.read(headers, WALL_MS, true);
    expect(asked.length).toBeGreaterThan(few);
    expect(reader.read(new Headers(github), WALL_MS, true)).toHaveLength(1);
  });

  it("that found a form finds another one later", () => {
    const reader = new QuotaReader();
    expect(read(github, reader)).toHaveLength(1);
    expect(read({ ratelimit: '"a";r=5;t=5' }, reader)).toHaveLength(1);
    expect(read({}, reader)).toEqual([]);
    expect(read(github, reader)).toHaveLength(1);
  });
});
