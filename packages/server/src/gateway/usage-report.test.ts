import { ManualClock } from "sluice/testing";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { AccountBuilder, PERIOD_START_MS } from "../../test/ledger/ledger-builder.js";
import { toTestConfig } from "../../test/test-config.js";
import { createCore } from "../core/create-core.js";
import type { Database } from "../database/database.js";
import { migrate } from "../database/migrate.js";
import { LedgerReader } from "../ledger/queries/ledger-reader.js";
import { toUsageReport } from "./usage-report.js";

const clock = new ManualClock(PERIOD_START_MS + 3_600_000);
const facts = (tenant?: string) => ({ method: "GET", path: "/v1/usage", tenant });

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("what a tenant is shown, in $name", (databases) => {
  it("is its own usage and no other", async () => {
    const database = await databases.ready();
    await new AccountBuilder().use(10).write(database);
    await new AccountBuilder({ subject: "tenant:other" }).use(999).write(database);
    await new AccountBuilder({ subject: "tenant:acme|user:42" }).use(5).write(database);
    const readLedger = async () => new LedgerReader(database);
    const report = toUsageReport({ clock, readLedger });
    const { status, body } = await report(facts("acme"));
    expect(status).toBe(200);
    const shown = JSON.parse(body);
    expect(shown).toMatchObject({
      tenant: "acme",
      quotas: [{ meter: "exports", granted: 1_000, used: 10, balance: 990 }],
      usage: [{ meter: "exports", units: 10, days: [{ day: "2026-05-01", units: 10 }] }],
    });
    expect(body).not.toContain("999");
    expect(shown.quotas[0]).not.toHaveProperty("subject");
    // The first is the key of a user of another tenant.
    for (const [tenant, detail] of [
      ["acme|user:42", /name has 1 to 100 letters/],
      ["x".repeat(101), /name has 1 to 100 letters/],
      ["", /this request has none/],
      [undefined, /this request has none/],
    ] as const) {
      const refused = await report(facts(tenant));
      expect(refused.status).toBe(403);
      expect(JSON.parse(refused.body).detail).toMatch(detail);
    }
    expect(JSON.parse((await report(facts("new"))).body)).toMatchObject({ quotas: [], usage: [] });
  });

  it("is in days of its time zone, and of UTC if the control plane does not know it", async () => {
    const database = await databases.ready();
    const atMs = Date.UTC(2026, 4, 1, 23);
    for (const subject of ["tenant:acme", "tenant:other"])
      await new AccountBuilder({ subject }).use(10, { atMs }).write(database);
    const findTenant = (name: string) =>
      name === "acme" ? { timeZone: "Europe/Paris" } : undefined;
    const later = new ManualClock(atMs + 3_600_000);
    const readLedger = async () => new LedgerReader(database);
    const report = toUsageReport({ clock: later, readLedger, findTenant });
    const shownTo = async (tenant: string) => JSON.parse((await report(facts(tenant))).body);
    const days = (day: string) => [{ days: [{ day, units: 10 }] }];
    expect(await shownTo("acme")).toMatchObject({
      timeZone: "Europe/Paris",
      usage: days("2026-05-02"),
    });
    expect(await shownTo("other")).toMatchObject({ timeZone: "UTC", usage: days("2026-05-01") });
  });
});

const ENTRIES = 100_000;

/** Gives the account of acme many more uses; their hashes are not of interest here. */
async function addUses(database: Database): Promise<void> {
  const { id } = await new AccountBuilder({ quota: 2 * ENTRIES }).write(database);
  await database.query(
    `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${ENTRIES})
    INSERT INTO ledger_entries (
      account_id, sequence, kind, amount, balance, idempotency_key, actor, at_ms, previous_hash
    )
    SELECT $1, i, 'use', -1, 0, 'key-' || i, 'node-1', ${PERIOD_START_MS} + i, '' FROM n`,
    [id],
  );
  await database.query("UPDATE ledger_accounts SET sequence = $2 WHERE id = $1", [id, ENTRIES]);
}

describe.each(all)("callers that keep asking, over $name", (databases) => {
  it("read the entries once, while the durable checks of others go on", async () => {
    const url = await databases.create();
    const database = databases.open(url);
    await migrate(database);
    await addUses(database);
    const rule = {
      id: "exports",
      key: "tenant",
      limit: { quota: { limit: 1_000_000, period: "month" } },
      durable: true,
    };
    const ledger = { database: url, reservationMs: 600_000, deliveriesKeptMs: 1, webhooks: [] };
    const config = toTestConfig({ rules: { inline: { version: 1, rules: [rule] } }, ledger });
    const core = createCore(config, { clock });
    let reads = 0;
    const readLedger = async () => {
      reads++;
      return (await core.readLedger?.()) as LedgerReader;
    };
    const other = { method: "POST", path: "/", tenant: "other" };
    expect(await core.policy.admit(other)).toMatchObject({ allowed: true });

    const report = toUsageReport({ clock, readLedger });
    let answered = 0;
    const asking = Promise.all(
      Array.from({ length: 100 }, async () => {
        const { status, body } = await report(facts("acme"));
        answered++;
        return { status, units: JSON.parse(body).usage[0].units };
      }),
    );
    let checks = 0;
    while (answered === 0) {
      const { allowed, reason } = await core.policy.admit(other);
      expect({ allowed, reason }).toMatchObject({ allowed: true });
      checks++;
    }
    // Statements over all entries would leave room for three on SQLite, where they run in the thread of decisions.
    expect(checks).toBeGreaterThan(10);
    const shown = { status: 200, units: ENTRIES - 1 };
    expect(await asking).toEqual(Array.from({ length: 100 }, () => shown));
    expect(reads).toBe(1);
    await core.close();
  });
});

describe("many tenants that ask at the same time", () => {
  const later = new ManualClock(0);
  let reads = 0;
  let readsMax = 0;
  let total = 0;
  const answers: (() => void)[] = [];
  const reader = {
    async quotas() {
      total++;
      readsMax = Math.max(readsMax, ++reads);
      await new Promise<void>((resolve) => answers.push(resolve));
      reads--;
      return [];
    },
    usage: async () => [],
  };
  const readLedger = async () => reader as unknown as LedgerReader;
  const report = toUsageReport({ clock: later, readLedger });

  async function answerAll(asked: readonly Promise<unknown>[]): Promise<void> {
    const done = Promise.all(asked).then(() => true);
    for (;;) {
      answers.splice(0).forEach((answer) => void answer());
      if (await Promise.race([done, new Promise((resolve) => setImmediate(resolve))])) return;
    }
  }

  it("are read two at a time; beyond a hundred that wait they are asked to come back, not all at the same time", async () => {
    const asked = Array.from({ length: 300 }, async (_, n) => report(facts(`tenant-${n % 150}`)));
    await answerAll(asked);
    const replies = await Promise.all(asked);
    expect(readsMax).toBe(2);
    expect(total).toBe(102);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(204);
    const refused = replies.filter(({ status }) => status === 503);
    expect(JSON.parse(refused[0].body)).toMatchObject({ code: "OVERLOADED" });
    const waits = refused.map(({ fields }) => Number(fields[fields.indexOf("Retry-After") + 1]));
    expect(waits).toHaveLength(96);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(5);
    expect(Math.max(...waits)).toBeLessThanOrEqual(10);
    expect(new Set(waits).size).toBeGreaterThan(1);
  });

  it("get the same report for five seconds, or ten times as long as it took to read", async () => {
    const ask = async (tookMs = 0) => {
      const before = total;
      const asked = Promise.resolve(report(facts("slow")));
      await new Promise((resolve) => setImmediate(resolve));
      later.advance(tookMs);
      await answerAll([asked]);
      return total - before;
    };
    expect(await ask()).toBe(1);
    later.advance(4_999);
    expect(await ask()).toBe(0);
    later.advance(1);
    expect(await ask(3_000)).toBe(1);
    later.advance(29_999);
    expect(await ask()).toBe(0);
    later.advance(1);
    expect(await ask()).toBe(1);
  });

  it("are read again after a failure", async () => {
    let isAway = true;
    const failing = toUsageReport({
      clock: later,
      readLedger: async () => {
        if (isAway) throw new Error("away");
        return { quotas: async () => [], usage: async () => [] } as unknown as LedgerReader;
      },
    });
    await expect(failing(facts("acme"))).rejects.toThrow("away");
    isAway = false;
    expect(await failing(facts("acme"))).toMatchObject({ status: 200 });
  });
});

it("a service without a ledger has no usage to show", async () => {
  expect(await toUsageReport({ clock })(facts("acme"))).toMatchObject({ status: 404 });
});
