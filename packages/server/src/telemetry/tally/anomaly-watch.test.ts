import { createPolicy } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { afterEach, describe, expect, it } from "vitest";
import { createTelemetry } from "../create-telemetry.js";
import { ANOMALY_PERIOD_MS } from "./anomaly-watch.js";
import { Baseline, LEARNING_PERIODS } from "./baseline.js";
import { hashText } from "./distinct-keys.js";
import { NetworkKeys } from "./network-keys.js";

describe("a baseline", () => {
  const learned = (value: (i: number) => number) => {
    const baseline = new Baseline({ distanceMin: 10 });
    for (let i = 0; i < LEARNING_PERIODS; i++) expect(baseline.take(value(i))).toBeUndefined();
    return baseline;
  };

  it("judges nothing while it learns", () => {
    learned((i) => i * 1_000);
  });

  it("begins a departure with the second value in a row, and ends it with the third", () => {
    const baseline = learned((i) => 100 + (i % 2));
    const changes = [200, 200, 200, 100, 100, 100, 100].map((value) => baseline.take(value));
    expect(changes).toEqual([
      undefined,
      "began",
      undefined,
      undefined,
      undefined,
      "ended",
      undefined,
    ]);
  });

  it("does not flap: one value, and a value between both thresholds, change nothing", () => {
    const baseline = learned(() => 100);
    expect([200, 100, 200, 100].map((value) => baseline.take(value))).toEqual(
      new Array(4).fill(undefined),
    );
    baseline.take(200);
    expect(baseline.take(200)).toBe("began");
    for (let i = 0; i < 5; i++) expect(baseline.take(baseline.mean + 9)).toBeUndefined();
    expect(baseline.isActive).toBe(true);
  });

  it("ignores what is small, however quiet the figure has been", () => {
    const baseline = learned(() => 0);
    for (let i = 0; i < 20; i++) expect(baseline.take(9)).toBeUndefined();
  });

  it("takes long to find an attack normal, and follows slow growth without a word", () => {
    const attacked = learned(() => 100);
    for (let i = 0; i < 30; i++) attacked.take(10_000);
    expect(attacked.isActive).toBe(true);
    expect(attacked.mean).toBeLessThan(300);
    const growing = learned((i) => 100 + (i % 5));
    for (let i = 0; i < 500; i++) expect(growing.take(100 + i / 10 + (i % 5))).toBeUndefined();
  });
});

describe("addresses of networks", () => {
  const estimate = (keys: readonly string[]) => {
    const networks = new NetworkKeys(7);
    for (const key of keys) networks.see(key, hashText(key, 7));
    return networks.take();
  };

  it("are estimated for the busiest network, however often each comes", () => {
    const ones = Array.from({ length: 200 }, (_, i) => `ip:203.0.113.${i}`);
    const others = Array.from({ length: 5_000 }, (_, i) => `ip:10.${i >> 8}.${i & 255}.1`);
    const many = estimate([...ones, ...ones, ...others]);
    expect(many).toBeGreaterThan(100);
    expect(many).toBeLessThan(350);
    expect(estimate(others)).toBeLessThan(80);
    const ipv6 = Array.from({ length: 400 }, (_, i) => `ip:2001:db8:1:${i.toString(16)}::/64`);
    expect(estimate(ipv6)).toBeGreaterThan(200);
  });

  it("are forgotten when they are read", () => {
    const networks = new NetworkKeys(7);
    for (let i = 0; i < 256; i++) networks.see(`ip:203.0.113.${i}`, 8 * i);
    expect(networks.take()).toBeGreaterThan(0);
    expect(networks.take()).toBe(0);
  });
});

describe("the service", () => {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
  });

  function stand() {
    let nowMs = 0;
    const lines: Record<string, unknown>[] = [];
    const telemetry = createTelemetry(
      { logLevel: "info", decisionLogShare: 0, region: "local", topKeysMax: 10 },
      {
        destination: { write: (line: string) => lines.push(JSON.parse(line)) } as never,
        readMs: () => nowMs,
        hasProcessMetrics: false,
        chance: () => 0,
      },
    );
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const policy = createPolicy({
      rules: {
        version: 1,
        rules: [
          { id: "all", key: "ip", limit: "1000000/second" },
          { id: "login", key: "body:name", limit: "1000000/second", when: { status: 401 } },
        ],
      },
      clock,
      onEvent: (event) => telemetry.policyEvent(event),
    });
    open.push(policy);
    /** A period of requests, some of which fail to log in. */
    const period = async (
      failures: number,
      nameOf: (i: number) => string,
      ipOf = (_: number) => "203.0.113.1",
    ) => {
      for (let i = 0; i < 120; i++) {
        const facts = { method: "POST", path: "/", ip: ipOf(i), body: { name: nameOf(i) } };
        const decision = await policy.admit(facts);
        telemetry.decided("gateway", decision, facts);
        await decision.finish({ status: i < failures ? 401 : 200 });
      }
      nowMs += ANOMALY_PERIOD_MS;
    };
    const anomalies = () =>
      lines
        .filter(({ msg }) => String(msg).startsWith("anomaly"))
        .map(({ figure, rule, msg }) => [figure, rule, msg]);
    return { telemetry, period, anomalies, lines };
  }

  it("reports failed logins of many accounts and of one, in the log and in metrics, without a key", async () => {
    const { telemetry, period, anomalies, lines } = stand();
    for (let i = 0; i <= LEARNING_PERIODS + 1; i++) await period(2, (n) => `user-${n}`);
    expect(anomalies()).toEqual([]);
    expect(telemetry.top()).not.toHaveProperty("anomalies");
    for (let i = 0; i < 4; i++) await period(60, (n) => `user-${n}`);
    const word = "anomaly: far above what is usual";
    expect(anomalies()).toEqual([["counted-responses", "login", word]]);
    for (let i = 0; i < 4; i++) await period(60, () => "anna");
    expect(anomalies()).toContainEqual(["counted-responses-per-key", "login", word]);
    const metrics = await telemetry.metrics();
    expect(metrics).toMatch(
      /rate_limiter_anomaly_active\{figure="counted-responses",rule="login"[^}]*\} 1/,
    );
    expect(metrics).toMatch(
      /rate_limiter_anomalies_total\{figure="counted-responses",rule="login"[^}]*\} 1/,
    );
    // The first high value had entered the baseline, up to the threshold, before the second was judged.
    const login = { rule: "login", endedAgoMs: null, value: 60 };
    expect(telemetry.top().anomalies).toMatchObject([
      { ...login, figure: "counted-responses-per-key" },
      { ...login, figure: "counted-responses", beganAgoMs: 60_000, mean: expect.closeTo(2.6, 1) },
    ]);
    expect(JSON.stringify(lines) + metrics).not.toContain("anna");
    for (let i = 0; i < 5; i++) await period(2, (n) => `user-${n}`);
    expect(anomalies().at(-1)?.[2]).toBe("anomaly ended");
    const { anomalies: [, latest] = [] } = telemetry.top({ rule: "login" });
    expect(latest).toMatchObject({ beganAgoMs: 110_000, endedAgoMs: 20_000, value: 60 });
    expect(telemetry.top({ rule: "all" })).not.toHaveProperty("anomalies");
  });

  it("reports a network that suddenly has many addresses", async () => {
    const { period, anomalies } = stand();
    for (let i = 0; i <= LEARNING_PERIODS + 1; i++) await period(0, String);
    for (let i = 0; i < 4; i++) await period(0, String, (n) => `198.51.100.${n * 2}`);
    expect(anomalies()).toEqual([["network-addresses", null, "anomaly: far above what is usual"]]);
  });
});
