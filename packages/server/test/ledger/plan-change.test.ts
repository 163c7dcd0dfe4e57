// Durable quotas of a whole service: a control node with a gateway, whose tenants move between plans in mid-period. What
// their entries come to, and what they are shown at GET /rate_limit, on both databases.

import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ControlPlane } from "../../src/control/control-plane.js";
import type { Database } from "../../src/database/database.js";
import { verifyLedger } from "../../src/ledger/verify/verify-ledger.js";
import { type Service, startService } from "../../src/service/service.js";
import { toControlService } from "../control/control-config.js";
import { testDatabases } from "../control/databases.js";
import { startServer, stopAll } from "../proxy-fixture.js";
import { GATEWAY, ROUTES, toUpstream } from "../test-config.js";

const MAY_MS = Date.UTC(2026, 4, 1);
const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });

const toQuota = (limit: number, prorate: boolean) => ({
  quota: { limit, period: "month", prorate },
});
const rules = {
  version: 1,
  rules: [
    {
      id: "exports",
      key: "tenant",
      limit: toQuota(100, false),
      durable: true,
      cost: { header: "x-units", otherwise: 1, max: 10_000 },
    },
  ],
};

function nextMonthMs(atMs: number): number {
  const date = new Date(atMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** What entries such as `use -5` come to. */
function sumOf(entries: readonly string[]): number {
  return entries.reduce((sum, entry) => sum + Number(entry.split(" ")[1]), 0);
}

/** How a caller stands, as GET /rate_limit shows it. */
interface Shown {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

describe.each(all)("a service with durable quotas in $name", (databases) => {
  const clock = new ManualClock(MAY_MS);
  /** The month of a test. */
  let month = { startMs: MAY_MS, endMs: 0, lengthMs: 0 };
  let service: Service;
  let plane: ControlPlane;
  let database: Database;
  let url: string;

  beforeAll(async () => {
    const upstream = await startServer((_, response) => response.end("ok"));
    const databaseUrl = await databases.create();
    const config = toControlService(databaseUrl, {
      rules: { inline: rules as never },
      ledger: {
        database: databaseUrl,
        reservationMs: 600_000,
        deliveriesKeptMs: 2_592_000_000,
        webhooks: [],
      },
      gateway: GATEWAY,
      upstreams: new Map([["app", toUpstream([upstream.url])]]),
      routes: ROUTES,
      apiKeys: { unknownKeys: "refuse", lookupsPerSecond: 100 },
    });
    service = await startService(config, { clock });
    plane = service.control?.plane as ControlPlane;
    url = service.listeners.find(({ name }) => name === "gateway")?.url as string;
    database = databases.open(databaseUrl);
    for (const [id, limit, prorate] of PLANS) {
      await plane.plans.put(by(), { id, input: { limits: { exports: toQuota(limit, prorate) } } });
    }
  });
  // Each test has a month of its own: time goes forward only.
  beforeEach(() => {
    const startMs = nextMonthMs(clock.now());
    const endMs = nextMonthMs(startMs);
    month = { startMs, endMs, lengthMs: endMs - startMs };
    clock.set(startMs);
  });
  afterAll(async () => {
    await service.close();
    await stopAll();
  });

  /** A new tenant on a plan, and what it does with its API key. */
  async function startTenant(plan: string) {
    const tenant = `tenant-${++ids}`;
    await plane.tenants.put(by(), { id: tenant, input: { plan } });
    const { secret } = await plane.apiKeys.create(by(), { tenant, name: "server" });
    const headers = { "x-api-key": secret };
    return {
      move: (to: string) => plane.tenants.put(by(), { id: tenant, input: { plan: to } }),
      use: async (units: number) => {
        const response = await fetch(url, { headers: { ...headers, "x-units": `${units}` } });
        await response.text();
        return response.status;
      },
      shown: async () => {
        const response = await fetch(`${url}/rate_limit`, { headers });
        const body = (await response.json()) as { readonly rules: Shown[] };
        expect(body).toEqual({ rules: expect.any(Array) });
        const states = body.rules;
        const [{ limit, remaining, resetMs }] = states as [Shown];
        return { limit, remaining, resetMs };
      },
      entries: async () => {
        const rows = await database.query(
          `SELECT e.kind, e.amount FROM ledger_entries e JOIN ledger_accounts a ON a.id = e.account_id
           WHERE a.subject = $1 ORDER BY a.starts_at_ms, e.sequence`,
          [`tenant:${tenant}`],
        );
        return rows.map(({ kind, amount }) => `${kind} ${amount}`);
      },
    };
  }

  it("gives a tenant that upgrades all of the larger quota, and takes it back when it downgrades", async () => {
    const { move, use, shown, entries } = await startTenant("small");
    expect(await use(40)).toBe(200);
    expect(await use(61)).toBe(429);
    clock.set(month.startMs + month.lengthMs / 2);
    await move("large");
    expect(await shown()).toMatchObject({ limit: 300, remaining: 260 });
    expect(await use(10)).toBe(200);
    await move("small");
    expect(await use(51)).toBe(429);
    expect(await use(50)).toBe(200);
    expect(await entries()).toEqual([
      "grant 100",
      "use -40",
      "adjust 200",
      "use -10",
      "adjust -200",
      "use -50",
    ]);
  });

  it("gives and takes the share of the period that is left if the plan pro-rates", async () => {
    const { move, use, shown, entries } = await startTenant("small-prorated");
    expect(await use(40)).toBe(200);
    clock.set(month.startMs + month.lengthMs / 2);
    await move("large-prorated");
    expect(await shown()).toMatchObject({ remaining: 160 });
    expect(await use(10)).toBe(200);
    clock.set(month.startMs + (month.lengthMs * 3) / 4);
    await move("small-prorated");
    expect(await use(101)).toBe(429);
    expect(await use(100)).toBe(200);
    expect(await entries()).toEqual([
      "grant 100",
      "use -40",
      "adjust 100",
      "use -10",
      "adjust -50",
      "use -100",
    ]);
  });

  it.each([
    ["small", "large"],
    ["small-prorated", "large-prorated"],
  ])(
    "refills nothing when a tenant moves down and up again and again: %s",
    async (small, large) => {
      const { move, use, entries } = await startTenant(large);
      expect(await use(150)).toBe(200);
      clock.set(month.startMs + month.lengthMs / 2);
      for (const plan of [small, large, small, large]) {
        await move(plan);
        expect(await use(1_000)).toBe(429);
      }
      expect(await use(151)).toBe(429);
      expect(await use(150)).toBe(200);
      const adjusted = (await entries()).filter((entry) => entry.startsWith("adjust"));
      expect(adjusted.length).toBeGreaterThanOrEqual(2);
      expect(sumOf(await entries())).toBe(0);
    },
  );

  it("shows quotas at GET /rate_limit before and after charges, and full in the next period", async () => {
    const { use, shown, entries } = await startTenant("small");
    expect(await shown()).toEqual({ limit: 100, remaining: 100, resetMs: 0 });
    expect(await entries()).toEqual([]);
    await use(30);
    expect(await shown()).toEqual({ limit: 100, remaining: 70, resetMs: month.lengthMs });
    await use(71);
    clock.set(month.endMs - 1);
    expect(await shown()).toEqual({ limit: 100, remaining: 70, resetMs: 1 });
    await use(70);
    expect(await shown()).toEqual({ limit: 100, remaining: 0, resetMs: 1 });
    clock.set(month.endMs);
    expect(await shown()).toEqual({ limit: 100, remaining: 100, resetMs: 0 });
    await use(1);
    expect(await shown()).toEqual({
      limit: 100,
      remaining: 99,
      resetMs: nextMonthMs(month.endMs) - month.endMs,
    });
    expect(await entries()).toEqual(["grant 100", "use -30", "use -70", "grant 100", "use -1"]);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });
});

const PLANS: readonly (readonly [id: string, limit: number, prorate: boolean])[] = [
  ["small", 100, false],
  ["large", 300, false],
  ["small-prorated", 100, true],
  ["large-prorated", 300, true],
];
