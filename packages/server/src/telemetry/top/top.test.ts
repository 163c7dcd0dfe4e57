import { createPolicy, type Facts } from "sluice/rules";
import { describe, expect, it } from "vitest";
import { createTelemetry } from "../create-telemetry.js";
import { mergeMetrics, mergeTop } from "../merge.js";

const windowOf = (limit: number) => ({
  fixedWindow: { limit, windowMs: 3_600_000, align: "first" },
});
const RULES = {
  version: 1,
  rules: [
    { id: "login", match: { path: "/login" }, key: "user", limit: windowOf(10) },
    { id: "api", match: { path: "/api/*" }, key: "user", limit: windowOf(1_000) },
  ],
};

function setUp(keySecret = "shared") {
  let nowMs = 0;
  const telemetry = createTelemetry(
    { logLevel: "silent", decisionLogShare: 0, region: "local", topKeysMax: 3 },
    { hasProcessMetrics: false, keySecret, readMs: () => nowMs },
  );
  const policy = createPolicy({ rules: RULES });
  const decide = async (path: string, user: string, times: number) => {
    const facts: Facts = { method: "GET", path, user };
    for (let i = 0; i < times; i++) telemetry.decided("gateway", await policy.admit(facts), facts);
  };
  const moveTo = (ms: number) => {
    nowMs = ms;
  };
  return { telemetry, policy, decide, moveTo };
}

describe("the top report", () => {
  it("ranks rules by their rate, and keys by requests and by refusals", async () => {
    const { telemetry, decide, moveTo } = setUp();
    await decide("/login", "ann", 30);
    await decide("/api/x", "bob", 60);
    for (const user of ["c", "d", "e"]) await decide("/api/x", user, 1);
    moveTo(2_000);
    const report = telemetry.top({ showsKeys: true });
    expect(report.seconds).toBe(2);
    expect(report.rules).toMatchObject([
      { rule: "api", keyType: "user", endpoint: "/api/*", allowedPerSecond: 31.5, allowed: 63 },
      { rule: "login", allowedPerSecond: 5, blockedPerSecond: 10, allowed: 10, blocked: 20 },
    ]);
    expect(report.hottest.slice(0, 2)).toEqual([
      { rule: "api", key: "user:bob", perSecond: 30 },
      { rule: "login", key: "user:ann", perSecond: 15 },
    ]);
    expect(report.hottest.length).toBe(3);
    expect(report.mostRefused).toEqual([{ rule: "login", key: "user:ann", perSecond: 10 }]);
  });

  it("is about one rule if asked, and hashes keys unless configured otherwise", async () => {
    const { telemetry, decide } = setUp();
    await decide("/login", "ann", 1);
    await decide("/api/x", "ann", 1);
    const report = telemetry.top({ rule: "login" });
    expect(report.rules.map(({ rule }) => rule)).toEqual(["login"]);
    expect(report.hottest).toMatchObject([{ rule: "login" }]);
    expect(JSON.stringify(report)).not.toContain("ann");
    expect(telemetry.top({ rule: "no such" }).rules).toEqual([]);
  });

  it("covers the last five to ten seconds only, and forgets when no requests come", async () => {
    const { telemetry, decide, moveTo } = setUp();
    await decide("/login", "ann", 10);
    moveTo(5_500);
    await decide("/login", "ann", 1);
    expect(telemetry.top().rules[0]).toMatchObject({ allowedPerSecond: 10 / 5.5, blocked: 1 });
    moveTo(10_500);
    expect(telemetry.top().rules[0]).toMatchObject({ allowedPerSecond: 0, allowed: 10 });
    expect(telemetry.top().hottest).toMatchObject([{ perSecond: 1 / 5.5 }]);
    moveTo(60_000);
    expect(telemetry.top().hottest).toEqual([]);
  });
});

describe("several processes as one", () => {
  it("add up rates and keys in the top report", async () => {
    const [a, b] = [setUp(), setUp()];
    await a.decide("/login", "ann", 4);
    await b.decide("/login", "ann", 5);
    await b.decide("/api/x", "bob", 6);
    const merged = mergeTop([a.telemetry.top(), b.telemetry.top()], 1);
    expect(merged.rules).toMatchObject([
      { rule: "login", allowedPerSecond: 9, allowed: 9 },
      { rule: "api", allowedPerSecond: 6 },
    ]);
    expect(merged.hottest).toMatchObject([{ rule: "login", perSecond: 9 }]);
    expect(mergeTop([], 5)).toEqual({ seconds: 0, rules: [], hottest: [], mostRefused: [] });
  });

  it("add up limits, places and shed requests of each upstream, and show its breaker as open as any", () => {
    const empty = { seconds: 10, rules: [], hottest: [], mostRefused: [] };
    const shed = (low: number) => ({ critical: 0, high: 0, normal: 1, low });
    const none = { limit: null, inFlight: null, latencyMs: null, shed: null };
    const app = { upstream: "app", route: null, breaker: "closed", breakerShed: shed(0) } as const;
    const one = { ...app, limit: 10, inFlight: 4, latencyMs: 20, shed: shed(2) };
    const other = { ...app, limit: 30, inFlight: 5, latencyMs: 50, shed: shed(3) };
    const ofRoute = { ...one, route: "/slow", breaker: null, breakerShed: null };
    const down = { ...app, ...none, upstream: "down" };
    const reports = [
      [one, ofRoute, down],
      [{ ...other, breaker: "open" } as const, { ...down, breaker: "half-open" } as const],
      [],
    ].map((upstreams) => ({ ...empty, upstreams }));
    expect(mergeTop(reports, 5).upstreams).toEqual([
      {
        ...{ ...app, limit: 40, inFlight: 9, latencyMs: 50, breaker: "open" },
        ...{ shed: { ...shed(5), normal: 2 }, breakerShed: { ...shed(0), normal: 2 } },
      },
      ofRoute,
      { ...down, breaker: "half-open", breakerShed: { ...shed(0), normal: 2 } },
    ]);
  });

  it("show one anomaly for each figure and rule: one that lasts, and the highest of those", () => {
    const empty = { seconds: 10, rules: [], hottest: [], mostRefused: [] };
    const one = {
      ...({ figure: "refusal-share", rule: null, beganAgoMs: 50, endedAgoMs: null } as const),
      ...{ value: 0.4, mean: 0.1, distance: 0.01 },
    };
    const over = { ...one, value: 0.9, endedAgoMs: 10 };
    const higher = { ...one, value: 0.5 };
    const newer = { ...one, figure: "network-addresses", beganAgoMs: 20 } as const;
    const reports = [[one], [over, newer], [higher]].map((anomalies) => ({ ...empty, anomalies }));
    expect(mergeTop([...reports, empty], 5).anomalies).toEqual([newer, higher]);
    const many = Array.from({ length: 9 }, (_, i) => ({ ...one, rule: `rule-${i}` }));
    expect(mergeTop([{ ...empty, anomalies: many }], 5).anomalies).toHaveLength(5);
  });

  it("add up counters and histograms, and merge states", async () => {
    const [a, b] = [setUp(), setUp()];
    for (const { telemetry, policy, decide } of [a, b]) {
      telemetry.watch(policy);
      await decide("/login", "ann", 4);
      telemetry.tookMs("gateway", 1);
    }
    a.telemetry.fallbackEvent({ kind: "entered", reason: "", atMs: 0, sinceMs: 0 });
    const sent = await Promise.all([a, b].map(({ telemetry }) => telemetry.metricValues()));
    // As it comes out of a message between processes.
    const text = await mergeMetrics(JSON.parse(JSON.stringify(sent)) as object[][]);
    const labels = 'rule="login",endpoint="/login",key_type="user",outcome="allowed"';
    expect(text).toContain(`rate_limiter_allowed_total{${labels},region="local"} 8`);
    expect(text).toContain(
      'rate_limiter_decision_seconds_count{listener="gateway",region="local"} 2',
    );
    expect(text).toContain('rate_limiter_fallback_active{region="local"} 1');
    expect(text).toMatch(/rate_limiter_rule_set_info\{version="[^"]+",region="local"\} 1\n/);
    expect(text).toContain('rate_limiter_rules{region="local"} 2');
  });
});
