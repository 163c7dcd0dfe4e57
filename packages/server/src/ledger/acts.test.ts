// Refunds and resets of an operator: each once for its request id, and none changes the quota of an account.

import { type Charge, type Counter, quota } from "sluice";
import { createPolicy } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { type PostgresServer, startPostgres } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { startReplyCutter } from "../../test/control/reply-cutter.js";
import { emptiedDatabase } from "../../test/ledger/emptied.js";
import { CommitUnknownError, type Database } from "../database/database.js";
import { migrate } from "../database/migrate.js";
import { openDatabase } from "../database/open-database.js";
import { LedgerStore } from "./ledger-store.js";
import { verifyLedger } from "./verify/verify-ledger.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((databases) => databases.stop())));

const MAY_MS = Date.UTC(2026, 4, 10);
const KEY = "tenant:acme";
const toCounter = (limit: number): Counter => ({
  scope: "exports",
  part: 0,
  limit: quota({ limit, period: "month" }),
});

function useStore(database: Database) {
  const clock = new ManualClock(MAY_MS);
  const store = new LedgerStore(database, { actor: "node", clock, sweepMs: 0, retryMsMax: 0 });
  const charges = (cost: number, limit = 100, requestId?: string): Charge[] => [
    { counter: toCounter(limit), key: KEY, cost, nowMs: clock.now(), isAnyTier: true, requestId },
  ];
  return {
    clock,
    store,
    use: async (cost: number, limit = 100) => {
      const counter = toCounter(limit);
      return (await store.decide([{ counter, key: KEY, cost, nowMs: clock.now() }])).allowed;
    },
    refund: (cost: number, requestId?: string) => store.refund(charges(cost, 100, requestId)),
    reset: (requestId?: string) => store.reset(charges(0, 100, requestId)),
    charges,
  };
}

async function amounts(database: Database): Promise<string[]> {
  const sql = "SELECT kind, amount FROM ledger_entries ORDER BY account_id, sequence";
  return (await database.query(sql)).map(({ kind, amount }) => `${kind} ${amount}`);
}

/** A database that loses the answer to the next change, which is committed by then. */
function losing(database: Database) {
  let isArmed = false;
  const lose = async <T>(changed: Promise<T>): Promise<T> => {
    const result = await changed;
    if (!isArmed) return result;
    isArmed = false;
    throw new CommitUnknownError(new Error("connection reset"));
  };
  const CHANGES: ReadonlySet<unknown> = new Set(["transaction", "runGroup", "queryPrepared"]);
  const cut = new Proxy(database, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const call = (...values: unknown[]) => member.apply(target, values);
      return CHANGES.has(name) ? (...values: unknown[]) => lose(call(...values)) : call;
    },
  });
  const arm = () => {
    isArmed = true;
  };
  return { cut, arm };
}

describe.each(all)("refunds and resets of a ledger in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  it("happen once for each request id, and each time without one", async () => {
    const database = await ready();
    const { use, refund, reset } = useStore(database);
    await use(50);
    for (const id of ["a", "a", "b", undefined, undefined]) await refund(2, id);
    expect(await amounts(database)).toEqual([
      "grant 100",
      "use -50",
      ...Array.from({ length: 4 }, () => "adjust 2"),
    ]);
    await reset("r");
    await use(5);
    await reset("r");
    expect((await amounts(database)).slice(6)).toEqual(["adjust 42", "use -5"]);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it("that are sent again get the answer of the first, whatever was used in between", async () => {
    const database = await ready();
    const { use, refund, reset } = useStore(database);
    await use(3);
    // No more than 3 were in use.
    expect(await Promise.all([refund(5, "a"), refund(5, "a")])).toEqual([[3], [3]]);
    expect(await refund(5, "nothing")).toEqual([0]);
    await reset("nothing-either");
    await use(10);
    expect(await refund(5, "a")).toEqual([3]);
    expect(await refund(5, "nothing")).toEqual([0]);
    await reset("nothing-either");
    expect(await useStore(database).refund(5, "a")).toEqual([3]);
    expect((await amounts(database)).filter((entry) => entry.startsWith("adjust"))).toEqual([
      "adjust 3",
      "adjust 0",
      "adjust 0",
    ]);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it("with another number of units under the same id are a conflict, and change nothing", async () => {
    const database = await ready();
    const { use, refund } = useStore(database);
    await use(50);
    await refund(5, "a");
    const error = { code: "SLUICE_REQUEST_ID_REUSED", message: expect.stringContaining("5 units") };
    await expect(refund(6, "a")).rejects.toMatchObject(error);
    expect((await amounts(database)).slice(2)).toEqual(["adjust 5"]);
  });

  it.each(["refund", "reset"] as const)(
    "whose answer is lost after the commit can be sent again: %s",
    async (verb) => {
      const database = await ready();
      const { cut, arm } = losing(database);
      const node = useStore(cut);
      await node.use(50);
      const act = () => (verb === "refund" ? node.refund(5, "a") : node.reset("a"));
      arm();
      await expect(act()).rejects.toMatchObject({ code: "SLUICE_DATABASE_UNAVAILABLE" });
      await node.use(10);
      await act();
      // Another node knows nothing of the first attempt.
      const other = useStore(database);
      await (verb === "refund" ? other.refund(5, "a") : other.reset("a"));
      const back = verb === "refund" ? 5 : 50;
      expect((await amounts(database)).slice(2)).toEqual([`adjust ${back}`, "use -10"]);
    },
  );

  it("of an account that is not open do nothing, so that the next request opens it by its own tier", async () => {
    const database = await ready();
    const { store, charges, use } = useStore(database);
    await store.refund(charges(5, 1_000));
    await store.reset(charges(0, 1_000));
    expect(await store.debit(charges(0, 1_000))).toMatchObject([{ used: 0, limit: 1_000 }]);
    expect(await amounts(database)).toEqual([]);
    expect(await use(1, 10)).toBe(true);
    expect(await amounts(database)).toEqual(["grant 10", "use -1"]);
  });

  it("through a policy leave the quota of the tier as it is, and happen once for each id", async () => {
    const database = await ready();
    const { store, clock } = useStore(database);
    const rule = {
      id: "exports",
      key: "tenant",
      limit: { quota: { limit: 10, period: "month" } },
      tiers: { pro: { quota: { limit: 1_000, period: "month" } } },
      durable: true,
    };
    const rules = { version: 1, rules: [rule] };
    const policy = createPolicy({ rules, durableStore: store, clock } as never);
    const facts = { method: "POST", path: "/", tenant: "acme" };
    await policy.reset("exports", KEY, { requestId: "early" });
    for (let n = 0; n < 8; n++) await policy.admit(facts);
    expect(await policy.refund("exports", KEY, 3, { requestId: "a" })).toBe(3);
    await policy.admit(facts);
    expect(await policy.refund("exports", KEY, 3, { requestId: "a" })).toBe(3);
    const uses = Array.from({ length: 8 }, () => "use -1");
    expect(await amounts(database)).toEqual(["grant 10", ...uses, "adjust 3", "use -1"]);
    await policy.close();
  });
});

describe("a refund over a connection that is cut", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it("after its commit is made once, however often it is sent again", async () => {
    const url = server.createDatabase();
    const direct = openDatabase(url, "/");
    await migrate(direct);
    const cutter = await startReplyCutter(server.port);
    const cut = openDatabase(url.replace(`:${server.port}/`, `:${cutter.port}/`), "/");
    const { use, refund } = useStore(cut);
    await use(50);
    for (const id of ["a", "b", "c"]) {
      cutter.cutAfterReplies = 0;
      const failing = refund(5, id);
      await expect(failing).rejects.toMatchObject({ code: "SLUICE_DATABASE_UNAVAILABLE" });
      await refund(5, id);
    }
    expect(cutter.cuts).toBe(3);
    expect((await amounts(direct)).slice(2)).toEqual(["adjust 5", "adjust 5", "adjust 5"]);
    await Promise.all([cut.close(), direct.close()]);
    cutter.server.close();
  });
});
