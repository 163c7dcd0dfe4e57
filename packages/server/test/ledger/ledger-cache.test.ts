// Decisions on accounts as a process last left them, while other processes write the same accounts: what was decided on an
// outdated account is never written, and never answered.

import { type Charge, type Counter, type Outcome, quota } from "sluice";
import { type PostgresServer, startPostgres } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../src/database/database.js";
import { migrate } from "../../src/database/migrate.js";
import { openDatabase } from "../../src/database/open-database.js";
import { Ledger } from "../../src/ledger/ledger.js";
import { verifyLedger } from "../../src/ledger/verify/verify-ledger.js";
import { testDatabases } from "../control/databases.js";
import { startReplyCutter } from "../control/reply-cutter.js";

const all = testDatabases();
const ledgers: Ledger[] = [];
const clock = { now: () => Date.now() };

afterEach(() => Promise.all(ledgers.splice(0).map((ledger) => ledger.close())));
afterAll(() => Promise.all(all.map((databases) => databases.stop())));

function toCounter(limit: number, scope = "exports"): Counter {
  return { scope, part: 0, limit: quota({ limit, period: "month" }) };
}

/** A node with a ledger of its own: its cache knows nothing of what other nodes write. */
function startNode(database: Database, counter = toCounter(100)) {
  const findCounter = () => counter;
  const ledger = new Ledger(database, { actor: "node", clock, findCounter, sweepMs: 0 });
  ledgers.push(ledger);
  const { store } = ledger;
  const charge = (cost: number, key: string, of = counter): Charge => ({
    counter: of,
    key,
    cost,
    nowMs: clock.now(),
  });
  return {
    ledger,
    store,
    charge,
    use: async (cost = 1, key = "tenant:a", requestId?: string): Promise<boolean> => {
      const options = requestId === undefined ? {} : { requestId };
      return (await store.decide([charge(cost, key)], options)).allowed;
    },
    reserve: (cost = 1): Promise<Outcome> =>
      store.decide([charge(cost, "tenant:a")], { hold: true }),
  };
}

const topUp = (amount: number, idempotencyKey: string) => ({
  meter: "exports",
  key: "tenant:a",
  amount,
  actor: "ops",
  reason: "sales",
  idempotencyKey,
});

async function usedUnits(database: Database): Promise<number> {
  const [row] = await database.query<{ units: number }>(
    "SELECT CAST(-SUM(amount) AS BIGINT) AS units FROM ledger_entries WHERE kind = 'use'",
  );
  return Number(row?.units);
}

describe.each(all)("two nodes with a ledger in $name", (databases) => {
  /** Two nodes with connections of their own, each of which has charged the account. */
  async function startTwo(counter = toCounter(100)) {
    const url = await databases.create();
    const database = databases.open(url);
    await migrate(database);
    const [a, b] = [startNode(database, counter), startNode(databases.open(url), counter)];
    expect(await a.use()).toBe(true);
    return { database, a, b };
  }

  it("that charge one account in turns admit exactly its quota", async () => {
    const { database, a, b } = await startTwo();
    let admitted = 1;
    for (let n = 0; n < 60; n++) {
      for (const { use } of [a, b]) if (await use()) admitted++;
    }
    expect(admitted).toBe(100);
    expect(await usedUnits(database)).toBe(100);
    expect(a.store.stats.outdated + b.store.stats.outdated).toBeGreaterThan(0);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it("that race for the last units with outdated accounts admit no more than there are", async () => {
    const { database, a, b } = await startTwo();
    expect(await b.use(95)).toBe(true);
    // To `a` 99 units are left, and in truth 4.
    const got = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? a : b).use()));
    expect(got.filter(Boolean)).toHaveLength(4);
    expect(await a.use()).toBe(false);
    expect(a.store.stats.outdated).toBeGreaterThan(0);
    expect(await usedUnits(database)).toBe(100);
  });

  it("don't refuse what another node's top-up allows", async () => {
    const { a, b } = await startTwo();
    expect(await a.use(99)).toBe(true);
    expect(await a.use()).toBe(false);
    await b.ledger.grant(topUp(5, "plus"));
    expect(await a.use(5)).toBe(true);
    expect(await a.use()).toBe(false);
  });

  it("refuse from the moment another node blocks the subject, until it is lifted", async () => {
    const { a, b } = await startTwo();
    expect(await a.use()).toBe(true);
    const nowMs = clock.now();
    await b.store.block("exports", "tenant:a", { untilMs: nowMs + 60_000, nowMs });
    expect(await a.use()).toBe(false);
    expect(await a.use(0)).toBe(false);
    await b.store.unblock("exports", "tenant:a");
    expect(await a.use()).toBe(true);
  });

  it("answer a request that is sent again to the other as before, even if nothing is left", async () => {
    const { database, a, b } = await startTwo();
    expect(await a.use(10, "tenant:a", "r1")).toBe(true);
    expect(await b.use(89, "tenant:a", "r2")).toBe(true);
    expect(await a.use(89, "tenant:a", "r2")).toBe(true);
    expect(await b.use(10, "tenant:a", "r1")).toBe(true);
    expect(await a.use(10, "tenant:a", "r1")).toBe(true);
    expect(await usedUnits(database)).toBe(100);
    await expect(a.use(11, "tenant:a", "r1")).rejects.toMatchObject({
      code: "SLUICE_REQUEST_ID_REUSED",
    });
  });

  it("settle a reservation once, whichever of them it is", async () => {
    const { database, a, b } = await startTwo();
    const { receipts } = await a.reserve(10);
    const settling = { receipt: receipts[0] as never, kept: 3, nowMs: clock.now() };
    await Promise.all([a.store.settle([settling]), b.store.settle([settling])]);
    await a.store.settle([{ ...settling, kept: 9 }]);
    const [account] = await database.query("SELECT balance FROM ledger_accounts");
    expect(Number(account?.balance)).toBe(100 - 1 - 3);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it("charge several accounts all or none when one of them is outdated", async () => {
    const { database, a, b } = await startTwo();
    const [month, day] = [toCounter(100), toCounter(10, "daily")];
    const both = ({ store, charge }: typeof a) =>
      store.decide([charge(5, "tenant:a", month), charge(5, "tenant:a", day)]);
    expect((await both(a)).allowed).toBe(true);
    await b.store.decide([b.charge(3, "tenant:a", day)]);
    expect((await both(a)).allowed).toBe(false);
    const rows = await database.query("SELECT meter, balance FROM ledger_accounts ORDER BY meter");
    expect(rows.map(({ meter, balance }) => [meter, Number(balance)])).toEqual([
      ["daily", 2],
      ["exports", 94],
    ]);
  });

  it("write an event once when a share is reached by a decision out of the cache", async () => {
    const counter = { ...toCounter(100), durable: { carryOverMax: 0, alertShares: [0.5] } };
    const { database, a } = await startTwo(counter);
    for (const cost of [40, 8, 1, 1]) expect(await a.use(cost)).toBe(true);
    const events = await database.query("SELECT share_percent FROM ledger_events");
    expect(events).toHaveLength(1);
    expect(await usedUnits(database)).toBe(51);
  });
});

describe.each(all)("operations of a ledger in $name", (databases) => {
  it("on two accounts take their turn among many on each of the two", async () => {
    const { store, charge, use } = startNode(await databases.ready(), toCounter(1_000_000));
    await Promise.all([use(1, "tenant:a"), use(1, "tenant:b")]);
    let isOver = false;
    const callers = Array.from({ length: 20 }, async (_, n) => {
      while (!isOver) await use(1, n % 2 ? "tenant:a" : "tenant:b");
    });
    for (let n = 0; n < 10; n++) {
      const { allowed } = await store.decide([charge(1, "tenant:a"), charge(1, "tenant:b")]);
      expect(allowed).toBe(true);
    }
    isOver = true;
    await Promise.all(callers);
  });

  it("leave nothing undone when the ledger is closed", async () => {
    const database = await databases.ready();
    const { ledger, use } = startNode(database, toCounter(1_000_000));
    const asked = Array.from({ length: 300 }, (_, n) => use(1, `tenant:${n % 3}`));
    await ledger.close();
    expect(await Promise.all(asked)).toEqual(asked.map(() => true));
    expect(await usedUnits(database)).toBe(300);
  });
});

describe("a decision out of the cache whose answer is lost", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it("is resolved by its key: charged once, and answered", async () => {
    const url = server.createDatabase();
    const direct = openDatabase(url, "/");
    await migrate(direct);
    const cutter = await startReplyCutter(server.port);
    const cut = openDatabase(url.replace(`:${server.port}/`, `:${cutter.port}/`), "/");
    const { store, use, reserve } = startNode(cut, toCounter(1_000));
    expect(await use()).toBe(true);
    for (let n = 0; n < 5; n++) {
      const { transactions, retries } = store.stats;
      // The next reply is that of the statement, which has been committed by then.
      cutter.cutAfterReplies = 0;
      expect(await use(10)).toBe(true);
      expect(store.stats).toMatchObject({ transactions: transactions + 1, retries: retries + 1 });
      expect(await use(10, "tenant:a", `r${n}`)).toBe(true);
    }
    cutter.cutAfterReplies = 0;
    const { receipts } = await reserve(7);
    expect(receipts).toHaveLength(1);
    expect(cutter.cuts).toBe(6);
    expect(await usedUnits(direct)).toBe(101);
    expect(await verifyLedger(direct)).toMatchObject({ problems: [] });
    await store.close();
    await Promise.all([cut.close(), direct.close()]);
    cutter.server.close();
  });
});
