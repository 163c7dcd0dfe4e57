import { describe, expect, it } from "vitest";
import type { NodeSecond } from "../../telemetry/live/node-second.js";
import { toLatency } from "./live-event.js";
import { addSeconds, mergeNodes, toOneSecond } from "./merge-nodes.js";

const NONE = { allowed: 0, delayed: 0, blocked: 0, shadowBlocked: 0 };

function toSecond(changes: Partial<NodeSecond> = {}): NodeSecond {
  return {
    ...NONE,
    spanMs: 1_000,
    version: "v1",
    rulesInForce: 1,
    latency: [],
    rules: [],
    decisionsPerSecond: 0,
    hottest: [],
    refusals: [],
    store: { kind: "memory", isFallback: false, onFailure: "local" },
    notices: [],
    ...changes,
  };
}

const merge = (...seconds: NodeSecond[]) =>
  mergeNodes(seconds.map((second, at) => ({ name: `edge-${at + 1}`, second })));

describe("nodes together", () => {
  it("have the percentiles of all decisions, not an average of those of nodes", () => {
    // 980 decisions within 50 µs, and 20 slow ones on a node that has few.
    const quick = toSecond({ latency: [980] });
    const slow = toSecond({ latency: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20] });
    expect(toLatency(slow.latency)).toEqual({ p50Ms: 100, p95Ms: 100, p99Ms: 100 });
    expect(toLatency(merge(quick, slow).latency)).toEqual({
      p50Ms: 0.05,
      p95Ms: 0.05,
      p99Ms: 100,
    });
  });

  it("add up counts, rules and keys, and share keys by the decisions of all", () => {
    const rule = { rule: "login", keyType: "ip", endpoint: "/login", ...NONE };
    const key = { rule: "login", key: "ip:192.0.2.1" };
    const a = toSecond({ allowed: 3, rules: [{ ...rule, allowed: 3 }] });
    const b = toSecond({ allowed: 1, blocked: 4, rules: [{ ...rule, allowed: 1, blocked: 4 }] });
    const merged = merge(
      { ...a, decisionsPerSecond: 3, hottest: [{ ...key, perSecond: 3 }] },
      { ...b, decisionsPerSecond: 5, hottest: [{ ...key, perSecond: 1 }] },
    );
    expect(merged).toMatchObject({ allowed: 4, blocked: 4, decisionsPerSecond: 8 });
    expect(merged.rules).toEqual([{ ...rule, allowed: 4, blocked: 4 }]);
    expect(merged.hottest).toEqual([{ ...key, perSecond: 4 }]);
  });

  it("say once what is degraded, and where if it is not everywhere", () => {
    const store = { id: "store", isSevere: true, text: "The store does not answer." };
    const off = { id: "switch", isSevere: true, text: "All rules are switched off." };
    const merged = merge(toSecond({ notices: [off, store] }), toSecond({ notices: [off] }));
    expect(merged.notices).toEqual([
      { ...off, nodes: null },
      { ...store, nodes: ["edge-1"] },
    ]);
  });

  it("show a bounded number of notices, severe ones and those of most nodes first", () => {
    const of = (node: number) =>
      Array.from({ length: 20 }, (_, n) => ({ id: `${node}:${n}`, isSevere: false, text: "x" }));
    const shared = { id: "shared", isSevere: false, text: "Of two nodes." };
    const severe = { id: "severe", isSevere: true, text: "Of one node." };
    const last = [toSecond({ notices: [shared] }), toSecond({ notices: [shared, severe] })];
    const merged = merge(...[1, 2, 3, 4].map((n) => toSecond({ notices: of(n) })), ...last);
    expect(merged.notices.length).toBe(50);
    expect(merged.notices.slice(0, 3).map(({ id }) => id)).toEqual(["severe", "shared", "1:0"]);
  });

  it("show notices of a bounded length in all", () => {
    const text = "x".repeat(1_000);
    const of = (node: number) =>
      Array.from({ length: 20 }, (_, n) => ({ id: `${node}:${n}`, isSevere: true, text }));
    const merged = merge(toSecond({ notices: of(1) }), toSecond({ notices: of(2) }));
    expect(JSON.stringify(merged.notices).length).toBeLessThan(25_000);
    expect(merged.notices.length).toBeGreaterThan(15);
  });

  it("count a node once that lists a notice twice", () => {
    const notice = { id: "store", isSevere: true, text: "The store does not answer." };
    const merged = merge(toSecond({ notices: [notice, notice] }), toSecond());
    expect(merged.notices).toEqual([{ ...notice, nodes: ["edge-1"] }]);
  });
});

describe("reports of one node between two ticks", () => {
  it("have as many rules together as one may have, the busiest", () => {
    const of = (report: number, allowed: number) =>
      Array.from({ length: 100 }, (_, n) => {
        return { rule: `${report}-${n}`, keyType: "ip", endpoint: "/", ...NONE, allowed };
      });
    const [quiet, busy] = [toSecond({ rules: of(1, 1) }), toSecond({ rules: of(2, 5) })];
    const added = addSeconds(quiet, busy);
    expect(added.rules.length).toBe(100);
    expect(added.rules.every(({ allowed }) => allowed === 5)).toBe(true);
  });
});

describe("a report of several seconds", () => {
  it("stands for the average of one", () => {
    const second = toSecond({ spanMs: 3_950, allowed: 400, blocked: 10, latency: [40, 4] });
    expect(toOneSecond(second)).toMatchObject({ allowed: 100, blocked: 3, latency: [10, 1] });
  });

  it("is left as it is if it covers about one second", () => {
    const second = toSecond({ spanMs: 1_400, allowed: 7 });
    expect(toOneSecond(second)).toBe(second);
  });
});
