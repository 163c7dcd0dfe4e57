import { createPolicy, type Facts } from "sluice/rules";
import { describe, expect, it } from "vitest";
import { createTelemetry } from "../create-telemetry.js";
import { mergeLiveCounts, mergeSeconds } from "../merge.js";
import { sizeOf } from "../tally/outcome-counts.js";

const RULES = {
  version: 1,
  rules: [
    { id: "login", match: { path: "/login" }, key: "ip", limit: "2/minute" },
    {
      id: "shaped",
      match: { path: "/shaped" },
      key: "user",
      limit: { leakyBucket: { ratePerSecond: 0.01, queueSize: 2 } },
    },
    { id: "watched", key: "ip", limit: "1/minute", onExceed: "shadow" },
  ],
};
const START_MS = 1_800_000_000_000;

function setUp() {
  let nowMs = 0;
  const telemetry = createTelemetry(
    { logLevel: "silent", decisionLogShare: 0, region: "local", topKeysMax: 3 },
    { hasProcessMetrics: false, readMs: () => nowMs, wallMs: () => START_MS + nowMs },
  );
  const policy = createPolicy({ rules: RULES });
  const facts: Facts = { method: "GET", path: "/login", ip: "192.0.2.1" };
  const decide = async (times: number, about: Partial<Facts> = {}) => {
    const asked = { ...facts, ...about };
    for (let i = 0; i < times; i++)
      telemetry.decided("gateway", await policy.admit(asked), asked, 0.2);
  };
  const moveTo = (ms: number) => {
    nowMs = ms;
  };
  return { telemetry, decide, moveTo };
}

describe("live counts", () => {
  it("are totals since the start, in all and by rule", async () => {
    const { telemetry, decide } = setUp();
    await decide(5);
    const { totals, rules, latency, degraded } = telemetry.liveCounts();
    expect(totals).toEqual({ allowed: 2, delayed: 0, blocked: 3, shadowBlocked: 4 });
    expect(rules).toMatchObject([
      { rule: "login", allowed: 2, blocked: 3 },
      { rule: "watched", blocked: 0, shadowBlocked: 4 },
    ]);
    expect(latency[2]).toBe(5);
    expect(degraded).toEqual({ store: false, ledger: false, reloads: [], controlAgeMs: null });
  });

  it("count a decision once, though a rule in shadow mode would have refused it", async () => {
    const { telemetry, decide } = setUp();
    await decide(5);
    const { totals } = telemetry.liveCounts();
    expect([totals.shadowBlocked, sizeOf(totals)]).toEqual([4, 5]);
  });

  it("have those that a shaping rule delays apart, in all and by rule", async () => {
    const { telemetry, decide } = setUp();
    await decide(5, { path: "/shaped", user: "42" });
    const { totals, rules } = telemetry.liveCounts();
    expect(totals).toMatchObject({ allowed: 1, delayed: 2, blocked: 2 });
    expect(rules.find(({ rule }) => rule === "shaped")).toMatchObject({
      allowed: 1,
      delayed: 2,
      blocked: 2,
    });
    const { delayed } = mergeLiveCounts([telemetry.liveCounts(), telemetry.liveCounts()]).totals;
    expect(delayed).toBe(4);
  });

  it("of several processes add up", async () => {
    const [a, b] = [setUp(), setUp()];
    await a.decide(1);
    await b.decide(3);
    const merged = mergeLiveCounts([a, b].map(({ telemetry }) => telemetry.liveCounts()));
    expect(merged.totals).toMatchObject({ allowed: 3, blocked: 1 });
    expect(merged.rules[0]).toMatchObject({ rule: "login", allowed: 3, blocked: 1 });
    expect(mergeLiveCounts([]).totals.allowed).toBe(0);
  });
});

describe("the history of seconds", () => {
  it("keeps a peak of one second as it was, and forgets after five minutes", async () => {
    const { telemetry, decide, moveTo } = setUp();
    moveTo(500);
    await decide(7);
    moveTo(3_100);
    await decide(1);
    expect(telemetry.liveSeconds()).toMatchObject([{ atMs: START_MS, allowed: 2, blocked: 5 }]);
    moveTo(4_000);
    expect(telemetry.liveSeconds()).toMatchObject([
      { atMs: START_MS, blocked: 5 },
      { atMs: START_MS + 3_000, blocked: 1 },
    ]);
    moveTo(303_500);
    expect(telemetry.liveSeconds()).toMatchObject([{ atMs: START_MS + 3_000 }]);
  });

  it("of several processes adds up by second", async () => {
    const [a, b] = [setUp(), setUp()];
    for (const { decide, moveTo } of [a, b]) {
      await decide(1);
      moveTo(1_500);
    }
    const merged = mergeSeconds([a, b].map(({ telemetry }) => telemetry.liveSeconds()));
    expect(merged).toMatchObject([{ atMs: START_MS, allowed: 2 }]);
  });
});
