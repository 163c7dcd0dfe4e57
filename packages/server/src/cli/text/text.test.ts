import { describe, expect, it } from "vitest";
import { coloured, plain, safe } from "./colours.js";
import { type DecisionReply, formatDecision } from "./decision-text.js";
import { parseDuration } from "./duration.js";
import { formatExplanation } from "./explanation.js";
import { formatLimit } from "./limit.js";
import { formatRulesInForce } from "./rules.js";
import { clip, formatTable } from "./table.js";

describe("durations", () => {
  it.each([
    ["500ms", 500],
    ["90s", 90_000],
    ["1.5h", 5_400_000],
    ["1d", 86_400_000],
    ["forever", Number.POSITIVE_INFINITY],
  ])("reads %s", (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(["", "10", "ten", "-1s", "0s", "0.1ms", "1w", "1e3s", "999999999999999d"])(
    "refuses %j",
    (text) => expect(parseDuration(text)).toBeUndefined(),
  );
});

describe("text of strangers", () => {
  it("can't move the cursor, forge a line or turn the writing around", () => {
    expect(safe("a\x1b[2Jb\nc\rd\u202ee\u2028f\x9b1m")).toBe("a�[2Jb�c�d�e�f�1m");
  });

  it("is cut to its bound in characters, not halves of them", () => {
    expect(safe("😀".repeat(10), 4)).toBe("😀😀😀…");
    expect(safe("abcd", 4)).toBe("abcd");
  });
});

describe("tables", () => {
  it("stand in columns, left or right", () => {
    const rows = [
      ["rule", "n"],
      ["login", "10"],
      ["é", "7", "x"],
    ];
    expect(formatTable(rows, ["left", "right"])).toEqual([
      "rule    n",
      "login  10",
      "é       7  x",
    ]);
  });

  it("are cut at the edge of the terminal", () => {
    expect(clip("abcdef", 4)).toBe("abc…");
    expect(clip("abcd", 4)).toBe("abcd");
  });
});

describe("decisions", () => {
  const allowed: DecisionReply = {
    allowed: true,
    rule: "login",
    limit: 5,
    remaining: 4,
    retryAfterMs: 0,
    resetMs: 48_000,
    delayMs: 0,
    source: "memory",
  };
  it.each<[string, DecisionReply]>([
    ["allowed  login: 4 of 5 left, all back in 48 seconds", allowed],
    [
      "allowed  login: 4 of 5 left, all back in 48 seconds, waits 200 ms",
      { ...allowed, delayMs: 200 },
    ],
    ["allowed  no rule counts it", { allowed: true }],
    [
      "refused  login: 0 of 5 left, again in 12 seconds",
      { ...allowed, allowed: false, reason: "limit", remaining: 0, retryAfterMs: 12_000 },
    ],
    [
      "refused  login: 4 of 5 left, costs more than can ever be left",
      { ...allowed, allowed: false, reason: "limit", retryAfterMs: null },
    ],
    [
      "refused  login: the request has no value for the rule's key",
      { allowed: false, rule: "login", reason: "identity" },
    ],
    [
      "refused  login: the store does not answer",
      { allowed: false, rule: "login", reason: "store" },
    ],
  ])("say %s", (line, decision) => expect(formatDecision(decision, plain)).toBe(line));

  it("are green or red in a terminal", () => {
    expect(formatDecision(allowed, coloured)).toContain("\x1b[32mallowed\x1b[0m");
    expect(formatDecision({ allowed: false }, coloured)).toContain("\x1b[31mrefused\x1b[0m");
  });
});

describe("explanations", () => {
  it("say why, by what and how each counter stands", () => {
    const lines = formatExplanation(
      {
        version: "5d0f",
        allowed: false,
        rule: "login",
        reason: "limit",
        retryAfterMs: 12_000,
        delayMs: 0,
        block: null,
        switch: "on",
        rules: [
          {
            rule: "login",
            place: "rules.yaml:4",
            isMatch: true,
            conditions: [{ on: "path", wanted: "/login", isMet: true }],
            notApplied: null,
            onExceed: "reject",
            keyType: "ip",
            key: "ip:203.0.113.10",
            from: "tier",
            exception: null,
            switch: "on",
            settledBy: "json usage.total_tokens",
            across: "central",
            region: "eu",
            escalate: {
              ...{ refusals: 20, windowMs: 60_000 },
              ...{ blocksMs: [60_000, 3_600_000], forgetMs: 1 },
            },
            limits: [
              {
                algorithm: "fixedWindow",
                limit: 5,
                remaining: 0,
                resetMs: 12_000,
                cost: 1,
                wouldPass: false,
                retryAfterMs: 12_000,
                delayMs: 0,
              },
            ],
            blockedMs: 0,
          },
          {
            rule: "trial",
            place: null,
            isMatch: true,
            conditions: [],
            notApplied: "rollout",
            onExceed: "shadow",
            keyType: "user",
            key: "user:42",
            from: null,
            exception: null,
            switch: "on",
            settledBy: null,
            limits: [],
            blockedMs: 0,
          },
          {
            rule: "api",
            place: null,
            isMatch: true,
            conditions: [],
            notApplied: null,
            onExceed: "reject",
            keyType: "tenant",
            key: "ip:203.0.113.10",
            from: null,
            exception: null,
            switch: "on",
            settledBy: null,
            limits: [],
            blockedMs: 0,
          },
        ],
      },
      plain,
    );
    expect(lines).toEqual([
      "refused by login (over its limit, again in 12 seconds)",
      "",
      "login  rules.yaml:4",
      "  yes  path /login",
      "  counted by ip: ip:203.0.113.10",
      "  fixedWindow of its tier: 0 of 5 left, costs 1, all back in 12 seconds: refuses for 12 seconds",
      "  blocks the key after 20 refusals in 1 minute: for 1 minute, then 1 hour",
      "  decided in the region eu (across: central)",
      "  the cost is reserved, and settled by json usage.total_tokens of the response",
      "",
      "trial (shadow)",
      "  counted by user: user:42",
      "  not counted: the key is not in the rollout",
      "",
      "api",
      "  counted by ip: ip:203.0.113.10",
      "  not by tenant: the request has no value for it; pass --tenant",
      "rules of version 5d0f",
    ]);
  });
});

describe("formatLimit", () => {
  it.each([
    [{ slidingWindowCounter: { limit: 7, windowMs: 60_000 } }, "7/minute (slidingWindowCounter)"],
    [{ fixedWindow: { limit: 7, windowMs: 300_000, align: "epoch" } }, "7/5m (fixedWindow)"],
    [{ slidingWindowLog: { limit: 1, windowMs: 1_500 } }, "1/1500ms (slidingWindowLog)"],
    [
      { tokenBucket: { capacity: 20, refill: { amount: 1, everyMs: 2_000 } } },
      "burst of 20, then 1/2s (tokenBucket)",
    ],
    [
      { leakyBucket: { ratePerSecond: 5, queueSize: 10, mode: "shape" } },
      "5/second, 10 queued (leakyBucket)",
    ],
    [{ concurrency: { limit: 2, permitMs: 900_000 } }, "2 at a time (concurrency)"],
    [{ quota: { limit: 1_000, period: "month", timeZone: "UTC" } }, "1000/month (quota)"],
    [{ other: { x: 1 } }, "{x:1} (other)"],
  ])("says %j as %s", (limit, said) => {
    expect(formatLimit(limit)).toBe(said);
  });
});

describe("formatRulesInForce", () => {
  it("has the limits of each tier below its rule", () => {
    const per = (limit: number) => [{ slidingWindowLog: { limit, windowMs: 60_000 } }];
    const rule = {
      id: "api",
      keyType: "user",
      match: { paths: ["/api/*"], methods: [] },
      limits: per(7),
      tiers: { pro: per(70), staff: [] },
      onExceed: "reject",
      isOn: true,
    };
    expect(formatRulesInForce({ version: "5d0f", rules: [rule] })).toEqual([
      "rule          beyond  requests  by    limits",
      "api           reject  /api/*    user  7/minute (slidingWindowLog)",
      "  tier pro                            70/minute (slidingWindowLog)",
      "  tier staff                          none",
      "version 5d0f",
    ]);
  });

  it("says which rules are switched off, and which deny", () => {
    const rule = (id: string, switchedTo: "on" | "off" | "deny", isOn: boolean) => ({
      id,
      keyType: "user",
      match: { paths: [], methods: [] },
      limits: [{ slidingWindowLog: { limit: 7, windowMs: 60_000 } }],
      tiers: {},
      onExceed: "reject",
      isOn,
      switchedTo,
    });
    const rules = [rule("a", "on", true), rule("b", "off", false), rule("c", "deny", false)];
    const lines = formatRulesInForce({ version: "5d0f", rules });
    expect(lines.slice(1, -1).map((line) => line.split(/\s+/)[1])).toEqual([
      "reject",
      "off",
      "deny",
    ]);
  });

  it("says when a rule blocks callers", () => {
    const terms = { refusals: 20, windowMs: 60_000, blocksMs: [60_000], forgetMs: 1 };
    const rule = (id: string, escalate: typeof terms | null) => ({
      ...{ id, keyType: "ip", match: { paths: [], methods: [] }, tiers: {}, onExceed: "reject" },
      ...{ limits: [{ slidingWindowLog: { limit: 7, windowMs: 60_000 } }], isOn: true, escalate },
    });
    const lines = formatRulesInForce({
      version: "5d0f",
      rules: [rule("a", terms), rule("b", null)],
    });
    expect(lines.slice(1, 3)).toEqual([
      "a     reject  *         ip  7/minute (slidingWindowLog), blocks after 20 refusals in 1 minute",
      "b     reject  *         ip  7/minute (slidingWindowLog)",
    ]);
  });

  it("says for which part of its keys a rule holds", () => {
    const rule = (id: string, rolloutPercent: number) => ({
      id,
      keyType: "user",
      match: { paths: [], methods: [] },
      limits: [{ slidingWindowLog: { limit: 7, windowMs: 60_000 } }],
      tiers: {},
      onExceed: "reject",
      isOn: true,
      rolloutPercent,
    });
    const lines = formatRulesInForce({ version: "5d0f", rules: [rule("a", 10), rule("b", 100)] });
    expect(lines.slice(1, 3)).toEqual([
      "a     reject  *         user  7/minute (slidingWindowLog), for 10 % of keys",
      "b     reject  *         user  7/minute (slidingWindowLog)",
    ]);
  });
});
