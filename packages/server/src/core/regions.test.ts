// A service in each of two regions, over a Redis server each, and a fault proxy on the way to the home region.

import { parseRules } from "sluice/rules";
import {
  type FaultProxy,
  type RedisProcess,
  startFaultProxy,
  startRedis,
} from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../config/load.js";
import { createTelemetry } from "../telemetry/create-telemetry.js";
import { createCore, type OwnedCore, rulesUseOf } from "./create-core.js";
import { preview } from "./preview/preview.js";
import { readinessOf } from "./readiness.js";
import { mustBeUsable } from "./rules/read-job.js";

let home: RedisProcess;
let near: RedisProcess;
let way: FaultProxy;
const cores: OwnedCore[] = [];

beforeAll(async () => {
  [home, near] = await Promise.all([startRedis(), startRedis()]);
  way = await startFaultProxy({ port: home.port });
});
afterAll(async () => {
  way.close();
  await Promise.all([home.stop(), near.stop()]);
});
beforeEach(() => Promise.all([home.command("FLUSHALL"), near.command("FLUSHALL")]));
afterEach(async () => {
  await way.heal();
  await Promise.all(cores.splice(0).map((core) => core.close()));
});

const RULES = `
  - { id: near, key: ip, limit: 100/hour }
  - { id: part, key: ip, limit: 40/hour, across: split }
  - { id: far, key: ip, limit: 6/hour, across: central, timeoutMs: 200ms, match: { path: /login } }`;

function configIn(self: "eu" | "us", rules = RULES) {
  const port = self === "eu" ? home.port : way.port;
  return parseConfig(
    `
decision: { listen: "127.0.0.1:0" }
store: { kind: redis, timeoutMs: 2s }
regions:
  self: ${self}
  home: eu
  stores:
    eu: { url: "redis://127.0.0.1:${port}", weight: 3 }
    us: { url: "redis://127.0.0.1:${near.port}" }
telemetry: { logLevel: silent }
rules:
  version: 1
  rules:${rules.replaceAll("\n", "\n  ")}
`,
    { env: {} },
  );
}

async function coreIn(self: "eu" | "us", rules = RULES): Promise<OwnedCore> {
  const config = configIn(self, rules);
  const core = createCore(config, { telemetry: createTelemetry(config.telemetry) });
  cores.push(core);
  await core.storeReach.known;
  return core;
}

const login = { method: "POST", path: "/login", ip: "203.0.113.10" };

describe("a service in several regions", () => {
  it("decides central rules in the home region, and others in its own", async () => {
    const [eu, us] = [await coreIn("eu"), await coreIn("us")];
    for (let i = 0; i < 4; i++) expect((await us.policy.admit(login)).allowed).toBe(true);
    for (let i = 0; i < 2; i++) expect((await eu.policy.admit(login)).allowed).toBe(true);
    expect(await us.policy.admit(login)).toMatchObject({ allowed: false, rule: "far" });
    const { rules } = await us.policy.explain(login);
    expect(rules.map(({ rule, region, limits }) => [rule, region, limits[0].limit])).toEqual([
      ["near", "us", 100],
      ["part", "us", 10],
      ["far", "eu", 6],
    ]);
  });

  it("shows the home region and its share in metrics, all with its region", async () => {
    const us = await coreIn("us");
    await us.policy.admit(login);
    const text = await us.telemetry.metrics();
    const count = 'rate_limiter_home_latency_seconds_count{operation="decide",region="us"} 1';
    expect(text).toContain(count);
    expect(text).toContain('rate_limiter_region_share{region="us"} 0.25');
    expect(text).toContain(
      'rate_limiter_redis_latency_seconds_count{operation="decide",region="us"}',
    );
  });

  it("shows in metrics what the region leased from the home region", async () => {
    const rule = "\n  - { id: leased, key: ip, limit: 10000/hour, across: leased }";
    const us = await coreIn("us", rule);
    for (let i = 0; i < 40; i++) expect((await us.policy.admit(login)).allowed).toBe(true);
    const { regionLeased } = us.policy.stats;
    expect(regionLeased?.regionDecisions).toBeGreaterThan(20);
    const text = await us.telemetry.metrics();
    const held = `rate_limiter_region_budget_held{region="us"} ${regionLeased?.unitsHeld}`;
    expect(text).toContain(held);
    expect(text).toContain(
      `rate_limiter_region_home_leases_total{outcome="granted",region="us"} ${regionLeased?.leases}`,
    );
    expect(text).toMatch(
      /rate_limiter_redis_latency_seconds_count\{operation="take",region="us"\} [4-9]\d\b/,
    );
  });

  it("shows in metrics what it made other regions refuse early at most, and what home refused", async () => {
    const rules = `
  - { id: leased, key: ip, limit: 10000/hour, across: leased, match: { path: /login } }
  - { id: few, key: ip, limit: 1/hour, across: leased, match: { path: /few } }`;
    const us = await coreIn("us", rules);
    for (let i = 0; i < 40; i++) await us.policy.admit(login);
    const few = async () => (await us.policy.admit({ ...login, path: "/few" })).allowed;
    expect([await few(), await few()]).toEqual([true, false]);
    // What lies idle for half of its life returns.
    const returned = () => us.policy.stats.regionLeased?.unitsReturned ?? 0;
    await expect.poll(returned, { timeout: 20_000 }).toBeGreaterThan(0);
    const text = await us.telemetry.metrics();
    expect(text).toContain(`rate_limiter_region_units_returned_total{region="us"} ${returned()}`);
    expect(text).toContain('rate_limiter_region_home_refusals_total{region="us"} 1');
  });

  it("stays ready while the home region is away, says so, and refuses what that would decide", async () => {
    const us = await coreIn("us");
    expect((await us.policy.admit(login)).allowed).toBe(true);
    way.refuse();
    way.cut();
    const readiness = readinessOf(us);
    readiness.open();
    await expect
      .poll(() => readiness.remarks.join())
      .toMatch(/^home region eu: redis unreachable at .*refusing requests/);
    expect(readiness.isReady).toBe(true);
    expect(await us.policy.admit(login)).toMatchObject({ allowed: false, rule: "far" });
    expect((await us.policy.admit({ ...login, path: "/" })).allowed).toBe(true);
    await way.heal();
    await expect
      .poll(async () => (await us.policy.admit(login)).allowed, { timeout: 15_000 })
      .toBe(true);
  });

  it("merges counts with other regions, and shows how late they are", async () => {
    const rules =
      "\n  - { id: both, key: ip, limit: { fixedWindow: { limit: 8, windowMs: 1d } }, across: merged, timeoutMs: 2s }";
    const [eu, us] = [await coreIn("eu", rules), await coreIn("us", rules)];
    for (let i = 0; i < 5; i++) expect((await us.policy.admit(login)).allowed).toBe(true);
    const left = async () => (await eu.policy.explain(login)).rules[0].limits[0].remaining;
    await expect.poll(left, { timeout: 15_000 }).toBe(3);
    const text = await us.telemetry.metrics();
    expect(text).toMatch(/rate_limiter_region_lag_seconds\{peer="eu",region="us"\} \d/);
    expect(text).toContain('rate_limiter_region_units_total{peer="eu",region="us"} 5');
    expect(text).toContain(
      'rate_limiter_region_exchanges_total{peer="eu",outcome="failed",region="us"} 0',
    );
  });

  it("opens no store of another region at home", async () => {
    expect((await coreIn("eu")).homeReach).toBeUndefined();
  });
});

describe("rules of a service in several regions", () => {
  const small = "\n  - { id: small, key: ip, limit: 1/hour, across: split }";

  it("are refused where a region would have no share, with the place", () => {
    expect(() => configIn("us", small)).toThrow(
      'rule "small": across: split leaves the region us 0 of the 1 units',
    );
  });

  it("are checked before they are published, also in a thread", () => {
    const use = structuredClone(rulesUseOf(configIn("us")));
    const rules = parseRules({
      version: 1,
      rules: [{ id: "small", limit: "1/hour", across: "split" }],
    });
    expect(() => mustBeUsable(rules, use)).toThrow("leaves the region us 0 of the 1 units");
    expect(() => mustBeUsable(rules, { ...use, regions: undefined })).toThrow("needs regions");
  });

  it("are previewed under the region's share", async () => {
    const config = configIn("us");
    const samples = Array.from({ length: 12 }, (_, i) => ({
      atMs: 1_000 + i,
      facts: { ...login, path: "/" },
      outcome: "allowed" as const,
    }));
    const core = await coreIn("us");
    const draft = {
      version: 1,
      rules: [{ id: "part", key: "ip", limit: "20/hour", across: "split" }],
    };
    const found = await preview({
      text: JSON.stringify(draft),
      inForce: core.policy.rules,
      regions: config.regions,
      samples,
      fromMs: 0,
      toMs: 10_000,
    });
    // 5 of 20 units instead of 10 of 40.
    expect(found.requests).toMatchObject({ refusedBefore: 2, refusedAfter: 7 });
  });
});
