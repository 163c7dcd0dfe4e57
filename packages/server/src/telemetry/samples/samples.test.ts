import { createPolicy, type Facts } from "sluice/rules";
import { describe, expect, it, vi } from "vitest";
import { preview } from "../../core/preview/preview.js";
import { createTelemetry } from "../create-telemetry.js";
import { mergeLatest, mergeReports } from "../merge.js";
import { PER_SECOND_MAX } from "../tally/key-sampling.js";
import { SampleRing } from "./sample-ring.js";

const windowOf = (limit: number) => ({
  fixedWindow: { limit, windowMs: 3_600_000, align: "first" },
});
const RULES = {
  version: 1,
  rules: [
    { id: "login", match: { path: "/login" }, key: "ip", limit: windowOf(2) },
    { id: "api", match: { path: "/api/*" }, key: ["user"], limit: windowOf(1_000_000) },
    {
      id: "carts",
      match: { path: "/carts", headers: { "x-plan": "pro" } },
      key: "cookie:cart",
      limit: windowOf(5),
    },
  ],
};
const START_MS = 1_800_000_000_000;

function setUp(rules: object = RULES, keySecret = "shared") {
  let nowMs = 0;
  const telemetry = createTelemetry(
    { logLevel: "silent", decisionLogShare: 0, region: "local", topKeysMax: 3 },
    {
      hasProcessMetrics: false,
      keySecret,
      readMs: () => nowMs,
      wallMs: () => START_MS + nowMs,
    },
  );
  const policy = createPolicy({ rules });
  telemetry.watch(policy);
  const decide = async (facts: Partial<Facts>) => {
    const whole: Facts = { method: "GET", path: "/api/x", ...facts };
    telemetry.decided("gateway", await policy.admit(whole), whole);
  };
  const move = (byMs: number) => {
    nowMs += byMs;
  };
  return { telemetry, samples: telemetry.samples, decide, move };
}

/** This many requests of each user in each second, evenly spread. */
async function run(
  { decide, move }: ReturnType<typeof setUp>,
  { users, perSecond, seconds }: { users: number; perSecond: number; seconds: number },
): Promise<void> {
  for (let i = 0; i < perSecond * seconds; i++) {
    await decide({ user: `u${i % users}` });
    move(1_000 / perSecond);
  }
}

describe("a sample", () => {
  it("has what is needed to understand a decision and to decide it again", async () => {
    const { samples, decide, move } = setUp();
    const facts = { path: "/login?next=/", method: "POST", ip: "203.0.113.9", host: "example.com" };
    for (let i = 0; i < 3; i++) await decide(facts);
    move(10);
    await decide({ user: "ann", tenant: "acme", tier: "pro", plan: "big" });
    const [newest, refused] = samples.latest({ showsKeys: true });
    expect(newest).toMatchObject({
      atMs: START_MS + 10,
      listener: "gateway",
      outcome: "allowed",
      reason: null,
      rule: "api",
      key: "user:ann",
      endpoint: "/api/*",
      remaining: 999_999,
      facts: {
        method: "GET",
        path: "/api/x",
        user: "ann",
        tenant: "acme",
        tier: "pro",
        plan: "big",
      },
    });
    expect(refused).toMatchObject({
      outcome: "blocked",
      reason: "limit",
      rule: "login",
      key: "ip:203.0.113.9",
      cost: 1,
      limit: 2,
      remaining: 0,
      retryAfterMs: expect.any(Number),
      charges: [{ rule: "login", key: "ip:203.0.113.9", allowed: false, shadow: false, cost: 1 }],
      facts,
    });
  });

  it("keeps of headers, cookies and the body only what rules read, and secrets as hashes", async () => {
    const { samples, decide } = setUp();
    await decide({
      path: "/carts",
      headers: { "x-plan": "pro", authorization: "Bearer abc", "user-agent": "curl" },
      cookies: { cart: "c-1", session: "s-1" },
      body: { password: "hunter2" },
    });
    const [{ facts }] = samples.latest({ showsKeys: true });
    expect(facts?.headers).toEqual({ "x-plan": "pro" });
    expect(facts?.cookies).toEqual({ cart: expect.stringMatching(/^hmac:/) });
    expect(JSON.stringify(facts)).not.toMatch(/abc|curl|c-1|s-1|hunter2/);
  });

  it("has the scopes of the API key only where a rule asks for one, and a preview matches them", async () => {
    const scoped = { id: "bulk", match: { attributes: { scope: "bulk" } }, key: "user" };
    const toRules = (limit: number) => ({
      version: 1,
      rules: [{ ...scoped, limit: windowOf(limit) }],
    });
    const facts = { user: "ann", scopes: ["read", "bulk"] };
    const asking = setUp(toRules(5));
    for (let i = 0; i < 2; i++) await asking.decide(facts);
    expect(asking.samples.latest({ showsKeys: true })[0]?.facts).toMatchObject(facts);
    const { fromMs, samples } = asking.samples.since(START_MS);
    const replayed = await preview({
      text: JSON.stringify(toRules(1)),
      inForce: createPolicy({ rules: toRules(5) }).rules,
      samples,
      fromMs,
      toMs: fromMs + 1,
    });
    expect(replayed.requests).toMatchObject({ total: 2, newlyRefused: 1 });
    const other = setUp();
    await other.decide(facts);
    expect(other.samples.latest({ showsKeys: true })[0]?.facts).not.toHaveProperty("scopes");
  });

  it("is bounded: long values are hashed and long paths cut", async () => {
    const { samples, decide } = setUp();
    await decide({ path: `/api/${"x".repeat(9_000)}`, user: "y".repeat(5_000) });
    const [{ facts }] = samples.latest({ showsKeys: true });
    expect(facts?.user).toMatch(/^hmac:/);
    expect(facts?.path.length).toBe(1_024);
  });

  it("of those who may not see keys has hashes, and shows nothing of the request", async () => {
    const { samples, decide } = setUp();
    await decide({ path: "/login", ip: "203.0.113.9" });
    const [hidden] = samples.latest();
    expect(hidden.facts).toBe(null);
    expect(JSON.stringify(hidden)).not.toContain("203.0.113.9");
    expect(hidden.key).toMatch(/^hmac:[0-9a-f]{16}$/);
    expect(hidden.charges[0].key).toBe(hidden.key);
    expect(samples.latest({ key: hidden.key as string }).length).toBe(1);
    // Guessing a key does not confirm it.
    expect(samples.latest({ key: "ip:203.0.113.9" })).toEqual([]);
    expect(samples.latest({ key: "ip:203.0.113.9", showsKeys: true }).length).toBe(1);
  });

  it("is found by rule, key and outcome, the newest first", async () => {
    const { samples, decide, move } = setUp();
    for (const ip of ["192.0.2.1", "192.0.2.2"]) {
      for (let i = 0; i < 3; i++) {
        await decide({ path: "/login", ip });
        move(1);
      }
    }
    await decide({ user: "ann" });
    const find = (query: object) =>
      samples.latest({ showsKeys: true, ...query }).map(({ key, outcome }) => `${key} ${outcome}`);
    expect(find({ rule: "login", outcome: "blocked" })).toEqual([
      "ip:192.0.2.2 blocked",
      "ip:192.0.2.1 blocked",
    ]);
    expect(find({ key: "ip:192.0.2.1" }).length).toBe(3);
    expect(find({ rule: "api", key: "ip:192.0.2.1" })).toEqual([]);
    expect(find({ limit: 1 })).toEqual(["user:ann allowed"]);
  });

  it("of limits that are not rules names the limit and its key", () => {
    const { telemetry, samples } = setUp();
    const verdict = {
      allowed: false,
      limit: 5,
      remaining: 0,
      retryAfterMs: 40,
      delayMs: 0,
      source: "memory",
    } as const;
    telemetry.decidedInline("decision", "user:7", 2, verdict);
    const limits = [
      { rule: "edge/ip", keyType: "ip", key: "ip=9", cost: 1, shadow: false, verdict },
    ];
    telemetry.decidedByLimits("envoy", false, limits);
    expect(samples.latest({ showsKeys: true })).toMatchObject([
      { listener: "envoy", rule: "edge/ip", key: "ip=9", outcome: "blocked", facts: null },
      { listener: "decision", rule: "inline", key: "user:7", cost: 2, retryAfterMs: 40 },
    ]);
  });
});

describe("a sample of a request whose cost is in the request", () => {
  const RULE = { match: { path: "/api/*" }, key: "user", limit: windowOf(100) };
  const json = ["max_tokens", "auth.tokens"];
  const TOKENS = {
    version: 1,
    rules: [
      { ...RULE, id: "body", cost: { json, max: 1_000 } },
      { ...RULE, id: "header", cost: { header: "x-tokens", max: 1_000 } },
    ],
  };

  it("costs in a preview what it cost", async () => {
    const { samples, decide } = setUp(TOKENS);
    const body = { max_tokens: 30, auth: { tokens: 10, secret: "s-1" } };
    for (let i = 0; i < 3; i++) await decide({ user: "ann", body, headers: { "x-tokens": "40" } });
    const report = samples.since(START_MS);
    expect(JSON.stringify(report)).not.toContain("s-1");
    const policy = createPolicy({ rules: TOKENS });
    for (const { facts, charges } of report.samples) {
      const costs = new Map<string, number>();
      const decision = await policy.admit(facts as Facts);
      decision.eachCharge(({ id }, { units }) => void costs.set(id, units));
      expect([...costs]).toEqual([
        ["body", 40],
        ["header", 40],
      ]);
      expect(charges.map(({ rule, cost }) => [rule, cost])).toEqual([...costs]);
    }
    const text = JSON.stringify(TOKENS).replaceAll("100}", "50}").replaceAll("100,", "50,");
    const { fromMs, samples: kept } = report;
    const answer = await preview({
      text,
      inForce: policy.rules,
      samples: kept,
      fromMs,
      toMs: fromMs + 1,
    });
    expect(answer.requests).toMatchObject({ refusedBefore: 1, refusedAfter: 2, newlyRefused: 1 });
  });

  it("keeps only numbers as they are, and what is counted by too as a hash", async () => {
    const counted = { ...RULE, id: "both", key: "body:max_tokens", cost: { json, max: 1_000 } };
    const { samples, decide } = setUp({ version: 1, rules: [...TOKENS.rules, counted] });
    const body = { max_tokens: 30, auth: { tokens: "t-1" } };
    await decide({ user: "ann", body, headers: { "x-tokens": "t-2" } });
    const [{ facts }] = samples.latest({ showsKeys: true });
    expect(facts?.body).toEqual({ max_tokens: expect.stringMatching(/^hmac:/) });
    expect(facts?.headers).toBeUndefined();
  });
});

describe("sampling that fails", () => {
  it("is reported, and the decision is reported all the same", async () => {
    const fault = new Error("no time");
    let isBroken = false;
    const wallMs = () => {
      if (isBroken) throw fault;
      return START_MS;
    };
    const telemetry = createTelemetry(
      { logLevel: "silent", decisionLogShare: 0, region: "local", topKeysMax: 3 },
      { hasProcessMetrics: false, wallMs },
    );
    const problem = vi.spyOn(telemetry, "problem");
    const facts = { method: "GET", path: "/api/x", user: "ann" };
    const decision = await createPolicy({ rules: RULES }).admit(facts);
    const { limit, remaining, retryAfterMs, delayMs } = decision;
    const verdict = { allowed: true, limit, remaining, retryAfterMs, delayMs, source: "memory" };
    const limited = { rule: "edge/ip", keyType: "ip", key: "ip=9", cost: 1, shadow: false };
    isBroken = true;
    telemetry.decided("gateway", decision, facts);
    telemetry.decidedByLimits("envoy", true, [{ ...limited, verdict: verdict as never }]);
    telemetry.decidedInline("decision", "user:7", 2, verdict as never);
    const expected = ["a decision could not be sampled", fault];
    expect(problem.mock.calls).toEqual([expected, expected, expected]);
    isBroken = false;
    telemetry.decided("gateway", decision, facts);
    expect(telemetry.samples.latest().length).toBe(1);
  });
});

describe("the choice of samples", () => {
  it("is everything while there is little traffic", async () => {
    const set = setUp();
    await run(set, { users: 7, perSecond: 20, seconds: 10 });
    const report = set.samples.since(START_MS);
    expect(report.whole).toEqual({ share: 1, hot: [] });
    expect(report.samples.length).toBe(200);
  });

  it("is by key: under load some keys are kept, with every one of their decisions", async () => {
    const set = setUp();
    await run(set, { users: 1_000, perSecond: 2_000, seconds: 20 });
    const { samples, move } = set;
    move(1);
    const report = samples.since(START_MS + 10_000);
    const counts = new Map<string, number>();
    for (const { key } of report.samples) counts.set(key ?? "", (counts.get(key ?? "") ?? 0) + 1);
    const whole = [...counts.keys()].filter((key) => samples.isWhole(key, report));
    expect(whole.length).toBeGreaterThan(3);
    // Each user comes twice a second, for ten seconds.
    for (const key of whole) expect(counts.get(key)).toBe(20);
    expect(report.whole.share).toBeGreaterThan(0.003);
    expect(report.whole.share).toBeLessThan(0.1);
    expect(report.samples.length / 10).toBeLessThanOrEqual(PER_SECOND_MAX);
  });

  it("has no bias: which keys are kept does not depend on how often they come", async () => {
    const kept = { often: 0, seldom: 0 };
    for (let secret = 0; secret < 40; secret++) {
      const { samples } = setUp(RULES, String(secret));
      const isKept = (key: string) => samples.isWhole(key, { whole: { share: 0.25, hot: [] } });
      for (let i = 0; i < 50; i++) {
        if (isKept(`user:often${i}`)) kept.often++;
        if (isKept(`user:seldom${i}`)) kept.seldom++;
      }
    }
    expect(kept.often / 2_000).toBeCloseTo(0.25, 1);
    expect(kept.seldom / 2_000).toBeCloseTo(0.25, 1);
  });

  it("leaves out a key that is most of the traffic, and keeps the others whole", async () => {
    const set = setUp();
    const { samples, decide, move } = set;
    for (let i = 0; i < 20_000; i++) {
      await decide({ user: i % 100 === 0 ? `u${(i / 100) % 10}` : "flood" });
      move(1);
    }
    const report = samples.since(START_MS + 15_000);
    expect(samples.isWhole("user:flood", report)).toBe(false);
    const others = Array.from({ length: 10 }, (_, i) => `user:u${i}`);
    expect(others.filter((key) => samples.isWhole(key, report)).length).toBe(10);
    expect(report.samples.length).toBe(50);
  });

  it("keeps some refusals whatever the key, and few of one key in a second", async () => {
    const { samples, decide, move } = setUp();
    for (let second = 0; second < 5; second++) {
      for (let i = 0; i < 2_000; i++) {
        await decide({ path: "/login", ip: i % 500 === 0 ? "192.0.2.2" : "192.0.2.1" });
        move(0.5);
      }
    }
    const refusals = samples.latest({ outcome: "blocked", limit: 1_000, showsKeys: true });
    const late = refusals.filter(({ atMs }) => atMs >= START_MS + 4_000);
    const keys = late.map(({ key }) => key);
    expect(keys.filter((key) => key === "ip:192.0.2.1").length).toBeGreaterThanOrEqual(3);
    expect(keys.filter((key) => key === "ip:192.0.2.2").length).toBeGreaterThanOrEqual(3);
  });

  it("covers requests that no rule counts, by their address", async () => {
    const { samples, decide } = setUp();
    await decide({ path: "/", ip: "192.0.2.7" });
    expect(samples.latest({ showsKeys: true })).toMatchObject([
      { rule: null, key: null, outcome: "allowed", facts: { ip: "192.0.2.7" } },
    ]);
  });
});

describe("the ring", () => {
  it("drops the oldest by number and by characters", () => {
    const ring = new SampleRing<number>({ countMax: 5, charsMax: 100 });
    for (let i = 0; i < 12; i++) ring.add(i, 10);
    expect([...ring.newest()]).toEqual([11, 10, 9, 8, 7]);
    expect(ring.lastDropped).toBe(6);
    ring.add(12, 80);
    expect([...ring.newest()]).toEqual([12, 11, 10]);
    ring.add(13, 1_000);
    expect([...ring.newest()]).toEqual([13]);
  });
});

describe("samples of several processes", () => {
  it("are joined by time, and whole is what is whole in each", async () => {
    const [a, b] = [setUp(), setUp()];
    b.move(5);
    await a.decide({ user: "ann" });
    await b.decide({ user: "bob" });
    const latest = mergeLatest(
      [a, b].map(({ samples }) => samples.latest()),
      1,
    );
    expect(latest).toMatchObject([{ atMs: START_MS + 5 }]);
    const reports = [a, b].map(({ samples }) => samples.since(0));
    const merged = mergeReports([reports[0], { ...reports[1], whole: { share: 0.5, hot: [7] } }]);
    expect(merged.samples.map(({ key }) => key)).toEqual(["user:ann", "user:bob"]);
    expect(merged.whole).toEqual({ share: 0.5, hot: [7] });
    expect(a.samples.isWhole("user:ann", merged)).toBe(b.samples.isWhole("user:ann", merged));
  });
});
