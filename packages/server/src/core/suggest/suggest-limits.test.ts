import { parseRules } from "sluice/rules";
import { type LoggedRequest, makeTraffic, toLogLine } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { openSources } from "../../access-logs/reading/log-source.js";
import { replayLogs } from "../log-replay/log-replay.js";
import { type Suggested, suggestFromLogs } from "./suggest-limits.js";
import { roundUp, type Suggestion } from "./suggestion.js";
import { toRuleFile } from "./suggestion-yaml.js";

const NOON = Date.UTC(2026, 10, 17, 12);

async function open(requests: Iterable<LoggedRequest>) {
  async function* stream() {
    const lines = Array.from(requests, (request) => `${toLogLine("caddy", request)}\n`);
    yield Buffer.from(lines.join(""));
  }
  return openSources([{ name: "access.log", stream: stream() }], {});
}

async function suggest(
  requests: Iterable<LoggedRequest>,
  refuseAtMost: number,
  options: { readonly by?: string; readonly path?: string; readonly callersMax?: number } = {},
): Promise<Suggested> {
  const { by = "ip", path, callersMax } = options;
  const match = path === undefined ? {} : { match: { path } };
  const rule = { id: "demand", key: by, onMissing: "skip", limit: "1/second", ...match };
  const rules = parseRules({ version: 1, rules: [rule] });
  return suggestFromLogs({ sources: await open(requests), rules, refuseAtMost, callersMax });
}

const request = (atMs: number, changes: Partial<LoggedRequest> = {}): LoggedRequest => ({
  atMs: NOON + atMs,
  ip: "203.0.113.7",
  method: "GET",
  path: "/",
  status: 200,
  bodyBytes: 5,
  ...changes,
});

describe("suggested limits", () => {
  const traffic = () =>
    makeTraffic({ requests: 8_000, callers: 1_000, startMs: NOON, perSecond: 25 });

  it.each([0, 0.001, 0.01, 0.2])(
    "refuse at most a share of %d of the callers of the same log",
    async (share) => {
      const { suggestion } = await suggest(traffic(), share);
      const text = toRuleFile(suggestion as Suggestion, {
        by: ["ip"],
        path: undefined,
        from: "access.log",
      });
      const report = await replayLogs({
        sources: await open(traffic()),
        rules: { file: "suggested.yaml", rules: parseRules(text) },
        keysMax: 10_000,
      });
      expect(report.callers.refused / report.callers.total).toBeLessThanOrEqual(share);
      // And not by refusing no one: the smallest limits that keep to it.
      if (share >= 0.01) expect(report.callers.refused).toBeGreaterThan(0);
    },
  );

  it("are what a caller needs exactly, in every window", async () => {
    // Four in a second across its edge, six in a minute, seven in all.
    const timesMs = [800, 900, 1_000, 1_100, 20_000, 59_000, 600_000];
    const { suggestion, counted } = await suggest(
      timesMs.map((at) => request(at)),
      0,
    );
    expect(counted).toBe(7);
    expect(
      suggestion?.windows.map(({ windowMs, needed, most }) => [windowMs, needed, most]),
    ).toEqual([
      [1_000, 4, 4],
      [10_000, 4, 4],
      [60_000, 6, 6],
      [3_600_000, 7, 7],
    ]);
    for (const { windowMs, needed } of suggestion?.windows ?? []) {
      for (const [limit, refused] of [
        [needed, 0],
        [needed - 1, 1],
      ] as const) {
        const rules = parseRules({
          version: 1,
          rules: [{ id: "all", limit: { slidingWindowCounter: { limit, windowMs } } }],
        });
        const report = await replayLogs({
          sources: await open(timesMs.map((at) => request(at))),
          rules: { file: "one.yaml", rules },
          keysMax: 100,
        });
        expect(Math.min(1, report.requests.refused)).toBe(refused);
      }
    }
  });

  it("count by any key of rules, on the paths that are asked for", async () => {
    const requests = [
      request(0, { user: "ada", path: "/login" }),
      request(10, { user: "ada", path: "/login" }),
      request(20, { user: "bob", path: "/login" }),
      request(30, { path: "/login" }),
      request(40, { user: "ada", path: "/other" }),
    ];
    const { suggestion, counted, uncounted } = await suggest(requests, 0, {
      by: "user",
      path: "/login",
    });
    expect({ callers: suggestion?.callers, counted, uncounted }).toEqual({
      callers: 2,
      counted: 3,
      uncounted: 2,
    });
    expect(suggestion?.windows[0]).toMatchObject({ needed: 2 });
  });

  it("say why where a log can't say it", async () => {
    const { suggestion, why } = await suggest([request(0)], 0, { by: "tenant" });
    expect(suggestion).toBeUndefined();
    expect(why).toBe("lines of this log name no tenant");
  });

  it("of many callers come from a uniform sample of them, within a few percent", async () => {
    const many = () =>
      makeTraffic({ requests: 16_000, callers: 8_000, startMs: NOON, perSecond: 20 });
    const exact = (await suggest(many(), 0.05)).suggestion as Suggestion;
    const sampled = (await suggest(many(), 0.05, { callersMax: 3_000 })).suggestion as Suggestion;
    expect([exact.isSampled, sampled.isSampled]).toEqual([false, true]);
    expect(Math.abs(sampled.callers / exact.callers - 1)).toBeLessThan(0.06);
    const limitsOf = ({ windows }: Suggestion) => windows.map(({ limit }) => limit);
    for (const [at, limit] of limitsOf(sampled).entries())
      expect(Math.abs(limit - (limitsOf(exact)[at] ?? 0))).toBeLessThanOrEqual(1);
  });
});

describe("the rule file", () => {
  it("is valid, has a sentence for each number, and leaves out limits that can't be reached", async () => {
    const { suggestion } = await suggest(
      [0, 100, 200].map((at) => request(at)),
      0,
    );
    const text = toRuleFile(suggestion as Suggestion, { by: ["ip"], path: "/api/*", from: "a\nb" });
    const { rules } = parseRules(text);
    expect(rules[0]).toMatchObject({ id: "per-ip", match: { paths: ["/api/*"] } });
    expect(text).toContain("# No caller ever made more than 3 requests in 1 second.\n");
    expect(text).toContain("No caller would have been refused.");
    expect(text).not.toContain("a\nb");
    expect(rules[0]?.limits).toHaveLength(4);
  });
});

describe("round numbers", () => {
  it.each([
    [0, 1],
    [1, 1],
    [9, 9],
    [11, 12],
    [13, 15],
    [17, 20],
    [26, 30],
    [99, 100],
    [101, 120],
    [1_234, 1_500],
    [8_001, 10_000],
  ])("%d is rounded up to %d", (value, rounded) => {
    expect(roundUp(value)).toBe(rounded);
  });
});
