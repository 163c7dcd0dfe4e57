import { memoryStore } from "sluice";
import { createPolicy, type Facts, type PolicyDecision, parseRules } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import {
  JSON_FIELDS,
  type LoggedRequest,
  type LogLineFormat,
  makeTraffic,
  toLogLine,
} from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { type FieldMap, parseFieldMap } from "../../access-logs/formats/field-map.js";
import { openSources } from "../../access-logs/reading/log-source.js";
import { replayLogs } from "./log-replay.js";
import type { LogReplayInput } from "./log-replay-input.js";
import type { ReplayReport } from "./replay-report.js";

const NOON = Date.UTC(2026, 10, 17, 12);
const FIELDS = parseFieldMap(JSON_FIELDS) as FieldMap;
const THREE = [
  { id: "all", key: "ip", limit: { tokenBucket: { capacity: 20, refillPerSecond: 2 } } },
  { id: "api", match: { path: "/api/*" }, key: "ip", limit: "15/minute" },
  {
    id: "login",
    match: { path: "/login", methods: "POST" },
    key: "ip",
    limit: "3/minute",
    when: { status: 401 },
  },
];

function toRules(rules: readonly object[]) {
  return { file: "rules.yaml", rules: parseRules({ version: 1, rules }) };
}

async function replay(
  requests: Iterable<LoggedRequest>,
  rules: readonly object[],
  options: Partial<LogReplayInput> & { readonly format?: LogLineFormat } = {},
): Promise<ReplayReport> {
  const { format = "combined", ...others } = options;
  async function* stream() {
    for (const request of requests) yield Buffer.from(`${toLogLine(format, request)}\n`);
  }
  const choice = format === "json" ? { fields: FIELDS } : {};
  const sources = await openSources([{ name: "access.log", stream: stream() }], choice);
  // Estimates are the same in each run.
  return replayLogs({ sources, rules: toRules(rules), sampleSalt: 1, ...others });
}

/** What a policy decides about the same requests, live. */
async function decideLive(
  requests: Iterable<LoggedRequest>,
  rules: readonly object[],
  unitMs = 1_000,
) {
  const clock = new ManualClock(NOON);
  const policy = createPolicy({ rules: toRules(rules).rules, store: memoryStore(), clock });
  const refused = new Map<string, number>();
  for (const { atMs, ip, method, path, host, status, user } of requests) {
    clock.set(Math.floor(atMs / unitMs) * unitMs);
    const facts: Facts = { method, path, ip, host, user };
    const decision = (await policy.admit(facts)) as PolicyDecision;
    await decision.finish({ status });
    if (!decision.allowed)
      refused.set(decision.rule ?? "", (refused.get(decision.rule ?? "") ?? 0) + 1);
  }
  return refused;
}

const request = (seconds: number, changes: Partial<LoggedRequest> = {}): LoggedRequest => ({
  atMs: NOON + seconds * 1_000,
  ip: "203.0.113.7",
  method: "GET",
  path: "/",
  status: 200,
  bodyBytes: 5,
  ...changes,
});

describe("a replay", () => {
  const shape = { requests: 50_000, callers: 300, startMs: NOON, perSecond: 200 };

  // Times of the text formats are whole seconds.
  it.each([
    ["combined", 1_000],
    ["common", 1_000],
    ["caddy", 1],
    ["envoy", 1],
    ["alb", 1],
    ["json", 1],
  ] as const)(
    "of a log in the format %s decides as the policy does live",
    async (format, unitMs) => {
      const requests = [
        ...makeTraffic({ ...shape, requests: format === "combined" ? 50_000 : 3_000 }),
      ];
      const report = await replay(requests, THREE, { format });
      const live = await decideLive(requests, THREE, unitMs);
      const replayed = report.byRule.filter(({ refused }) => refused > 0);
      expect(new Map(replayed.map(({ rule, refused }) => [rule, refused]))).toEqual(live);
      expect(live.size).toBe(3);
      expect(report.requests.total).toBe(requests.length);
      expect(report.callers.total).toBe(300);
    },
  );

  it("says per rule and key what would have been refused and when, compared with the old rules", async () => {
    const requests = Array.from({ length: 10 }, (_, at) => request(at));
    const limit = (count: number) => [
      { id: "all", limit: { fixedWindow: { limit: count, windowMs: "1h" } } },
    ];
    const report = await replay(requests, limit(4), { against: toRules(limit(7)) });
    expect(report.requests).toMatchObject({
      total: 10,
      refused: 6,
      refusedBefore: 3,
      newlyRefused: 3,
      newlyAllowed: 0,
    });
    expect(report.byRule).toMatchObject([
      {
        rule: "all",
        matched: 10,
        refused: 6,
        refusedBefore: 3,
        newlyRefused: 3,
        keysRefused: 1,
        firstMs: NOON + 4_000,
        lastMs: NOON + 9_000,
      },
    ]);
    expect(report.byRule[0]?.series).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
    expect(report.byRule[0]?.seriesBefore).toEqual([0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
    expect(report.byKey).toMatchObject([
      {
        rule: "all",
        key: "ip:203.0.113.7",
        refused: 6,
        refusedBefore: 3,
        firstMs: NOON + 4_000,
        lastMs: NOON + 9_000,
      },
    ]);
    expect(report.callers).toEqual({ total: 1, refused: 1, refusedBefore: 1, areExact: true });
  });

  it("says when the new rules refused a key, not when the old ones did", async () => {
    const onPath = (path: string) => [
      { id: "a", match: { path }, limit: { fixedWindow: { limit: 1, windowMs: "1h" } } },
    ];
    // The old rule refuses at 1 and 5 seconds, the new one at 3 in between.
    const paths = ["/old", "/old", "/new", "/new", "/none", "/old"];
    const requests = paths.map((path, at) => request(at, { path }));
    const against = toRules(onPath("/old"));
    const report = await replay(requests, onPath("/new"), { against });
    expect(report.byKey).toMatchObject([
      { refused: 1, refusedBefore: 2, firstMs: NOON + 3_000, lastMs: NOON + 3_000 },
    ]);
    const { byKey } = await replay(requests, [], { against });
    expect(byKey).toMatchObject([{ refused: 0, firstMs: NOON + 1_000, lastMs: NOON + 5_000 }]);
  });

  it("says which of the old rules were left out, and what holds for both only once", async () => {
    const [app, plan] = ["x-app", "x-plan"].map((name) => ({
      id: name,
      key: `header:${name}`,
      limit: "1/hour",
    }));
    const report = await replay([request(0)], [app as object], {
      against: toRules([app as object, plan as object]),
    });
    expect(
      report.notes.map(({ rule, isLeftOut, isAgainst }) => [rule, isLeftOut, isAgainst]),
    ).toEqual([
      ["x-app", true, false],
      ["x-plan", true, true],
    ]);
  });

  it("counts under a rule with match.ips only the addresses that it names, in whatever order callers come", async () => {
    const inside = Array.from({ length: 10 }, (_, at) => request(at + 1, { ip: "10.0.0.1" }));
    const requests = [request(0), ...inside, request(20)];
    const report = await replay(requests, [
      { id: "inside", match: { ips: ["10.0.0.0/8"] }, limit: "1/hour" },
    ]);
    expect(report.byRule).toMatchObject([{ rule: "inside", matched: 10, refused: 9 }]);
  });

  it("never has more refused callers than callers, however many there are", async () => {
    function* many() {
      for (let at = 0; at < 150_000; at++) {
        const ip = `10.${at >> 17}.${(at >> 9) & 255}.${(at >> 1) & 255}`;
        yield request(at / 10_000, { ip });
      }
    }
    const report = await replay(many(), [{ id: "all", limit: "1/hour" }]);
    const { total, refused, areExact } = report.callers;
    expect({ areExact, refused }).toEqual({ areExact: false, refused: total });
    expect(Math.abs(total / 75_000 - 1)).toBeLessThan(0.03);
  });

  it("counts as one caller whom rules count as one, in whatever way lines write the address", async () => {
    const inPrefix = Array.from({ length: 20 }, (_, at) => `2001:db8::${at + 1}`);
    const requests = [...inPrefix, "10.0.0.1", "::ffff:10.0.0.1"].map((ip, at) =>
      request(at, { ip }),
    );
    const all = { id: "all", limit: "10/hour" };
    const unheardOf = { id: "b", match: { headers: { "user-agent": "b" } }, limit: "1/hour" };
    // Rules that look at a header are decided in the general way, others by plans.
    for (const rules of [[all], [all, unheardOf]]) {
      const { callers } = await replay(requests, rules);
      expect(callers).toMatchObject({ total: 2, refused: 1 });
    }
  });

  it("counts callers by a name only if a rule does, since nginx logs any name that a client sends", async () => {
    const requests = Array.from({ length: 6 }, (_, at) =>
      request(at, { user: at < 2 ? undefined : `u${at}` }),
    );
    const byAddress = { id: "ip", limit: "3/hour" };
    const byUser = { id: "user", key: "user", onMissing: "skip", limit: "3/hour" };
    const unnamed = await replay(requests, [byAddress]);
    expect(unnamed.callers).toMatchObject({ total: 1, refused: 1 });
    const named = await replay(requests, [byAddress, byUser]);
    expect(named.callers).toMatchObject({ total: 5, refused: 3 });
    const against = await replay(requests, [byAddress], { against: toRules([byUser]) });
    expect(against.callers).toMatchObject({ total: 5, refused: 3, refusedBefore: 0 });
  });

  it("counts requests that looser rules allow again, under the rule that refused them", async () => {
    const requests = Array.from({ length: 5 }, (_, at) => request(at));
    const report = await replay(requests, [{ id: "new", limit: "100/hour" }], {
      against: toRules([{ id: "old", limit: "2/hour" }]),
    });
    expect(report.requests).toMatchObject({ refused: 0, refusedBefore: 3, newlyAllowed: 3 });
    expect(report.byRule.map(({ rule, newlyAllowed }) => [rule, newlyAllowed])).toEqual([
      ["old", 3],
      ["new", 0],
    ]);
  });

  it("finds clients behind trusted proxies only, and counts IPv6 by its prefix", async () => {
    const rules = [{ id: "all", limit: "1/hour" }];
    const requests = [
      request(0, { ip: "10.0.0.1", forwardedFor: "198.51.100.1" }),
      request(1, { ip: "10.0.0.1", forwardedFor: "6.6.6.6, 198.51.100.1" }),
      request(2, { ip: "203.0.113.9", forwardedFor: "198.51.100.1" }),
      request(3, { ip: "10.0.0.1", forwardedFor: "2001:db8::1" }),
      request(4, { ip: "10.0.0.1", forwardedFor: "2001:db8::2, 10.0.0.2" }),
    ];
    const trusting = await replay(requests, rules, { trustedProxies: ["10.0.0.0/8"] });
    expect(trusting.byKey.map(({ key }) => key).toSorted()).toEqual([
      "ip:198.51.100.1",
      "ip:2001:db8::/64",
    ]);
    expect(trusting.requests.refused).toBe(2);
    const untrusting = await replay(requests, rules);
    expect(untrusting.byKey.map(({ key, refused }) => [key, refused])).toEqual([
      ["ip:10.0.0.1", 3],
    ]);
  });

  it("leaves out rules that need what lines don't have, and says so", async () => {
    const report = await replay(
      [request(0), request(1), request(2)],
      [
        { id: "by-header", key: "header:x-app", limit: "1/hour" },
        { id: "by-body", key: "body:email", limit: "1/hour" },
        { id: "by-cookie", key: "cookie:session", limit: "1/hour" },
        { id: "by-tenant", key: "tenant", limit: "1/hour" },
        { id: "of-host", match: { host: "api.example.com" }, limit: "1/hour" },
        { id: "parallel", limit: { concurrency: { limit: 1, permitMs: "1s" } } },
        {
          id: "by-tokens",
          limit: "100/hour",
          cost: { json: "max_tokens", otherwise: 100, max: 100 },
        },
        { id: "by-network", key: "asn", limit: "1/hour" },
        { id: "of-country", match: { country: "DE" }, limit: "1/hour" },
        { id: "of-client", match: { fingerprint: "t13d" }, limit: "1/hour" },
        { id: "by-user", key: "user", limit: "1/hour" },
        { id: "mixed", limit: ["2/hour", { concurrency: { limit: 1, permitMs: "1s" } }] },
        { id: "monthly", limit: { quota: { limit: 1_000, period: "month" } } },
      ],
    );
    const leftOut = report.notes.filter(({ isLeftOut }) => isLeftOut).map(({ rule }) => rule);
    expect(leftOut).toEqual([
      "by-header",
      "by-body",
      "by-cookie",
      "by-tenant",
      "of-host",
      "parallel",
      "by-tokens",
      "by-network",
      "of-country",
      "of-client",
    ]);
    expect(
      report.notes.filter(({ isLeftOut }) => !isLeftOut).map(({ rule, why }) => `${rule}: ${why}`),
    ).toEqual([
      expect.stringMatching(/^mixed: a log does not say which requests were under way/),
      "by-user: no line names a user, so every request was counted by its address",
      ...["by-user", "mixed", "monthly"].map((rule) =>
        expect.stringContaining(`${rule}: it counts over a longer time`),
      ),
    ]);
    expect(new Map(report.byRule.map(({ rule, refused }) => [rule, refused]))).toEqual(
      new Map([
        ["by-user", 2],
        ["mixed", 0],
        ["monthly", 0],
      ]),
    );
  });

  it("leaves out no rule because of a log without content, as after a rotation", async () => {
    const lines = [0, 1].map((at) => toLogLine("caddy", request(at, { host: "api.example.com" })));
    async function* stream(...chunks: readonly string[]) {
      for (const chunk of chunks) yield Buffer.from(chunk);
    }
    const inputs = [
      { name: "access.log", stream: stream() },
      { name: "access.log.1", stream: stream(lines.join("\n")) },
    ];
    const sources = await openSources(inputs, {});
    const rules = toRules([
      {
        id: "of-host",
        match: { host: "api.example.com" },
        limit: { fixedWindow: { limit: 1, windowMs: "1s" } },
      },
    ]);
    const report = await replayLogs({ sources, rules });
    expect(report.notes).toEqual([]);
    expect(report.byRule).toMatchObject([{ rule: "of-host", matched: 2 }]);
    expect(report.log.files.map(({ format }) => format)).toEqual(["Caddy JSON", "empty"]);
  });

  it("reads headers that lines have, and counts what rules in shadow would refuse", async () => {
    const rules = [
      {
        id: "curl",
        match: { headers: { "user-agent": "curl/8.0" } },
        limit: "1/hour",
        onExceed: "shadow",
      },
    ];
    const requests = [0, 1, 2].map((at) =>
      request(at, { userAgent: at === 1 ? "other" : "curl/8.0" }),
    );
    const report = await replay(requests, rules);
    expect(report.byRule).toMatchObject([{ matched: 2, refused: 0, shadowRefused: 1 }]);
    expect(report.requests.refused).toBe(0);
  });

  it("counts what any limit of a rule in shadow would refuse, each request once", async () => {
    const limitsOf = (limit: readonly string[]) =>
      replay(
        Array.from({ length: 10 }, (_, at) => request(at)),
        [{ id: "all", limit, onExceed: "shadow" }],
      );
    for (const limit of [
      ["100/second", "2/hour"],
      ["2/hour", "100/second"],
      ["2/hour", "2/day"],
    ])
      expect((await limitsOf(limit)).byRule).toMatchObject([{ matched: 10, shadowRefused: 8 }]);
  });

  it("judges rules of every consistency, region and store as one process in memory", async () => {
    const each = (id: string, more: object) => ({
      id,
      match: { path: `/${id}` },
      limit: { fixedWindow: { limit: 2, windowMs: "1d" } },
      ...more,
    });
    const rules = [
      each("leased", { consistency: "leased" }),
      each("eventual", { consistency: "eventual" }),
      each("central", { across: "central" }),
      each("sharded", {
        shards: 2,
        key: "global",
        limit: { fixedWindow: { limit: 4, windowMs: "1d" } },
      }),
      {
        id: "durable",
        match: { path: "/durable" },
        durable: true,
        limit: { quota: { limit: 2, period: "month" } },
      },
    ];
    const requests = rules.flatMap(({ id }) =>
      [0, 1, 2].map((at) => request(at, { path: `/${id}` })),
    );
    const report = await replay(requests, rules);
    expect(report.requests.refused).toBe(5);
    expect(
      report.notes.some(({ rule, why }) => rule === "central" && why.includes("one region")),
    ).toBe(true);
  });

  it("blocks callers as rules with escalate do", async () => {
    const limit = { fixedWindow: { limit: 1, windowMs: "1s" } };
    const escalate = { after: "3 refusals in 1m", blocks: ["10m"] };
    const requests = Array.from({ length: 60 }, (_, at) => request(Math.floor(at / 2)));
    const plain = await replay(requests, [{ id: "all", limit }]);
    const blocking = await replay(requests, [{ id: "all", limit, escalate }]);
    expect(plain.requests.refused).toBe(30);
    expect(blocking.requests.refused).toBeGreaterThan(50);
  });

  it("hashes keys and hides lines on request", async () => {
    const requests = [request(0), request(1)];
    const hashKey = (key: string) => `hmac:${key.length}`;
    const report = await replay(requests, [{ id: "all", limit: "1/hour" }], { hashKey });
    expect(JSON.stringify(report)).not.toContain("203.0.113.7");
    expect(report.byKey).toMatchObject([{ key: "hmac:14" }]);
  });

  it("says what its memory could not hold: keys of a service of that size, and entries of sliding logs", async () => {
    const requests = Array.from({ length: 2_500 }, (_, at) =>
      request(at / 1_000, { ip: `10.0.${at >> 8}.${at & 255}`, user: `u${at}` }),
    );
    const rules = (limit: (hours: string) => unknown) => [
      { id: "ip", limit: limit("1h") },
      { id: "user", key: "user", limit: limit("1d") },
    ];
    const ofKeys = rules((windowMs) => ({ fixedWindow: { limit: 1, windowMs } }));
    const ofLogs = rules((windowMs) => ({ slidingWindowLog: { limit: 1, windowMs } }));
    const keys = await replay(requests, ofKeys, { keysMax: 1_000 });
    expect(keys.remarks).toContainEqual(
      expect.stringMatching(/^3,000 keys in use had to make room/),
    );
    expect(keys.requests.refused).toBe(0);
    const full = await replay(requests, ofLogs, { keysMax: 1_000 });
    expect(full.requests.refused).toBeGreaterThan(1_000);
    const why = "requests were also refused because the memory for sliding window logs was full";
    expect(full.remarks).toContainEqual(expect.stringContaining(why));
    expect((await replay(requests, ofLogs)).remarks.join()).not.toContain("memory");
    const against = { against: toRules(ofLogs), keysMax: 1_000 };
    const compared = await replay(requests, [], against);
    expect(compared.remarks).toContainEqual(expect.stringContaining(why));
  });

  it("of a log without requests has nothing to report", async () => {
    const report = await replay([], THREE);
    expect(report).toMatchObject({ fromMs: null, requests: { total: 0 }, byRule: [], byKey: [] });
  });

  it("lists the keys with most refusals when more were refused than it watches", async () => {
    function* many() {
      for (let at = 0; at < 8_000; at++) {
        const ip = `10.1.${at >> 8}.${at & 255}`;
        yield request(at / 1_000, { ip });
        yield request(at / 1_000, { ip });
        if (at % 10 === 0) yield request(at / 1_000, { ip: "203.0.113.99" });
      }
    }
    const report = await replay(many(), [{ id: "all", limit: "1/hour" }]);
    expect(report.areKeysExact).toBe(false);
    expect(report.byKey[0]).toMatchObject({ key: "ip:203.0.113.99", refused: 799 });
    expect(report.requests.refused).toBe(8_799);
    const [rule] = report.byRule;
    expect(Math.abs((rule?.keysRefused ?? 0) / 8_001 - 1)).toBeLessThan(0.15);
  });
});
