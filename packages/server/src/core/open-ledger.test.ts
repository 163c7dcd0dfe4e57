// The ledger of a service: that durable rules are counted in its database, whichever process decides and however often
// it restarts, and what happens while the database is unavailable.

import { join } from "node:path";
import { memoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { toTestConfig } from "../../test/test-config.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import { createCore, type OwnedCore } from "./create-core.js";
import { readinessOf } from "./readiness.js";

const MAY_MS = Date.UTC(2026, 4, 1);
const facts = { ip: "203.0.113.10", method: "POST", path: "/exports", tenant: "acme" };
const exportsRule = {
  id: "exports",
  key: "tenant",
  limit: { quota: { limit: 10, period: "month" } },
  durable: true,
};

const cores: OwnedCore[] = [];
afterEach(async () => {
  for (const core of cores.splice(0)) await core.close();
});

function coreOn(database: string, rule: object = exportsRule, options = {}): OwnedCore {
  const config = toTestConfig({
    rules: { inline: { version: 1, rules: [rule] } },
    ledger: { database, reservationMs: 600_000, deliveriesKeptMs: 2_592_000_000, webhooks: [] },
  });
  // On a clock that stands still, a database that takes long to open or to answer is waited for.
  const core = createCore(config, { clock: new ManualClock(MAY_MS), ...options });
  cores.push(core);
  return core;
}

/** What a test compares: a decision has private fields, which a failed comparison can't print. */
function plain(decision: Awaited<ReturnType<OwnedCore["policy"]["admit"]>>) {
  const { allowed, reason, remaining } = decision;
  return { allowed, reason, remaining };
}

for (const databases of testDatabases()) {
  describe(`durable rules with a ledger in ${databases.name}`, () => {
    afterAll(() => databases.stop());

    it("keep what was used when the process is started again", async () => {
      const database = await databases.create();
      const before = coreOn(database);
      expect(plain(await before.policy.admit(facts, { cost: 7 }))).toMatchObject({ remaining: 3 });
      await before.close();
      const { policy } = coreOn(database);
      expect(plain(await policy.peek(facts))).toMatchObject({ remaining: 3 });
      expect(plain(await policy.admit(facts, { cost: 4 }))).toMatchObject({ allowed: false });
    });

    it("share a quota among processes, and count a request once that several get", async () => {
      const database = await databases.create();
      const first = coreOn(database);
      const cores = [first, coreOn(database), coreOn(database)];
      const answers = await Promise.all(
        cores.flatMap(({ policy }) => Array.from({ length: 8 }, () => policy.admit(facts))),
      );
      expect(answers.filter(({ allowed }) => allowed).length).toBe(10);
      const other = { ...facts, tenant: "other" };
      for (const { policy } of cores) {
        expect(plain(await policy.admit(other, { requestId: "a", cost: 4 }))).toMatchObject({
          allowed: true,
        });
      }
      expect(plain(await first.policy.peek(other))).toMatchObject({ remaining: 6 });
    });

    it("return what they leased when the process ends", async () => {
      const database = await databases.create();
      const rule = {
        ...exportsRule,
        limit: { quota: { limit: 1_000, period: "month" } },
        consistency: "leased",
      };
      const before = coreOn(database, rule);
      for (let n = 0; n < 200; n++) await before.policy.admit(facts);
      expect(before.policy.stats.durableLeased?.leases).toBeGreaterThan(0);
      await before.close();
      expect(plain(await coreOn(database, rule).policy.peek(facts))).toMatchObject({
        remaining: 800,
      });
    });

    it("are timed by metrics of their own", async () => {
      const telemetry = silentTelemetry();
      const { policy } = coreOn(await databases.create(), exportsRule, { telemetry });
      await policy.admit(facts);
      const text = await telemetry.metrics();
      expect(text).toContain(
        'rate_limiter_ledger_latency_seconds_count{operation="decide",region="local"} 1',
      );
      expect(text).toContain(
        'rate_limiter_ledger_errors_total{operation="decide",region="local"} 0',
      );
      expect(text).not.toContain("rate_limiter_redis_latency_seconds_count");
    });
  });
}

describe("a ledger whose database can't be opened", () => {
  const missing = `file:${join(makeFolder("ledger"), "not there", "sluice.db")}`;

  it("makes durable rules refuse, and readiness and metrics say so", async () => {
    const telemetry = silentTelemetry();
    const core = coreOn(missing, exportsRule, { telemetry });
    for (let n = 0; n < 6; n++) {
      expect(plain(await core.policy.admit(facts))).toMatchObject({
        allowed: false,
        reason: "store",
      });
    }
    expect(readinessOf(core).remarks).toEqual([
      "the ledger does not answer; durable rules decide by onStoreFailure until it is back",
    ]);
    expect(await telemetry.metrics()).toContain(
      'rate_limiter_ledger_fallback_active{region="local"} 1',
    );
    expect(await telemetry.metrics()).toContain('rate_limiter_fallback_active{region="local"} 0');
  });

  it("does not concern a service without durable rules, which never opens it", async () => {
    const core = coreOn(missing, { id: "all", limit: "5/minute" });
    expect(plain(await core.policy.admit(facts))).toMatchObject({ allowed: true });
    expect(readinessOf(core).remarks).toEqual([]);
  });
});

describe("a durable rule without a ledger", () => {
  it("is an error that names it", () => {
    const config = toTestConfig({ rules: { inline: { version: 1, rules: [exportsRule] } } });
    expect(() => createCore(config)).toThrow(
      'rule "exports": durable needs a database to keep its quotas in',
    );
  });

  it("takes the store that a caller brings", async () => {
    const config = toTestConfig({ rules: { inline: { version: 1, rules: [exportsRule] } } });
    const core = createCore(config, { durableStore: memoryStore() });
    cores.push(core);
    expect(plain(await core.policy.admit(facts))).toMatchObject({ remaining: 9 });
  });
});
