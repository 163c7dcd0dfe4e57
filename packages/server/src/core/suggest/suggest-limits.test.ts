import { parseRules } from "sluice/rules";
import {
  type LoggedRequest,
  type LogLineFormat,
  makeTraffic,
  toLogLine,
} from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { type FieldMap, parseFieldMap } from "../../access-logs/formats/field-map.js";
import { openSources } from "../../access-logs/reading/log-source.js";
import { replayLogs } from "../log-replay/log-replay.js";
import { type Suggested, suggestFromLogs } from "./suggest-limits.js";
import { roundUp, type Suggestion } from "./suggestion.js";
import { toRuleFile } from "./suggestion-yaml.js";

const NOON = Date.UTC(2026, 10, 17, 12);

async function open(requests: Iterable<LoggedRequest>, format: LogLineFormat = "caddy") {
  async function* stream() {
    const lines = Array.from(requests, (request) => `${toLogLine(format, request)}\n`);
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
  const sources = await open(requests);
  // Estimates are the same in each run.
  return suggestFromLogs({ sources, rules, refuseAtMost, callersMax, sampleSalt: 1 });
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

/** Every kind of key that a log can have a value for. */
const KEYS = [
  "ip",
  "ipPrefix:24/48",
  "endpoint",
  "global",
  "user",
  "tenant",
  "apiKey",
  "header:x-app",
  "attribute:team",
  "tenant,user",
  "user,ip",
];
const FIELDS = "time=at,ip=ip,user=user,tenant=org,apiKey=key,header.x-app=app,attribute.team=team";

/** Requests of which two in three name their callers. Those without a name come in bursts from one address. */
async function* partlyNamed() {
  for (let at = 0; at < 600; at++) {
    const named = {
      ip: `10.0.${at % 7}.${at % 11}`,
      user: `u${at % 13}`,
      org: `o${at % 5}`,
      key: `k${at % 13}`,
      app: `a${at % 3}`,
      team: `t${at % 4}`,
    };
    const who = at % 90 >= 60 ? { ip: "203.0.113.1" } : named;
    const line = { at: NOON + at * 40, method: "GET", path: `/${at % 9}`, ...who };
    yield Buffer.from(`${JSON.stringify(line)}\n`);
  }
}

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

  it("refuse no larger share of the callers of a replay, where IPv6 callers change their addresses", async () => {
    const requests = Array.from({ length: 400 }, (_, at) =>
      request(at * 100, {
        ip: at % 2 === 0 ? `2001:db8::${at.toString(16)}` : `10.0.0.${at >> 2}`,
      }),
    );
    const { suggestion } = await suggest(requests, 0.1);
    const rule = { by: ["ip"], path: undefined, from: "access.log" };
    const text = toRuleFile(suggestion as Suggestion, rule);
    const { callers } = await replayLogs({
      sources: await open(requests),
      rules: { file: "suggested.yaml", rules: parseRules(text) },
    });
    expect(callers).toMatchObject({ total: suggestion?.callers, refused: 1 });
    expect(callers.refused / callers.total).toBeLessThanOrEqual(0.1);
  });

  it.each(KEYS)("keep to it by %s, with callers that have no value for it", async (by) => {
    const fields = parseFieldMap(FIELDS) as FieldMap;
    const openLog = () => openSources([{ name: "log", stream: partlyNamed() }], { fields });
    const key = by.split(",");
    const demand = { id: "demand", key, onMissing: "skip", limit: "1/second" };
    for (const refuseAtMost of [0, 0.1]) {
      const { suggestion, uncounted } = await suggestFromLogs({
        sources: await openLog(),
        rules: parseRules({ version: 1, rules: [demand] }),
        refuseAtMost,
      });
      const { callers } = suggestion as Suggestion;
      const rule = { by: key, path: undefined, from: "log" };
      const text = toRuleFile(suggestion as Suggestion, rule);
      const report = await replayLogs({
        sources: await openLog(),
        rules: { file: "suggested.yaml", rules: parseRules(text) },
        keysMax: 10_000,
      });
      const [{ keysRefused, matched } = { keysRefused: 0, matched: 0 }] = report.byRule;
      expect(keysRefused).toBeLessThanOrEqual(refuseAtMost * callers);
      expect(matched).toBe(600 - uncounted);
    }
  });

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
  it("speaks of one caller in the singular", async () => {
    const { suggestion } = await suggest([request(0), request(1_000)], 0);
    const text = toRuleFile(suggestion as Suggestion, {
      by: ["ip"],
      path: undefined,
      from: "a",
    });
    expect(text).toContain("that at most 0% of 1 caller would have exceeded.");
  });

  it("is valid, has a sentence for each number, and leaves out limits that can't be reached", async () => {
    const { suggestion } = await suggest(
      [0, 100, 200].map((at) => request(at)),
      0,
    );
    const text = toRuleFile(suggestion as Suggestion, { by: ["ip"], path: "/api/*", from: "a\nb" });
    const { rules } = parseRules(text);
    expect(rules[0]).toMatchObject({ id: "per-ip", match: { paths: ["/api/*"] } });
    expect(text).toContain("# No caller ever had more than 3 requests counted in 1 second.\n");
    expect(text).toContain("No caller would have been refused.");
    expect(text).not.toContain("a\nb");
    expect(rules[0]?.limits).toHaveLength(4);
  });
});

describe("the reasons in the rule file", () => {
  const reasonsOf = async (format: LogLineFormat) => {
    // Five requests in each of three seconds, spread evenly.
    const requests = Array.from({ length: 15 }, (_, at) => request(at * 200));
    const demand = { id: "demand", key: "ip", onMissing: "skip", limit: "1/second" };
    const { suggestion, log, remarks } = await suggestFromLogs({
      sources: await open(requests, format),
      rules: parseRules({ version: 1, rules: [demand] }),
      refuseAtMost: 0,
    });
    const { isWholeSeconds } = log;
    const rule = { by: ["ip"], path: undefined, from: "log", isWholeSeconds };
    return { text: toRuleFile(suggestion as Suggestion, rule), remarks };
  };

  it("say that a log of whole seconds counts two of them as one", async () => {
    const whole = await reasonsOf("combined");
    expect(whole.text).toContain("No caller ever had more than 10 requests counted in 1 second.");
    expect(whole.text).toContain("so each second is counted together with the one before it.");
    expect(whole.remarks).toEqual([expect.stringMatching(/^times in the log are whole seconds/)]);
    const exact = await reasonsOf("caddy");
    expect(exact.text).not.toContain("whole seconds");
    expect(exact.remarks).toEqual([]);
  });

  it("are estimates where callers were sampled", async () => {
    const many = makeTraffic({ requests: 4_000, callers: 4_000, startMs: NOON, perSecond: 20 });
    const { suggestion } = await suggest(many, 0.01, { callersMax: 1_000 });
    const rule = { by: ["ip"], path: undefined, from: "log" };
    const text = toRuleFile(suggestion as Suggestion, rule);
    expect(text).toMatch(/^# Limits by ip that at most about 1% of about [\d,]+ callers/);
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
