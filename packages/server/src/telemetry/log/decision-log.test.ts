import { createPolicy, type Facts } from "sluice/rules";
import { describe, expect, it } from "vitest";
import { createTelemetry } from "../create-telemetry.js";
import { createRandom } from "../random.js";
import type { TelemetryOptions } from "../telemetry-options.js";
import { DECISION_LINES_PER_SECOND_MAX } from "./decision-log.js";

const RULES = {
  version: 1,
  rules: [
    {
      id: "login",
      match: { path: "/login" },
      key: "user",
      limit: { fixedWindow: { limit: 2, windowMs: 3_600_000, align: "first" } },
    },
    {
      id: "mine",
      match: { path: "/mine" },
      key: "tenant",
      onMissing: "refuse",
      limit: { fixedWindow: { limit: 2, windowMs: 3_600_000, align: "first" } },
    },
  ],
};
const facts: Facts = { method: "GET", path: "/login?token=hush", user: "ann" };

function setUp(share: number, options: TelemetryOptions = {}, logLevel: "info" | "warn" = "info") {
  const texts: string[] = [];
  const telemetry = createTelemetry(
    { logLevel, decisionLogShare: share, region: "eu-1", topKeysMax: 5 },
    {
      destination: { write: (text) => void texts.push(text) },
      hasProcessMetrics: false,
      ...options,
    },
  );
  const policy = createPolicy({ rules: RULES });
  const decide = async (asked: Facts, times = 1) => {
    for (let i = 0; i < times; i++) telemetry.decided("gateway", await policy.admit(asked), asked);
  };
  const lines = () => texts.map((text) => JSON.parse(text) as Record<string, unknown>);
  return { telemetry, policy, decide, lines, texts };
}

describe("the decision log", () => {
  it("says rule, type of key, hashed key, endpoint, cost, outcome, code, region and source", async () => {
    const { decide, lines, policy } = setUp(1);
    await decide(facts, 3);
    const line = {
      msg: "decision",
      listener: "gateway",
      rule: "login",
      keyType: "user",
      key: expect.stringMatching(/^hmac:[0-9a-f]{16}$/),
      endpoint: "/login",
      cost: 1,
      region: "eu-1",
      source: "memory",
      version: policy.version,
    };
    expect(lines()).toMatchObject([
      { ...line, outcome: "allowed", code: null },
      { ...line, outcome: "allowed", code: null },
      { ...line, outcome: "blocked", code: "RATE_LIMIT_EXCEEDED" },
    ]);
    expect(new Set(lines().map(({ key }) => key)).size).toBe(1);
  });

  it("shows neither keys nor paths, and no line can be forged by one", async () => {
    const { decide, texts, lines } = setUp(1);
    const forged = 'ann\n{"level":30,"msg":"decision","outcome":"allowed","rule":"forged"}\r\n';
    await decide({ ...facts, user: forged }, 3);
    await decide({ ...facts, path: '/other\n{"rule":"forged"}' });
    expect(texts.length).toBe(4);
    for (const text of texts) {
      expect(text.indexOf("\n")).toBe(text.length - 1);
      expect(text).not.toContain("forged");
      expect(text).not.toContain("hush");
    }
    expect(lines()[3]).toMatchObject({ rule: null, key: null, outcome: "allowed" });
  });

  it("records a refusal for lack of an identity, which has no key", async () => {
    const { decide, lines } = setUp(0.000_001, { chance: () => 0.5 });
    await decide({ method: "GET", path: "/mine" });
    expect(lines()).toMatchObject([
      { rule: "mine", key: null, outcome: "blocked", code: "IDENTITY_MISSING" },
    ]);
  });

  it("hashes by its secret: alike under the same, otherwise under another", async () => {
    const keyOf = async (keySecret: string | undefined) => {
      const { decide, lines } = setUp(1, keySecret === undefined ? {} : { keySecret });
      await decide(facts);
      return lines()[0].key;
    };
    expect(await keyOf("a")).toBe(await keyOf("a"));
    expect(await keyOf("a")).not.toBe(await keyOf("b"));
    expect(await keyOf(undefined)).not.toBe(await keyOf(undefined));
  });

  it("takes the share of admitted requests that it was given, and every refusal", async () => {
    const { decide, lines } = setUp(0.25, { chance: createRandom(7), readMs: () => 0 });
    for (let i = 0; i < 300; i++) await decide({ ...facts, user: `u${i}` });
    const sampled = lines().length;
    expect(sampled).toBeGreaterThan(45);
    expect(sampled).toBeLessThan(105);
    await decide({ ...facts, user: "u0" }, 6);
    const refusals = lines().filter(({ outcome }) => outcome === "blocked").length;
    expect(refusals).toBe(5);
  });

  it("logs nothing at a share of 0, or at a level that hides it", async () => {
    const off = setUp(0);
    await off.decide(facts, 5);
    expect(off.texts).toEqual([]);
    const hidden = setUp(1, {}, "warn");
    await hidden.decide(facts, 5);
    expect(hidden.texts).toEqual([]);
    hidden.telemetry.log.level = "info";
    await hidden.decide(facts);
    expect(hidden.texts.length).toBe(1);
  });

  it("bounds the lines of a second, counts those left out and says so in the next", async () => {
    let nowMs = 10_000;
    const { decide, lines, telemetry } = setUp(1, { readMs: () => nowMs });
    const beyond = 40;
    await decide(facts, DECISION_LINES_PER_SECOND_MAX + beyond);
    expect(lines().length).toBe(DECISION_LINES_PER_SECOND_MAX);
    expect(await telemetry.metrics()).toContain(
      `rate_limiter_decision_log_left_out_total{region="eu-1"} ${beyond}`,
    );
    nowMs += 1_000;
    await decide(facts);
    expect(lines().slice(-2)).toMatchObject([{ leftOut: beyond }, { msg: "decision" }]);
  });
});
