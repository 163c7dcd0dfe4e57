import { memoryStore } from "sluice";
import { createPolicy, parseRules, type RuleSet } from "sluice/rules";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  by,
  type ControlAdmin,
  START_MS,
  startControlAdmin,
} from "../../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../../test/control/databases.js";
import { AccountBuilder } from "../../../../test/ledger/ledger-builder.js";
import { findDurableCounter } from "./durable-counter.js";

const MONTH = { startsAtMs: Date.UTC(2023, 10, 1), endsAtMs: Date.UTC(2023, 11, 1) };
const GRANTS = "POST /v1/quotas/acme/exports/grants";
const ADJUSTMENTS = "POST /v1/quotas/acme/exports/adjustments";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("corrections of quotas, in $name", (databases) => {
  let admin: ControlAdmin;
  beforeEach(async () => {
    admin = await startControlAdmin(await databases.ready());
    await new AccountBuilder(MONTH).use(400).write(admin.database);
  });
  afterEach(() => admin.close());

  const quotaOf = async () => (await admin.ask("GET /v1/quotas?tenant=acme")).body.items[0];
  const isWhole = async () =>
    (await admin.ask("POST /v1/ledger/verify", { body: {} })).body.problems;

  it("grant units until they expire, with an entry of the ledger and one of the audit log", async () => {
    const body = { units: 500, expiresAtMs: START_MS + 1_000, reason: "order 1234" };
    const { body: answer } = await admin.ask(GRANTS, { as: "operator", body });
    expect(answer).toMatchObject({ balance: 1_100, granted: 1_500, isRepeated: false });
    expect(await quotaOf()).toMatchObject({ granted: 1_500, balance: 1_100, used: 400 });
    const { items } = (await admin.ask("GET /v1/audit?kind=quota")).body;
    expect(items).toMatchObject([
      {
        action: "grant",
        entityId: "exports tenant:acme",
        actor: "the operator",
        reason: "order 1234",
        after: { units: 500, sequence: 3 },
      },
    ]);
    const entries = await admin.ask("GET /v1/ledger/entries?kind=grant&tenant=acme");
    expect(entries.body.items.at(-1)).toMatchObject({
      actor: "the operator",
      amount: 500,
      details: { reason: "order 1234", expiresAtMs: START_MS + 1_000 },
    });
    expect(await isWhole()).toEqual([]);
  });

  it("adjust what is left, up and below zero", async () => {
    await admin.ask(ADJUSTMENTS, { body: { units: 5, reason: "up" } });
    expect(await quotaOf()).toMatchObject({ balance: 605 });
    await admin.ask(ADJUSTMENTS, { body: { units: -700, reason: "down" } });
    expect(await quotaOf()).toMatchObject({ balance: -95 });
    expect(await isWhole()).toEqual([]);
  });

  it("happen once for each Idempotency-Key, and are a conflict with other units", async () => {
    const headers = { "idempotency-key": "order-1" };
    const send = (units: number) => admin.ask(GRANTS, { headers, body: { units, reason: "r" } });
    expect((await send(10)).body).toMatchObject({ isRepeated: false });
    expect((await send(10)).body).toMatchObject({ isRepeated: true });
    expect(await send(11)).toMatchObject({ status: 422, body: { code: "SLUICE_KEY_REUSED" } });
    expect(await quotaOf()).toMatchObject({ balance: 610 });
    expect((await admin.ask("GET /v1/audit?kind=quota")).body.items).toHaveLength(1);
    // The same key of another caller is another correction.
    const other = await admin.ask(GRANTS, {
      as: "operator",
      headers,
      body: { units: 1, reason: "r" },
    });
    expect(other.body).toMatchObject({ isRepeated: false });
  });

  it.each([
    [GRANTS, { units: 0, reason: "r" }, 400],
    [GRANTS, { units: 1.5, reason: "r" }, 400],
    [GRANTS, { units: 5 }, 400],
    [GRANTS, { units: 5, expiresAtMs: 1, reason: "r" }, 400],
    [ADJUSTMENTS, { units: 0, reason: "r" }, 400],
    ["POST /v1/quotas/acme/none/grants", { units: 5, reason: "r" }, 404],
  ])("%s refuses %j with %i and changes nothing", async (request, body, status) => {
    expect(await admin.ask(request, { body })).toMatchObject({ status });
    expect(await quotaOf()).toMatchObject({ balance: 600 });
    expect((await admin.ask("GET /v1/audit?kind=quota")).body.items).toEqual([]);
  });

  it("open the account of a tenant that has used nothing, with the quota of its plan", async () => {
    await admin.plane.plans.put(by(), { id: "pro", input: { tier: "pro" } });
    await admin.plane.tenants.put(by(), { id: "new", input: { plan: "pro" } });
    const monthly = (limit: number) => ({ quota: { limit, period: "month" } });
    const rule = {
      id: "exports",
      key: "tenant",
      durable: true,
      limit: monthly(100),
      tiers: { pro: monthly(900) },
    };
    const rules = parseRules(JSON.stringify({ version: 1, rules: [rule] }));
    const policy = createPolicy({ rules, store: memoryStore(), durableStore: memoryStore() });
    Object.assign(admin.core, { policy });
    const { body } = await admin.ask("POST /v1/quotas/new/exports/grants", {
      body: { units: 50, reason: "r" },
    });
    expect(body).toMatchObject({ granted: 950, balance: 950 });
    expect(await isWhole()).toEqual([]);
    await policy.close();
  });
});

describe("findDurableCounter", () => {
  const quota = (limit: number) => ({ quota: { limit, period: "month" } });
  const rules = parseRules(
    JSON.stringify({
      version: 1,
      rules: [
        {
          id: "exports",
          key: "tenant",
          durable: true,
          limit: quota(1),
          tiers: { pro: quota(2) },
          overrides: { "tenant:big": quota(3) },
        },
        { id: "plain", key: "tenant", limit: quota(1) },
        { id: "by-user", key: "user", durable: true, limit: quota(1) },
      ],
    }),
  ) as RuleSet;
  const find = (meter: string, tenant: string, tier?: string) =>
    findDurableCounter(rules, { meter, tenant, profile: { tier }, nowMs: START_MS })?.limit
      .capacity;

  it("finds the quota of the rule, of the tier or of the tenant itself", () => {
    expect(find("exports", "acme")).toBe(1);
    expect(find("exports", "acme", "pro")).toBe(2);
    expect(find("exports", "acme", "unknown")).toBe(1);
    expect(find("exports", "big", "pro")).toBe(3);
  });

  it("finds none of rules that are not durable, count by something else, or are not there", () => {
    expect(find("plain", "acme")).toBeUndefined();
    expect(find("by-user", "acme")).toBeUndefined();
    expect(find("none", "acme")).toBeUndefined();
  });
});
