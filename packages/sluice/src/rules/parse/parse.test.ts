import { describe, expect, it } from "vitest";
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import type { Rule } from "../rule.js";
import { parseRules } from "./parse.js";

function ruleOf(fields: string): Rule {
  const lines = fields.split("\n").map((line) => `    ${line}`);
  return parseRules(`version: 1\nrules:\n  - id: a\n${lines.join("\n")}\n`).rules[0];
}

describe("a rule that says only what it must", () => {
  it("has every default filled in", () => {
    const source = { version: 1, rules: [{ id: "a", limit: "100/minute" }] };
    expect(parseRules(source)).toEqual({
      version: expect.any(String),
      isEnabled: true,
      ipv6Prefix: 64,
      exempt: { ips: undefined, ranges: [], keys: new Set() },
      rules: [
        {
          id: "a",
          isEnabled: true,
          match: {
            paths: [],
            methods: [],
            hosts: [],
            headers: new Map(),
            attributes: new Map(),
          },
          key: [{ kind: "ip" }],
          onMissing: "ip",
          limits: [slidingWindowLog({ limit: 100, windowMs: 60_000 })],
          tiers: new Map(),
          overrides: new Map(),
          cost: { kind: "constant", units: 1 },
          settle: undefined,
          when: undefined,
          onExceed: "reject",
          delayMsMax: 0,
          rolloutPercent: 100,
          consistency: "strict",
          onStoreFailure: undefined,
          timeoutMs: undefined,
          priority: 0,
          isExposed: true,
          shards: 1,
          exempt: { ips: undefined, ranges: [], keys: new Set() },
          place: undefined,
        },
      ],
    });
  });

  it("knows its place in a string", () => {
    const text = "version: 1\nrules:\n\n  - limit: 1/second\n    id: a\n";
    expect(parseRules(text, { file: "sluice.yaml" }).rules[0].place).toBe("sluice.yaml:4");
    expect(parseRules(text).rules[0].place).toBe("line 4");
  });

  it("is the same whether its fields are left out or undefined", () => {
    const limit = "1/second";
    const rule = { id: "a", limit, key: undefined, tiers: undefined, match: { path: undefined } };
    const one = parseRules({ version: 1, rules: [rule], exempt: undefined });
    expect(one).toEqual(parseRules({ version: 1, rules: [{ id: "a", limit }] }));
  });
});

describe("many rules", () => {
  const text = `version: 1
rules:
  - { id: a, limit: 5/minute }
  - { id: b, limit: { slidingWindowLog: { limit: 5, windowMs: 1m } } }
  - { id: c, limit: 6/minute, tiers: { free: 5/minute } }
`;

  it("share one object for equal limits, and one for empty maps", () => {
    const [a, b, c] = parseRules(text).rules;
    expect(b.limits[0]).toBe(a.limits[0]);
    expect(c.tiers.get("free")?.[0]).toBe(a.limits[0]);
    expect(c.limits[0]).not.toBe(a.limits[0]);
    expect(b.match.headers).toBe(a.match.attributes);
    expect(b.exempt).toBe(a.exempt);
  });

  it("are not parsed again if the text is the same as the last one", () => {
    const rules = parseRules(text, { file: "a.yaml" });
    expect(parseRules(`${text} `.slice(0, -1), { file: "a.yaml" })).toBe(rules);
    expect(parseRules(text, { file: "b.yaml" })).not.toBe(rules);
    expect(parseRules(text.replace("id: a", "id: d"), { file: "b.yaml" }).rules[0].id).toBe("d");
    expect(parseRules(text, { file: "b.yaml" }).rules[0].place).toBe("b.yaml:3");
  });

  it("that are invalid are reported each time", () => {
    for (let i = 0; i < 2; i++) expect(() => parseRules("version: 7")).toThrow("version");
  });
});

describe("limit", () => {
  it.each([
    ["100/minute", slidingWindowLog({ limit: 100, windowMs: 60_000 })],
    ["10/second", slidingWindowLog({ limit: 10, windowMs: 1_000 })],
    ["1/hour", slidingWindowLog({ limit: 1, windowMs: 3_600_000 })],
    ["1/day", slidingWindowLog({ limit: 1, windowMs: 86_400_000 })],
    ["101/minute", slidingWindowCounter({ limit: 101, windowMs: 60_000 })],
    ["100/5m", slidingWindowLog({ limit: 100, windowMs: 300_000 })],
    ["7/500ms", slidingWindowLog({ limit: 7, windowMs: 500 })],
    [
      "{ tokenBucket: { capacity: 5, refillPerSecond: 0.5 } }",
      tokenBucket({ capacity: 5, refillPerSecond: 0.5 }),
    ],
    [
      "{ tokenBucket: { capacity: 5, refill: { amount: 100, everyMs: 1m } } }",
      tokenBucket({ capacity: 5, refill: { amount: 100, everyMs: 60_000 } }),
    ],
    [
      "{ leakyBucket: { ratePerSecond: 2, queueSize: 9 } }",
      leakyBucket({ ratePerSecond: 2, queueSize: 9 }),
    ],
    [
      "{ leakyBucket: { ratePerSecond: 2, queueSize: 0, mode: meter } }",
      leakyBucket({ ratePerSecond: 2, queueSize: 0, mode: "meter" }),
    ],
    [
      "{ fixedWindow: { limit: 5, windowMs: 10s, align: key } }",
      fixedWindow({ limit: 5, windowMs: 10_000, align: "key" }),
    ],
    [
      "{ slidingWindowCounter: { limit: 5, windowMs: 250 } }",
      slidingWindowCounter({ limit: 5, windowMs: 250 }),
    ],
    [
      "{ slidingWindowLog: { limit: 5, windowMs: 1h } }",
      slidingWindowLog({ limit: 5, windowMs: 3_600_000 }),
    ],
    [
      "{ concurrency: { limit: 5, permitMs: 7d } }",
      concurrency({ limit: 5, permitMs: 604_800_000 }),
    ],
    ["{ quota: { limit: 5, period: day } }", quota({ limit: 5, period: "day" })],
    [
      "{ quota: { limit: 5, period: month, timeZone: Europe/Paris, anchor: 15 } }",
      quota({ limit: 5, period: "month", timeZone: "Europe/Paris", anchor: 15 }),
    ],
    [
      "{ quota: { limit: 5, period: week, anchor: 2024-01-31T09:30 } }",
      quota({ limit: 5, period: "week", anchor: "2024-01-31T09:30" }),
    ],
  ])("%s is read as the constructor makes it", (text, limit) => {
    expect(ruleOf(`limit: ${text}`).limits).toEqual([limit]);
  });

  it("may be one that a constructor made, in code", () => {
    const limit = tokenBucket({ capacity: 5, refillPerSecond: 1 });
    const { rules } = parseRules({
      version: 1,
      rules: [{ id: "a", limit: [limit, "5/day"], tiers: { pro: limit } }],
    });
    expect(rules[0].limits[0]).toBe(limit);
    expect(rules[0].tiers.get("pro")).toEqual([limit]);
  });

  it("may be unlimited for a tier, for a key, and for all whom no tier limits", () => {
    const rule = ruleOf(
      'key: user\nlimit: unlimited\ntiers: { free: 5/minute, pro: unlimited }\noverrides: { "user:42": unlimited }',
    );
    expect(rule.limits).toEqual([]);
    expect(rule.tiers.get("pro")).toEqual([]);
    expect(rule.overrides.get("user:42")).toEqual([]);
  });

  it("with windowJitter aligns fixed windows by key, wherever they stand", () => {
    const window = "{ fixedWindow: { limit: 5, windowMs: 1m } }";
    const rule = ruleOf(
      `limit: [${window}, 50/day]\ntiers: { pro: ${window} }\noverrides: { "ip:203.0.113.7": ${window} }\nwindowJitter: true`,
    );
    const jittered = fixedWindow({ limit: 5, windowMs: 60_000, align: "key" });
    expect(rule.limits[0]).toEqual(jittered);
    expect(rule.limits[1].algorithm).toBe("slidingWindowLog");
    expect(rule.tiers.get("pro")).toEqual([jittered]);
    expect(rule.overrides.get("ip:203.0.113.7")).toEqual([jittered]);
  });
});

describe("match", () => {
  it("is normalised, so that it can be compared with normalised requests", () => {
    const { match } = ruleOf(`limit: 1/second
match:
  path: [/Login/, "//Users//:id", /files/*, /]
  methods: [get, Post]
  host: [API.Example.com, "*.Example.com"]
  headers: { X-Plan: Free, x-any: true, x-n: [1, two] }
  attributes: { country: [DE, FR], tier: pro, asn: 64500 }`);
    expect(match.paths).toEqual(["/login", "/users/:id", "/files/*", "/"]);
    expect(match.methods).toEqual(["GET", "POST"]);
    expect(match.hosts).toEqual(["api.example.com", "*.example.com"]);
    expect([...match.headers]).toEqual([
      ["x-plan", ["Free"]],
      ["x-any", []],
      ["x-n", ["1", "two"]],
    ]);
    expect([...match.attributes]).toEqual([
      ["country", ["DE", "FR"]],
      ["tier", ["pro"]],
      ["asn", ["64500"]],
    ]);
  });
});

describe("key", () => {
  it.each([
    ["user", { kind: "user" }],
    ["apiKey", { kind: "apiKey" }],
    ["tenant", { kind: "tenant" }],
    ["endpoint", { kind: "endpoint" }],
    ["global", { kind: "global" }],
    ["subnet:24/48", { kind: "ipPrefix", ipv4: 24, ipv6: 48 }],
    ["header:X-Account", { kind: "header", name: "x-account" }],
    ["cookie:Session", { kind: "cookie", name: "Session" }],
    ["body:user name", { kind: "body", name: "user name" }],
    ["attribute:geo:country", { kind: "attribute", name: "geo:country" }],
  ])("%s is a dimension", (text, dimension) => {
    expect(ruleOf(`limit: 1/second\nkey: "${text}"`).key).toEqual([dimension]);
    expect(
      ruleOf(`limit: 1/second\nkey: [tenant:x, "${text}"]`.replace("tenant:x", "header:z")).key[1],
    ).toEqual(dimension);
  });

  it("of overrides and exemptions is brought to the form in which it is counted", () => {
    const { rules, exempt } = parseRules({
      version: 1,
      ipv6Prefix: 56,
      exempt: { keys: ["ip:2001:DB8:0:12ff::1", "tenant: acme | user: 7"], ips: ["loopback"] },
      rules: [
        {
          id: "a",
          limit: "5/second",
          overrides: { "ip:2001:db8:0:1234::7": "6/second", "ip:::ffff:203.0.113.7": "7/second" },
          exempt: { keys: ["ip:2001:db8:0:1200::/56"], ips: ["10.0.0.0/8"] },
        },
      ],
    });
    expect([...rules[0].overrides.keys()]).toEqual(["ip:2001:db8:0:1200::/56", "ip:203.0.113.7"]);
    expect([...rules[0].exempt.keys]).toEqual(["ip:2001:db8:0:1200::/56"]);
    expect(rules[0].exempt.ips?.has("10.1.2.3")).toBe(true);
    expect(rules[0].exempt.ranges).toEqual(["10.0.0.0/8"]);
    expect([...exempt.keys]).toEqual(["ip:2001:db8:0:1200::/56", "tenant:acme|user:7"]);
    expect(exempt.ips?.has("127.0.0.1")).toBe(true);
  });

  it("of an override may be an address where the rule falls back to it", () => {
    const rule = ruleOf('limit: 1/second\nkey: user\noverrides: { "ip:203.0.113.7": 5/second }');
    expect([...rule.overrides.keys()]).toEqual(["ip:203.0.113.7"]);
  });
});

describe("cost, settle and when", () => {
  it.each([
    ["cost: 3", { kind: "constant", units: 3 }],
    [
      "cost: { methods: { post: 5, GET: 0 } }",
      {
        kind: "method",
        byMethod: new Map([
          ["POST", 5],
          ["GET", 0],
        ]),
        otherwise: 1,
      },
    ],
    [
      "cost: { header: X-Cost, max: 50, otherwise: 2 }",
      { kind: "header", name: "x-cost", min: 1, max: 50, otherwise: 2 },
    ],
    [
      "cost: { json: max_completion_tokens|max_tokens, max: 50, otherwise: 2 }",
      {
        kind: "json",
        sum: [[["max_completion_tokens"], ["max_tokens"]]],
        min: 1,
        max: 50,
        otherwise: 2,
      },
    ],
    ["cost: { function: tokens }", { kind: "function", name: "tokens" }],
  ])("%s", (text, cost) => {
    expect(ruleOf(`limit: 10/second\n${text}`).cost).toEqual(cost);
  });

  it.each([
    ["settle: code", { kind: "code" }],
    ["settle: bytes", { kind: "bytes" }],
    ["settle: { header: X-Units }", { kind: "header", name: "x-units" }],
    [
      "settle: { json: usage.total_tokens }",
      { kind: "json", sum: [[["usage", "total_tokens"]]], onAbort: "estimated" },
    ],
    [
      "settle: { json: [a.b | c, d], onAbort: seen }",
      { kind: "json", sum: [[["a", "b"], ["c"]], [["d"]]], onAbort: "seen" },
    ],
  ])("%s", (text, settle) => {
    expect(ruleOf(`limit: 10/second\ncost: 0\n${text}`).settle).toEqual(settle);
  });

  it.each([
    ["when: { status: [401, 4xx] }", { statuses: [401, 4], isCounted: true }],
    ["when: { statusNot: 304 }", { statuses: [304], isCounted: false }],
  ])("%s", (text, when) => {
    expect(ruleOf(`limit: 10/second\n${text}`).when).toEqual(when);
  });
});

describe("the rest of a rule", () => {
  it("is read field by field", () => {
    const rule = ruleOf(`enabled: false
key: global
onMissing: refuse
limit: { tokenBucket: { capacity: 500, refillPerSecond: 100 } }
rollout: 12.5
consistency: leased
onStoreFailure: closed
timeoutMs: 1s
priority: -5
expose: false
shards: 16`);
    expect(rule).toMatchObject({
      isEnabled: false,
      onMissing: "refuse",
      rolloutPercent: 12.5,
      consistency: "leased",
      onStoreFailure: "closed",
      timeoutMs: 1_000,
      priority: -5,
      isExposed: false,
      shards: 16,
    });
  });

  it.each(["strict", "local"])("may delay under %s consistency", (consistency) => {
    const bucket = "{ tokenBucket: { capacity: 5, refillPerSecond: 1 } }";
    const rule = ruleOf(
      `limit: ${bucket}\nonExceed: delay\ndelayMsMax: 2s\nconsistency: ${consistency}`,
    );
    expect(rule).toMatchObject({ onExceed: "delay", delayMsMax: 2_000, consistency });
  });

  it("may hold permits beside rates, settle, when and shadow", () => {
    const rule = ruleOf(
      "limit: [{ concurrency: { limit: 1, permitMs: 1m } }, 5/minute]\ncost: 5\nsettle: code\nwhen: { status: 5xx }\nonExceed: shadow",
    );
    expect(rule.limits).toHaveLength(2);
  });
});

describe("the file", () => {
  it("may be switched off, and may have no rules", () => {
    expect(parseRules("version: 1\nenabled: false\nipv6Prefix: 48\nrules: []")).toMatchObject({
      isEnabled: false,
      ipv6Prefix: 48,
      rules: [],
    });
  });
});
