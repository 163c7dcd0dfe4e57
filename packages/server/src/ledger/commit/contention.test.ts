// Deadlocks and serialisation failures of a real PostgreSQL: the same transaction is tried again, within a bound, and what
// it charges is charged once.

import { type Charge, type Counter, quota } from "sluice";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type TestDatabases, testDatabases } from "../../../test/control/databases.js";
import { emptyLedger } from "../../../test/ledger/emptied.js";
import type { Database } from "../../database/database.js";
import { migrate } from "../../database/migrate.js";
import { LedgerStore, type LedgerStoreOptions } from "../ledger-store.js";
import { verifyLedger } from "../verify/verify-ledger.js";

const databases = testDatabases().find(({ name }) => name === "PostgreSQL") as TestDatabases;
afterAll(() => databases.stop());

const clock = { now: () => Date.now() };
const counter: Counter = {
  scope: "exports",
  part: 0,
  limit: quota({ limit: 100, period: "month" }),
};
const chargeOf = (key: string): Charge => ({ counter, key, cost: 1, nowMs: clock.now() });

let database: Database;
let url: string;
const stores: LedgerStore[] = [];

beforeAll(async () => {
  url = await databases.create();
  database = databases.open(url);
  await migrate(database);
});
beforeEach(async () => {
  await configure("RESET ALL");
  await database.query("DROP TRIGGER IF EXISTS fail_entry ON ledger_entries");
  await database.query("DROP FUNCTION IF EXISTS fail_entry");
  await database.query("DROP SEQUENCE IF EXISTS attempts");
  await emptyLedger(database);
});
afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));

/** A node with connections of its own, made after the settings of the database were changed. */
function startNode(more: Partial<LedgerStoreOptions> = {}): LedgerStore {
  const options = { actor: "node", clock, sweepMs: 0, retryMsMax: 30_000, ...more };
  const store = new LedgerStore(databases.open(url), options);
  stores.push(store);
  return store;
}

async function configure(setting: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await database.query(`ALTER DATABASE "${name}" ${setting}`);
}

/** Entries by which accounts were charged. */
async function uses(): Promise<number> {
  const [row] = await database.query("SELECT COUNT(*) AS n FROM ledger_entries WHERE kind = 'use'");
  return Number(row?.n);
}

/** A server that raises an error of this state at the first this many attempts to write entries. */
async function failEntries(state: string, times: number): Promise<void> {
  await database.query("CREATE SEQUENCE attempts");
  await database.query(
    `CREATE FUNCTION fail_entry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF nextval('attempts') <= ${times} THEN
         RAISE EXCEPTION 'could not serialize access' USING ERRCODE = '${state}';
       END IF;
       RETURN NEW;
     END $$`,
  );
  await database.query(
    "CREATE TRIGGER fail_entry BEFORE INSERT ON ledger_entries FOR EACH ROW EXECUTE FUNCTION fail_entry()",
  );
}

/** Resolves when this many connections wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  const sql = "SELECT 1 AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  const isWaiting = async () => expect(await database.query(sql)).toHaveLength(count);
  await vi.waitFor(isWaiting, { timeout: 20_000, interval: 5 });
}

describe.each([
  ["under locks", 0],
  ["out of the cache", 1_000],
])("a charge %s", (_, accountsCachedMax) => {
  it("that is the victim of a deadlock is tried again, and charged once", async () => {
    await configure("SET deadlock_timeout = '20ms'");
    const store = startNode({ accountsCachedMax });
    const charge = () => store.decide(["a", "b", "c"].map((name) => chargeOf(`tenant:${name}`)));
    await charge();
    const rows = await database.query("SELECT id FROM ledger_accounts ORDER BY id");
    const [first, middle, last] = rows.map(({ id }) => id as string) as [string, string, string];
    const { retries, transactions } = store.stats;
    const lock = "SELECT id FROM ledger_accounts WHERE id = $1 FOR UPDATE";
    let charging: Promise<unknown> | undefined;
    // A process looks for a deadlock once, when it has waited for a while: the charge has to be the last to wait.
    const other = database.transaction(async (tx) => {
      await tx.query("SET LOCAL deadlock_timeout = '20s'");
      await tx.query(lock, [last]);
      const taken = await database.transaction(async (between) => {
        await between.query(lock, [middle]);
        charging = charge();
        await untilWaiting(1);
        const taking = tx.query(lock, [first]);
        await untilWaiting(2);
        return { taking };
      });
      await taken.taking;
    });
    await other;
    expect(await charging).toMatchObject({ allowed: true });
    expect(store.stats.retries).toBeGreaterThan(retries);
    expect(store.stats).toMatchObject({ transactions: transactions + 1, failures: 0 });
    expect(await uses()).toBe(6);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it.each(["40001", "40P01"])("that fails with %s twice is charged once", async (state) => {
    const store = startNode({ accountsCachedMax });
    await store.decide([chargeOf("tenant:a")]);
    await failEntries(state, 2);
    expect(await store.decide([chargeOf("tenant:a")])).toMatchObject({ allowed: true });
    expect(store.stats).toMatchObject({ retries: 2, failures: 0 });
    expect(await uses()).toBe(2);
  });

  it("that fails again and again ends with an error that says so, and charges nothing", async () => {
    const store = startNode({ accountsCachedMax, retryMsMax: 1_000 });
    await store.decide([chargeOf("tenant:a")]);
    await failEntries("40001", 1_000_000);
    await expect(store.decide([chargeOf("tenant:a")])).rejects.toMatchObject({
      code: "SLUICE_DATABASE_UNAVAILABLE",
      message: expect.stringMatching(/gave up after \d+ attempts .*could not serialize access$/),
    });
    const { retries, failures } = store.stats;
    expect(failures).toBe(1);
    expect(retries).toBeGreaterThan(0);
    expect(retries).toBeLessThan(10);
    expect(await uses()).toBe(1);
    await database.query("DROP TRIGGER fail_entry ON ledger_entries");
    expect(await store.decide([chargeOf("tenant:a")])).toMatchObject({ allowed: true });
    expect(await uses()).toBe(2);
  });
});

it("admits exactly the quota where PostgreSQL fails what it can't serialise", async () => {
  await configure("SET default_transaction_isolation = 'serializable'");
  const nodes = [startNode({ accountsCachedMax: 0 }), startNode({ accountsCachedMax: 0 })];
  // Both are connected before they race.
  for (const node of nodes) await node.decide([chargeOf("tenant:b")]);
  const admitted = await Promise.all(
    nodes.map(async (node) => {
      for (let units = 0; ; units++) {
        if (!(await node.decide([chargeOf("tenant:a")])).allowed) return units;
      }
    }),
  );
  expect(admitted.reduce((sum, units) => sum + units)).toBe(100);
  expect(nodes.reduce((sum, { stats }) => sum + stats.retries, 0)).toBeGreaterThan(0);
  expect(await uses()).toBe(102);
  expect(await verifyLedger(database)).toMatchObject({ problems: [] });
});

it("never deadlocks with another node that charges the same accounts in another order", async () => {
  await configure("SET deadlock_timeout = '5ms'");
  const nodes = [startNode({ accountsCachedMax: 0 }), startNode()];
  const keys = ["tenant:a", "tenant:b", "tenant:c"];
  await Promise.all(
    nodes.map(async (node, n) => {
      const charges = (n === 0 ? keys : keys.toReversed()).map(chargeOf);
      for (let round = 0; round < 40; round++) await node.decide(charges);
    }),
  );
  expect(nodes.map(({ stats }) => stats.retries)).toEqual([0, 0]);
  expect(await uses()).toBe(240);
});
