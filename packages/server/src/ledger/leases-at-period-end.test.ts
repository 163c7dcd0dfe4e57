// A lease from the ledger belongs to the period in which it was taken. What was leased in May is not spent in June, and
// June has its whole quota, whatever was leased, spent or never returned before.

import { createPolicy } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { emptiedDatabase } from "../../test/ledger/emptied.js";
import type { Database } from "../database/database.js";
import { LedgerStore } from "./ledger-store.js";
import { verifyLedger } from "./verify/verify-ledger.js";

const JUNE_MS = Date.UTC(2026, 5, 1);
const QUOTA = 200;

const all = testDatabases();
const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

function startNode(database: Database, actor: string, clock: ManualClock) {
  const store = new LedgerStore(database, { actor, clock, sweepMs: 0 });
  const rule = {
    id: "exports",
    key: "tenant",
    limit: { quota: { limit: QUOTA, period: "month" } },
    durable: true,
    consistency: "leased",
    timeoutMs: 60_000,
  };
  const policy = createPolicy({
    rules: { version: 1, rules: [rule] },
    durableStore: store,
    clock,
  });
  opened.push(store, policy);
  const use = async () =>
    (await policy.admit({ method: "POST", path: "/", tenant: "acme" })).allowed;
  return { use, policy };
}

/** What each account has taken: uses, and leases that were not returned. */
async function takenByPeriod(database: Database): Promise<number[]> {
  const rows = await database.query(
    `SELECT -SUM(e.amount) AS units FROM ledger_accounts a JOIN ledger_entries e ON e.account_id = a.id
     WHERE e.kind IN ('use', 'lease', 'return') GROUP BY a.starts_at_ms ORDER BY a.starts_at_ms`,
  );
  return rows.map(({ units }) => Number(units));
}

describe.each(all)("leases of a ledger in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  it("end with their period: none of two nodes spends in one what it leased in the other", async () => {
    const database = await ready();
    const clock = new ManualClock(JUNE_MS - 400);
    const nodes = ["one", "two"].map((actor) => startNode(database, actor, clock));
    const admitted = { may: 0, june: 0 };
    // A request of each node a millisecond, over the end of the month.
    for (let ms = 0; ms < 1_000; ms++, clock.advance(1)) {
      const period = clock.now() < JUNE_MS ? "may" : "june";
      for (const { use } of nodes) if (await use()) admitted[period]++;
    }
    expect(admitted.may).toBeLessThanOrEqual(QUOTA);
    expect(admitted.may).toBeGreaterThan(QUOTA / 2);
    expect(admitted.june).toBeLessThanOrEqual(QUOTA);
    expect(admitted.june).toBeGreaterThan(QUOTA / 2);
    for (const { policy } of nodes) await policy.close();
    const [may = 0, june = 0, ...others] = await takenByPeriod(database);
    expect(others).toEqual([]);
    expect([may >= admitted.may, may <= QUOTA]).toEqual([true, true]);
    expect([june >= admitted.june, june <= QUOTA]).toEqual([true, true]);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it("that are never returned cost the period that they were taken in, and none after it", async () => {
    const database = await ready();
    const clock = new ManualClock(JUNE_MS - 100);
    const doomed = startNode(database, "doomed", clock);
    for (let n = 0; n < 60; n++) await doomed.use();
    clock.set(JUNE_MS);
    const other = startNode(database, "other", clock);
    let june = 0;
    for (let n = 0; n < 2 * QUOTA; n++) {
      if (await other.use()) june++;
      if (n % 10 === 0) clock.advance(50);
    }
    // A key is strict when its fair block is below the cost, so nothing is left over.
    expect(june).toBe(QUOTA);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });
});
