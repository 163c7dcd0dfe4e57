// The end of a period, where clocks of nodes differ: what has an id happens once, on whichever side it arrives.

import { type Charge, type Counter, quota } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { emptiedDatabase } from "../../test/ledger/emptied.js";
import type { Database } from "../database/database.js";
import { Ledger } from "./ledger.js";
import { verifyLedger } from "./verify/verify-ledger.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((databases) => databases.stop())));

const JUNE_MS = Date.UTC(2026, 5, 1);
const KEY = "tenant:acme";
const counter: Counter = {
  scope: "exports",
  part: 0,
  limit: quota({ limit: 100, period: "month" }),
};

/** A node whose clock differs from the end of May by so much. */
function startNode(database: Database, differenceMs: number) {
  const clock = new ManualClock(JUNE_MS + differenceMs);
  const findCounter = () => counter;
  const ledger = new Ledger(database, { actor: "node", clock, findCounter, sweepMs: 0 });
  const charges = (cost: number): Charge[] => [{ counter, key: KEY, cost, nowMs: clock.now() }];
  return {
    clock,
    use: (requestId: string, cost = 1) => ledger.store.decide(charges(cost), { requestId }),
    reserve: (requestId: string) => ledger.store.decide(charges(1), { requestId, hold: true }),
    cancel: async (requestId: string) => {
      const { receipts } = await ledger.store.decide(charges(1), { requestId, hold: true });
      const settlings = receipts.map((receipt) => ({ receipt, kept: 0, nowMs: clock.now() }));
      await ledger.store.settle(settlings);
    },
    refund: (cost: number, requestId: string) =>
      ledger.store.refund(charges(cost).map((charge) => ({ ...charge, requestId }))),
    topUp: (idempotencyKey: string, expiresAtMs?: number) =>
      ledger.grant({
        meter: "exports",
        key: KEY,
        amount: 5,
        actor: "ops",
        reason: "sales",
        idempotencyKey,
        expiresAtMs,
      }),
    left: async () => (await ledger.store.peek(charges(0)))[0]?.remaining,
  };
}

async function sumOf(database: Database, kind: string): Promise<number> {
  const [row] = await database.query<{ units: number }>(
    "SELECT CAST(COALESCE(SUM(ABS(amount)), 0) AS BIGINT) AS units FROM ledger_entries WHERE kind = $1",
    [kind],
  );
  return Number(row?.units);
}

describe.each(all)("at the end of a period, in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  it("a request that was charged in the next period is not charged by a node that is behind", async () => {
    const database = await ready();
    const [before, after] = [startNode(database, -1), startNode(database, 0)];
    expect(await after.use("a")).toMatchObject({ allowed: true });
    expect(await before.use("a")).toMatchObject({ allowed: true, isRepeated: true });
    expect(await before.use("b")).toMatchObject({ allowed: true });
    expect(await after.use("b")).toMatchObject({ allowed: true, isRepeated: true });
    expect(await sumOf(database, "use")).toBe(2);
    await expect(before.use("a", 2)).rejects.toMatchObject({ code: "SLUICE_REQUEST_ID_REUSED" });
  });

  it("a request that was cancelled on one side can be made on the other", async () => {
    const database = await ready();
    const [before, after] = [startNode(database, -1), startNode(database, 0)];
    await after.cancel("a");
    expect((await before.reserve("a")).isRepeated).toBeUndefined();
    expect((await after.reserve("a")).isRepeated).toBe(true);
  });

  it("requests that arrive on both sides at the same moment are charged once each", async () => {
    const database = await ready();
    const [before, after] = [startNode(database, -1), startNode(database, 0)];
    const ids = Array.from({ length: 40 }, (_, n) => `r${n}`);
    const outcomes = await Promise.all(ids.flatMap((id) => [before.use(id), after.use(id)]));
    expect(outcomes.every(({ allowed }) => allowed)).toBe(true);
    expect(outcomes.filter(({ isRepeated }) => isRepeated)).toHaveLength(40);
    expect(await sumOf(database, "use")).toBe(40);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it("top-ups that are sent to both sides are made once", async () => {
    const database = await ready();
    const [before, after] = [startNode(database, -1), startNode(database, 0)];
    const made = await Promise.all(
      ["a", "b", "c"].flatMap((key) => [before.topUp(key), after.topUp(key)]),
    );
    expect(made.filter(({ isRepeated }) => isRepeated)).toHaveLength(3);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it("a refund that is sent to both sides is made once", async () => {
    const database = await ready();
    const [before, after] = [startNode(database, -1), startNode(database, 0)];
    await before.use("a", 10);
    await after.use("b", 10);
    await before.refund(3, "r");
    await after.refund(3, "r");
    expect(await sumOf(database, "adjust")).toBe(3);
  });

  it("a period that nothing was charged in hands on what the one before left", async () => {
    const database = await ready();
    const [before, after] = [startNode(database, -1), startNode(database, 0)];
    await before.topUp("a", JUNE_MS + 90 * 86_400_000);
    // Looks for the request in June, and leaves June unopened.
    await before.use("b");
    after.clock.advance(31 * 86_400_000);
    await after.use("c");
    expect(await after.left()).toBe(104);
  });
});
