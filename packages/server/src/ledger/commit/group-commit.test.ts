// The shape of group commit: how many transactions many operations take, in which order rows are locked, and what one bad
// operation does to the others of its group.

import { type Charge, type Counter, quota } from "sluice";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { emptiedDatabase } from "../../../test/ledger/emptied.js";
import type { Database } from "../../database/database.js";
import { LedgerStore } from "../ledger-store.js";
import { verifyLedger } from "../verify/verify-ledger.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((databases) => databases.stop())));

const clock = { now: () => Date.now() };
const counter: Counter = {
  scope: "exports",
  part: 0,
  limit: quota({ limit: 1_000, period: "month" }),
};
const chargeOf = (key: string, cost = 1): Charge => ({ counter, key, cost, nowMs: clock.now() });

function openStore(database: Database, accountsCachedMax = 20_000): LedgerStore {
  return new LedgerStore(database, { actor: "node", clock, sweepMs: 0, accountsCachedMax });
}

/** Many checks in one turn of the event loop, on 40 accounts. */
function checkMany(store: LedgerStore, count: number): Promise<unknown[]> {
  const checks = Array.from({ length: count }, (_, n) =>
    store.decide([chargeOf(`tenant:${n % 40}`)]),
  );
  return Promise.all(checks);
}

async function usedUnits(database: Database): Promise<number> {
  const sql = "SELECT -SUM(amount) AS units FROM ledger_entries WHERE kind = 'use'";
  const [row] = await database.query(sql);
  return Number(row?.units);
}

/** A database that notes which rows each transaction locks, and how many transactions there are. */
function watching(database: Database) {
  const locks: (readonly unknown[])[] = [];
  const watched = new Proxy(database, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      if (name !== "transaction") return member.bind(target);
      return (work: (tx: object) => Promise<unknown>) =>
        target.transaction((tx) => {
          const lock: typeof tx.lock = (sql, values = []) => {
            locks.push(values);
            return tx.lock(sql, values);
          };
          return work({ ...tx, lock });
        });
    },
  });
  return { watched, locks };
}

describe.each(all)("group commit in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  it.each([
    ["under locks", 0],
    ["out of the cache", 20_000],
  ])("writes 400 checks in at most four transactions: %s", async (_, accountsCachedMax) => {
    const database = await ready();
    const store = openStore(database, accountsCachedMax);
    await checkMany(store, 40);
    const before = store.stats;
    await checkMany(store, 400);
    const { transactions, operations, retries, outdated } = store.stats;
    expect(operations - before.operations).toBe(400);
    expect(transactions - before.transactions).toBeLessThanOrEqual(4);
    expect({ retries, outdated }).toEqual({ retries: 0, outdated: 0 });
    expect(await usedUnits(database)).toBe(440);
    await store.close();
  });

  it("locks all rows of a transaction with one statement, in the order of their ids", async () => {
    const { watched, locks } = watching(await ready());
    const store = openStore(watched, 0);
    await checkMany(store, 120);
    expect(locks).toHaveLength(store.stats.transactions);
    expect(locks.flat()).toHaveLength(40);
    for (const ids of locks) expect(ids).toEqual([...ids].sort());
    await store.close();
  });

  it("fails one bad operation alone, and answers the others of its group", async () => {
    const database = await ready();
    const store = openStore(database);
    await store.decide([chargeOf("tenant:0", 5)], { requestId: "taken" });
    const { transactions } = store.stats;
    const good = Array.from({ length: 20 }, (_, n) => store.decide([chargeOf(`tenant:${n % 4}`)]));
    const reused = store.decide([chargeOf("tenant:0", 6)], { requestId: "taken" });
    const tooLarge = store.debit([chargeOf("tenant:1", Number.MAX_SAFE_INTEGER)]);
    const refused = store.decide([chargeOf("tenant:2", 1_001)]);
    // Together, since they are in different transactions: either may reject first.
    await Promise.all([
      expect(reused).rejects.toMatchObject({ code: "SLUICE_REQUEST_ID_REUSED" }),
      expect(tooLarge).rejects.toMatchObject({ code: "SLUICE_COST_INVALID" }),
    ]);
    expect(await refused).toMatchObject({ allowed: false });
    expect((await Promise.all(good)).every(({ allowed }) => allowed)).toBe(true);
    // Accounts in the cache and accounts that are new go apart.
    expect(store.stats.transactions - transactions).toBeLessThanOrEqual(3);
    expect(store.stats).toMatchObject({ retries: 0, failures: 0 });
    expect(await usedUnits(database)).toBe(25);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
    await store.close();
  });
});
