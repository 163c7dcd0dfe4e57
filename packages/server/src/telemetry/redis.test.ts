import { Redis } from "ioredis";
import { resilient } from "sluice";
import { redisStore } from "sluice/redis";
import { createPolicy } from "sluice/rules";
import { startRedis } from "sluice-test-servers";
import { expect, it } from "vitest";
import { silentTelemetry } from "./silent-telemetry.js";

const limit = { fixedWindow: { limit: 100_000, windowMs: 3_600_000, align: "first" } };
const RULES = {
  version: 1,
  rules: [
    { id: "strict", key: "ip", limit },
    { id: "leased", key: "user", consistency: "leased", limit },
    { id: "eventual", key: "tenant", consistency: "eventual", limit },
  ],
};
const facts = { method: "GET", path: "/", ip: "203.0.113.10", user: "ann", tenant: "acme" };
/** Decisions until a store that is gone has been noticed; five failures in a row do it. */
const ATTEMPTS_MAX = 200;

it("a Redis that works and then is gone shows in the metrics, and so do leases and syncs", async () => {
  const redis = await startRedis();
  const client = new Redis({ port: redis.port, host: "127.0.0.1", lazyConnect: true });
  client.on("error", () => {});
  const telemetry = silentTelemetry();
  const store = resilient(telemetry.measured(redisStore(client)), {
    // The machine may be busy: no answer of a Redis that is there is too late.
    timeoutMs: 10_000,
    onEvent: (event) => telemetry.fallbackEvent(event),
  });
  const policy = createPolicy({ rules: RULES, store });
  telemetry.watch(store);
  telemetry.watch(policy);
  const decide = async () => {
    const decision = await policy.admit(facts);
    telemetry.decided("gateway", decision, facts);
    return decision;
  };
  const readSeries = async (series: string) => {
    const line = (await telemetry.metrics()).split("\n").find((text) => text.startsWith(series));
    return line === undefined ? undefined : Number(line.split(" ").at(-1));
  };
  const calls = 'rate_limiter_redis_latency_seconds_count{operation="decide"';
  const errors = 'rate_limiter_redis_errors_total{operation="decide"';
  try {
    for (let i = 0; i < 50; i++) await decide();
    expect(await readSeries(calls)).toBeGreaterThanOrEqual(50);
    expect(await readSeries(errors)).toBe(0);
    expect(await readSeries("rate_limiter_fallback_active")).toBe(0);
    expect(await readSeries('rate_limiter_lease_units_total{outcome="leased"')).toBeGreaterThan(0);
    expect(await readSeries("rate_limiter_overshoot_units_max")).toBe(0);
    await redis.stop();
    let attempts = 0;
    while ((await decide()).source !== "fallback" && attempts < ATTEMPTS_MAX) attempts++;
    while ((await readSeries("rate_limiter_fallback_active")) === 0 && attempts < ATTEMPTS_MAX) {
      attempts++;
      await decide();
    }
    expect(await readSeries("rate_limiter_fallback_active")).toBe(1);
    expect(await readSeries("rate_limiter_fallback_mode_total")).toBe(1);
    expect(await readSeries(errors)).toBeGreaterThan(0);
    await decide();
    expect(
      await readSeries('rate_limiter_decision_source_total{source="fallback"'),
    ).toBeGreaterThan(0);
  } finally {
    await policy.close();
    await store.close();
    client.disconnect();
    await redis.stop();
  }
});
