import { memoryStore, type Store } from "sluice";
import { callerBlocks, createPolicy, type Facts, type Policy, parseRules } from "sluice/rules";
import { describe, expect, it } from "vitest";
import { createTelemetry } from "./create-telemetry.js";
import { METRICS } from "./metrics/metric-definitions.js";
import { silentTelemetry } from "./silent-telemetry.js";
import { HOT_HITS } from "./tally/decision-tally.js";
import { RULE_LABELS_MAX } from "./tally/rule-meters.js";
import type { Telemetry } from "./telemetry.js";
import type { TelemetryOptions } from "./telemetry-options.js";

const windowOf = (limit: number) => ({
  fixedWindow: { limit, windowMs: 3_600_000, align: "first" },
});
const login = { id: "login", match: { path: "/login" }, key: "ip", limit: windowOf(2) };
const facts: Facts = { method: "GET", path: "/login", ip: "203.0.113.10" };

function policyOf(rules: readonly object[], store?: Store): Policy {
  return createPolicy({ rules: { version: 1, rules }, ...(store === undefined ? {} : { store }) });
}

async function decide(telemetry: Telemetry, policy: Policy, times: number, asked: Facts = facts) {
  for (let i = 0; i < times; i++) {
    telemetry.decided("gateway", await policy.admit(asked), asked, 0.02);
  }
}

/** The value of each line of a metric, by its labels without region. */
async function linesOf(telemetry: Telemetry, name: string): Promise<Record<string, number>> {
  const lines = (await telemetry.metrics())
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`));
  return Object.fromEntries(
    lines.map((line) => {
      const [, labels = "", value] = /^\w+\{(.*)\} (\S+)$/.exec(line) ?? [];
      return [labels.replace(/,?region="local"$/, ""), Number(value)];
    }),
  );
}

const ofLogin = (outcome: string) =>
  `rule="login",endpoint="/login",key_type="ip",outcome="${outcome}"`;

describe("metrics of decisions", () => {
  it("count what a rule admitted and refused, with its pattern and its type of key", async () => {
    const telemetry = silentTelemetry();
    await decide(telemetry, policyOf([login]), 5);
    telemetry.refused("gateway", 429);
    telemetry.refused("gateway", 403);
    expect(await linesOf(telemetry, "rate_limiter_allowed_total")).toEqual({
      [ofLogin("allowed")]: 2,
      [ofLogin("delayed")]: 0,
    });
    expect(await linesOf(telemetry, "rate_limiter_blocked_total")).toEqual({
      [ofLogin("limit")]: 3,
      [ofLogin("blocked")]: 0,
      [ofLogin("identity")]: 0,
      [ofLogin("store")]: 0,
      [ofLogin("denied")]: 0,
      [ofLogin("unknown-api-key")]: 0,
      [ofLogin("unchecked-api-key")]: 0,
    });
    expect(await linesOf(telemetry, "http_429_total")).toEqual({ 'listener="gateway"': 1 });
    expect(await linesOf(telemetry, "rate_limiter_http_refusals_total")).toEqual({
      'listener="gateway",status="429"': 1,
      'listener="gateway",status="403"': 1,
    });
    expect(await linesOf(telemetry, "rate_limiter_decision_source_total")).toMatchObject({
      'source="memory"': 5,
      'source="fallback"': 0,
    });
  });

  it("count what a switch denies under its rule, and a blocked caller by its listener", async () => {
    const telemetry = silentTelemetry();
    const policy = policyOf([login]);
    await decide(telemetry, policy, 1);
    policy.switch("login", "deny");
    await decide(telemetry, policy, 2);
    policy.switch("login", "on");
    policy.blockCallers(callerBlocks([{ subject: "ip:203.0.113.10", reason: "abuse" }]));
    await decide(telemetry, policy, 3);
    expect(await linesOf(telemetry, "rate_limiter_blocked_total")).toMatchObject({
      [ofLogin("denied")]: 2,
      [ofLogin("blocked")]: 0,
    });
    expect(await linesOf(telemetry, "rate_limiter_decisions_total")).toMatchObject({
      'listener="gateway",outcome="blocked"': 5,
    });
  });

  it("count a request once for a rule of two limits, and not for a rule that another one refused", async () => {
    const telemetry = silentTelemetry();
    const both = { id: "both", key: "ip", limit: [windowOf(50), windowOf(60)] };
    await decide(telemetry, policyOf([{ ...both }, login]), 5);
    expect(await linesOf(telemetry, "rate_limiter_allowed_total")).toMatchObject({
      'rule="both",endpoint="*",key_type="ip",outcome="allowed"': 2,
      [ofLogin("allowed")]: 2,
    });
    expect(await linesOf(telemetry, "rate_limiter_blocked_total")).toMatchObject({
      'rule="both",endpoint="*",key_type="ip",outcome="limit"': 0,
      [ofLogin("limit")]: 3,
    });
    expect(await linesOf(telemetry, "rate_limiter_decisions_total")).toEqual({
      'listener="gateway",outcome="allowed"': 2,
      'listener="gateway",outcome="delayed"': 0,
      'listener="gateway",outcome="blocked"': 3,
      'listener="gateway",outcome="unmatched"': 0,
    });
  });

  it("show what a rule in shadow mode would have blocked, which blocks nothing", async () => {
    const telemetry = silentTelemetry();
    await decide(telemetry, policyOf([{ ...login, onExceed: "shadow" }]), 5);
    expect(await linesOf(telemetry, "rate_limiter_shadow_total")).toEqual({
      [ofLogin("allowed")]: 2,
      [ofLogin("blocked")]: 3,
    });
    expect(await linesOf(telemetry, "rate_limiter_blocked_total")).toMatchObject({
      [ofLogin("limit")]: 0,
    });
  });

  it("count requests that had to wait, that no rule counted, and that lacked their identity", async () => {
    const telemetry = silentTelemetry();
    const policy = policyOf([
      {
        id: "slow",
        match: { path: "/slow" },
        key: "ip",
        onExceed: "delay",
        delayMsMax: 10_000,
        limit: { tokenBucket: { capacity: 1, refillPerSecond: 1 } },
      },
      {
        id: "mine",
        match: { path: "/mine" },
        key: "user",
        onMissing: "refuse",
        limit: windowOf(9),
      },
    ]);
    telemetry.watch(policy);
    await decide(telemetry, policy, 2, { ...facts, path: "/slow" });
    await decide(telemetry, policy, 3, { ...facts, path: "/other" });
    await decide(telemetry, policy, 4, { ...facts, path: "/mine" });
    expect(await linesOf(telemetry, "rate_limiter_decisions_total")).toEqual({
      'listener="gateway",outcome="allowed"': 1,
      'listener="gateway",outcome="delayed"': 1,
      'listener="gateway",outcome="blocked"': 4,
      'listener="gateway",outcome="unmatched"': 3,
    });
    expect(await linesOf(telemetry, "rate_limiter_blocked_total")).toMatchObject({
      'rule="mine",endpoint="/mine",key_type="user",outcome="identity"': 4,
    });
  });

  it("never show a key, an address, a tenant or a path that was used", async () => {
    const telemetry = silentTelemetry();
    const policy = policyOf([
      { id: "login", match: { path: "/users/*" }, key: ["tenant", "user"], limit: windowOf(2) },
      { id: "each", key: "endpoint", limit: windowOf(2) },
      { id: "net", key: "ip", limit: windowOf(2) },
    ]);
    telemetry.watch(policy);
    const asked = { ...facts, path: "/users/secretly", user: "ann-secret", tenant: "acme-secret" };
    await decide(telemetry, policy, 5, asked);
    const text = await telemetry.metrics();
    expect(text).toContain('rule="login"');
    for (const used of ["secret", "203.0.113"]) expect(text).not.toContain(used);
  });

  it(`distinguish at most ${RULE_LABELS_MAX} rules, and count the others as other`, async () => {
    const telemetry = silentTelemetry();
    const rules = Array.from({ length: RULE_LABELS_MAX + 50 }, (_, i) => ({
      id: `rule-${i}`,
      match: { path: `/${i}` },
      limit: windowOf(5),
      key: "ip",
    }));
    const policy = policyOf(rules);
    for (let i = 0; i < rules.length; i++) {
      await decide(telemetry, policy, 1, { ...facts, path: `/${i}` });
    }
    const allowed = await linesOf(telemetry, "rate_limiter_allowed_total");
    expect(Object.keys(allowed).length).toBe((RULE_LABELS_MAX + 1) * 2);
    expect(allowed['rule="other",endpoint="*",key_type="other",outcome="allowed"']).toBe(50);
  });

  it("list a rule that was counted among the others by its own name as soon as there is room", async () => {
    const telemetry = silentTelemetry();
    const verdict = { allowed: true, remaining: 1, retryAfterMs: 0, delayMs: 0 } as const;
    for (let i = 0; i < RULE_LABELS_MAX; i++) {
      const judged = { ...verdict, limit: 2, resetMs: 0, source: "memory" } as const;
      const limit = { rule: `envoy-${i}`, keyType: "ip", key: "ip:1", cost: 1, shadow: false };
      telemetry.decidedByLimits("envoy", true, [{ ...limit, verdict: judged }]);
    }
    const policy = policyOf([login]);
    await decide(telemetry, policy, 1);
    expect(await telemetry.metrics()).not.toContain('rule="login"');
    telemetry.reloaded("envoy");
    await decide(telemetry, policy, 1);
    expect(await linesOf(telemetry, "rate_limiter_allowed_total")).toMatchObject({
      [ofLogin("allowed")]: 1,
      'rule="other",endpoint="*",key_type="other",outcome="allowed"': 1,
    });
  });

  it("are each telemetry's own, though both see decisions of one policy", async () => {
    const policy = policyOf([login]);
    const [one, other] = [silentTelemetry(), silentTelemetry()];
    const decision = await policy.admit(facts);
    one.decided("gateway", decision, facts, 0.02);
    other.decided("gateway", decision, facts, 0.02);
    one.decided("gateway", decision, facts, 0.02);
    expect(await linesOf(one, "rate_limiter_allowed_total")).toMatchObject({
      [ofLogin("allowed")]: 2,
    });
    expect(await linesOf(other, "rate_limiter_allowed_total")).toMatchObject({
      [ofLogin("allowed")]: 1,
    });
  });

  it("forget rules that a reload removed", async () => {
    const telemetry = silentTelemetry();
    const policy = createPolicy({
      rules: { version: 1, rules: [login, { ...login, id: "gone" }] },
      onEvent: (event) => telemetry.policyEvent(event),
    });
    await decide(telemetry, policy, 1);
    expect(await telemetry.metrics()).toContain('rule="gone"');
    policy.replace({ version: 1, rules: [login] });
    await decide(telemetry, policy, 1);
    const text = await telemetry.metrics();
    expect(text).not.toContain('rule="gone"');
    expect(text).toContain(`rate_limiter_allowed_total{${ofLogin("allowed")},region="local"} 2`);
  });

  it("begin at none for a rule that comes back, also if nothing else came in between", async () => {
    const telemetry = silentTelemetry();
    const rules = parseRules({ version: 1, rules: [login] });
    const policy = createPolicy({ rules, onEvent: (event) => telemetry.policyEvent(event) });
    await decide(telemetry, policy, 1);
    policy.replace({ version: 1, rules: [] });
    policy.replace(rules);
    await decide(telemetry, policy, 1);
    expect(await linesOf(telemetry, "rate_limiter_allowed_total")).toMatchObject({
      [ofLogin("allowed")]: 1,
    });
  });

  it("estimate how many keys of each type came lately", async () => {
    let nowMs = 0;
    const telemetry = loud({ readMs: () => nowMs }).telemetry;
    const policy = policyOf([login], memoryStore());
    for (let i = 0; i < 500; i++) {
      await decide(telemetry, policy, 2, { ...facts, ip: `203.0.${i >> 8}.${i & 255}` });
    }
    const tracked = await linesOf(telemetry, "rate_limiter_tracked_keys");
    expect(tracked['key_type="ip"']).toBeGreaterThan(450);
    expect(tracked['key_type="ip"']).toBeLessThan(550);
    nowMs = 660_000;
    expect(await linesOf(telemetry, "rate_limiter_tracked_keys")).toEqual({ 'key_type="ip"': 0 });
  });
});

describe("decisions that no policy made", () => {
  const limitVerdict = {
    rule: "edge/path",
    keyType: "path",
    key: "path=/secret",
    cost: 1,
    shadow: false,
    verdict: {
      allowed: true,
      limit: 5,
      remaining: 4,
      retryAfterMs: 0,
      delayMs: 0,
      source: "memory",
    },
  } as const;
  const refusal = { ...limitVerdict, verdict: { ...limitVerdict.verdict, allowed: false } };

  it("are counted, ranked and logged by the names of their limits", async () => {
    const { telemetry, lines } = loud({ chance: () => 0.9 }, 0.5);
    telemetry.decidedByLimits("envoy", true, [limitVerdict]);
    telemetry.decidedByLimits("envoy", false, [{ ...limitVerdict, rule: "edge/user" }, refusal]);
    telemetry.decidedByLimits("envoy", true, [{ ...refusal, rule: "edge/dark", shadow: true }]);
    telemetry.decidedByLimits("envoy", true, []);
    const of = (rule: string, outcome: string) =>
      `rule="edge/${rule}",endpoint="*",key_type="path",outcome="${outcome}"`;
    expect(await linesOf(telemetry, "rate_limiter_allowed_total")).toMatchObject({
      [of("path", "allowed")]: 1,
      [of("user", "allowed")]: 0,
    });
    expect(await linesOf(telemetry, "rate_limiter_blocked_total")).toMatchObject({
      [of("path", "limit")]: 1,
      [of("user", "limit")]: 0,
    });
    expect(await linesOf(telemetry, "rate_limiter_shadow_total")).toMatchObject({
      [of("dark", "blocked")]: 1,
    });
    expect(await linesOf(telemetry, "rate_limiter_decisions_total")).toMatchObject({
      'listener="envoy",outcome="allowed"': 2,
      'listener="envoy",outcome="blocked"': 1,
      'listener="envoy",outcome="unmatched"': 1,
    });
    const key = expect.stringMatching(/^hmac:/);
    const code = "RATE_LIMIT_EXCEEDED";
    expect(lines).toMatchObject([{ rule: "edge/path", outcome: "blocked", code, key }]);
    expect(JSON.stringify([lines, await telemetry.metrics(), telemetry.top()])).not.toContain(
      "secret",
    );
  });

  it("under limits of requests themselves are counted as one rule, which reloads of Envoy leave alone", async () => {
    const telemetry = silentTelemetry();
    telemetry.decidedInline("decision", "user:42", 1, limitVerdict.verdict);
    telemetry.decidedInline("decision", "user:43", 1, limitVerdict.verdict);
    telemetry.decidedInline("decision", "user:42", 1, refusal.verdict);
    telemetry.reloaded("envoy");
    const of = (outcome: string) =>
      `rule="inline",endpoint="*",key_type="key",outcome="${outcome}"`;
    expect(await linesOf(telemetry, "rate_limiter_allowed_total")).toMatchObject({
      [of("allowed")]: 2,
    });
    expect(await linesOf(telemetry, "rate_limiter_blocked_total")).toMatchObject({
      [of("limit")]: 1,
    });
    expect(await linesOf(telemetry, "rate_limiter_decisions_total")).toMatchObject({
      'listener="decision",outcome="allowed"': 2,
      'listener="decision",outcome="blocked"': 1,
    });
    expect(await telemetry.metrics()).not.toContain("user:4");
  });

  it("that are reported together are counted as of one instant", () => {
    let readings = 0;
    const { telemetry } = loud({ readMs: () => readings++ });
    const reportTwo = () => {
      telemetry.decidedInline("decision", "user:42", 1, limitVerdict.verdict);
      telemetry.decidedInline("decision", "user:43", 1, limitVerdict.verdict);
      return "done";
    };
    const readingsOf = (report: () => unknown) => {
      const before = readings;
      expect(report()).toBe("done");
      return readings - before;
    };
    expect(readingsOf(reportTwo)).toBe(2);
    expect(readingsOf(() => telemetry.together(reportTwo))).toBe(1);
    expect(readingsOf(reportTwo)).toBe(2);
  });

  it("begin at none when their files are reloaded, and rules stay", async () => {
    const telemetry = silentTelemetry();
    await decide(telemetry, policyOf([login]), 1);
    telemetry.decidedByLimits("envoy", true, [limitVerdict]);
    telemetry.reloaded("envoy", new Error("a bad file"));
    expect(await telemetry.metrics()).toContain('rule="edge/path"');
    telemetry.reloaded("envoy");
    expect(await telemetry.metrics()).not.toContain('rule="edge/path"');
    expect(await telemetry.metrics()).toContain('rule="login"');
  });
});

describe("metrics of the service", () => {
  it("are those of the list, with the labels of the list and the region, and nothing else", async () => {
    const { telemetry } = loud({ hasProcessMetrics: false });
    const store = memoryStore();
    const policy = policyOf([login], store);
    telemetry.watch(policy);
    telemetry.watch(store);
    await decide(telemetry, policy, 3);
    telemetry.reloaded("rules");
    telemetry.upstream("api", "answered");
    telemetry.refused("gateway", 429);
    const values = (await telemetry.metricValues()) as {
      name: string;
      values: { labels: object }[];
    }[];
    expect(values.map(({ name }) => name)).toEqual(Object.values(METRICS).map(({ name }) => name));
    for (const { name, values: samples } of values) {
      const definition = Object.values(METRICS).find((metric) => metric.name === name);
      const known = [...(definition?.labels ?? []), "region", "le"];
      for (const { labels } of samples)
        expect(known).toEqual(expect.arrayContaining(Object.keys(labels)));
    }
  });

  it("show the fallback: how often, whether now, and for how long", async () => {
    let nowMs = 0;
    const { telemetry, lines } = loud({ readMs: () => nowMs });
    const event = { reason: "no answer", atMs: 0, sinceMs: 0 };
    telemetry.fallbackEvent({ kind: "entered", ...event });
    nowMs = 4_000;
    telemetry.fallbackEvent({ kind: "lasting", ...event });
    expect(await telemetry.metrics()).toContain('rate_limiter_fallback_active{region="local"} 1');
    expect(await telemetry.metrics()).toContain(
      'rate_limiter_fallback_seconds_total{region="local"} 4',
    );
    nowMs = 5_500;
    telemetry.fallbackEvent({ kind: "left", ...event });
    nowMs = 90_000;
    const text = await telemetry.metrics();
    expect(text).toContain('rate_limiter_fallback_mode_total{region="local"} 1');
    expect(text).toContain('rate_limiter_fallback_active{region="local"} 0');
    expect(text).toContain('rate_limiter_fallback_seconds_total{region="local"} 5.5');
    expect(lines.map(({ fallback }) => fallback)).toEqual(["entered", "lasting", "left"]);
  });

  it("count reloads, and show that the latest one failed until one works", async () => {
    const { telemetry, lines } = loud();
    telemetry.reloaded("rules", new Error("sluice.yaml:14"));
    expect(await linesOf(telemetry, "rate_limiter_reload_failed")).toEqual({ 'what="rules"': 1 });
    telemetry.reloaded("rules");
    expect(await linesOf(telemetry, "rate_limiter_reload_failed")).toEqual({ 'what="rules"': 0 });
    expect(await linesOf(telemetry, "rate_limiter_reloads_total")).toEqual({
      'what="rules",outcome="failed"': 1,
      'what="rules",outcome="ok"': 1,
    });
    expect(JSON.stringify(lines[0])).toContain("sluice.yaml:14");
  });

  it("count backends that are ejected and that are back, each with a line in the log", async () => {
    const { telemetry, lines } = loud();
    telemetry.upstream("api", "failed", "127.0.0.1:8081");
    telemetry.upstream("api", "ejected", "127.0.0.1:8081");
    telemetry.upstream("api", "returned", "127.0.0.1:8081");
    expect(await linesOf(telemetry, "rate_limiter_upstream_requests_total")).toEqual({
      'upstream="api",outcome="failed"': 1,
      'upstream="api",outcome="ejected"': 1,
      'upstream="api",outcome="returned"': 1,
    });
    const about = { upstream: "api", backend: "127.0.0.1:8081" };
    expect(lines).toMatchObject([
      { ...about, level: 40 },
      { ...about, level: 30 },
    ]);
    expect(lines.length).toBe(2);
  });

  it("count fetches of keys that failed, from none", async () => {
    const telemetry = silentTelemetry();
    const name = 'rate_limiter_jwks_fetch_failures_total{region="local"}';
    expect(await telemetry.metrics()).toContain(`${name} 0`);
    telemetry.jwksFetchFailed(new Error("https://login.example.com/jwks: status 503"));
    expect(await telemetry.metrics()).toContain(`${name} 1`);
  });

  it("count workers that ended, from none", async () => {
    const telemetry = silentTelemetry();
    const name = 'rate_limiter_workers_ended_total{region="local"}';
    expect(await telemetry.metrics()).toContain(`${name} 0`);
    telemetry.workerEnded();
    expect(await telemetry.metrics()).toContain(`${name} 1`);
  });

  it("count keys that become hot, by rule, whichever store there is", async () => {
    let nowMs = 0;
    const { telemetry } = loud({ readMs: () => nowMs });
    const policy = policyOf([login]);
    await decide(telemetry, policy, HOT_HITS - 1);
    expect(await linesOf(telemetry, "rate_limiter_hot_keys_detected_total")).toEqual({});
    await decide(telemetry, policy, 2);
    nowMs += 5_000;
    await decide(telemetry, policy, HOT_HITS);
    expect(await linesOf(telemetry, "rate_limiter_hot_keys_detected_total")).toEqual({
      'rule="login"': 1,
    });
  });

  it("count evictions and keys of stores that are watched, once each", async () => {
    const telemetry = silentTelemetry();
    const store = memoryStore({ keysMax: 64 });
    const policy = policyOf([{ ...login, match: {} }], store);
    telemetry.watch(store);
    telemetry.watch(store);
    for (let i = 0; i < 400; i++) {
      await decide(telemetry, policy, 1, { ...facts, ip: `203.0.${i >> 8}.${i & 255}` });
    }
    const { keys, evictions } = store.stats;
    expect(evictions).toBeGreaterThan(0);
    const text = await telemetry.metrics();
    expect(text).toContain(`rate_limiter_store_keys{region="local"} ${keys}`);
    expect(text).toContain(`rate_limiter_store_evictions_total{region="local"} ${evictions}`);
  });

  it("include those of the process, unless disabled", async () => {
    expect(await loud().telemetry.metrics()).toContain("process_cpu_seconds_total");
    expect(await silentTelemetry().metrics()).not.toContain("process_cpu_seconds_total");
  });
});

/** Telemetry whose log lines can be read. */
function loud(options: TelemetryOptions = {}, decisionLogShare = 0) {
  const lines: Record<string, unknown>[] = [];
  const telemetry = createTelemetry(
    { logLevel: "info", decisionLogShare, region: "local", topKeysMax: 5 },
    { destination: { write: (line) => void lines.push(JSON.parse(line)) }, ...options },
  );
  return { telemetry, lines };
}
