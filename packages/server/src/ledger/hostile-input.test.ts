// The ledger against keys, ids and amounts that are made to break it, and against clocks and races that come at the
// worst moment. After each of them the ledger verifies.

import { type Charge, type ChargeReceipt, type Counter, quota } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { emptiedDatabase } from "../../test/ledger/emptied.js";
import type { Database } from "../database/database.js";
import { Ledger } from "./ledger.js";
import { verifyLedger } from "./verify/verify-ledger.js";

const all = testDatabases();

afterAll(() => Promise.all(all.map((databases) => databases.stop())));

const MAY_MS = Date.UTC(2026, 4, 1);
const JUNE_MS = Date.UTC(2026, 5, 1);
const KEY = "tenant:acme";
const MAX = Number.MAX_SAFE_INTEGER;
const HOSTILE = [
  "a",
  "a~1",
  "a#1",
  "a#1~1",
  "a\0",
  "a\\u0000",
  "\ud800",
  "\udfff",
  "\ufffd",
  "settle:2",
  "expire:2",
  "request:a",
  "request~1:a",
  "open",
  "' OR 1=1 --",
  "\u{1f600}".repeat(2_048),
  `${"x".repeat(4_096)}1`,
  `${"x".repeat(4_096)}2`,
];

function toCounter(carryOverMax = 0): Counter {
  const limit = quota({ limit: 100, period: "month" });
  return { scope: "exports", part: 0, limit, durable: { carryOverMax, alertShares: [] } };
}

/** A ledger with a clock at the start of May. */
function useLedger(database: Database, { counter = toCounter(), clock = new ManualClock(MAY_MS) }) {
  const findCounter = () => counter;
  const ledger = new Ledger(database, { actor: "node-1", clock, findCounter, sweepMs: 0 });
  const { store } = ledger;
  const chargeOf = (cost: number, key = KEY): Charge => ({
    counter,
    key,
    cost,
    nowMs: clock.now(),
  });
  const settle = (receipt: ChargeReceipt | undefined, kept: number) =>
    store.settle([{ receipt: receipt as ChargeReceipt, kept, nowMs: clock.now() }]);
  return {
    clock,
    ledger,
    store,
    chargeOf,
    settle,
    use: (cost: number, requestId: string) => store.decide([chargeOf(cost)], { requestId }),
    reserve: (cost: number, requestId: string) =>
      store.decide([chargeOf(cost)], { requestId, hold: true }),
    left: async (key = KEY) => (await store.peek([chargeOf(0, key)]))[0]?.remaining,
  };
}

const topUp = (amount: number, idempotencyKey: string) => ({
  meter: "exports",
  key: KEY,
  amount,
  actor: "ops",
  reason: "sales",
  idempotencyKey,
});

async function expectWhole(database: Database) {
  expect((await verifyLedger(database)).problems).toEqual([]);
}

describe.each(all)("hostile input to a ledger in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  it("as ids of requests: each counts once, and none is taken for another", async () => {
    const database = await ready();
    const { use, left } = useLedger(database, {});
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all(HOSTILE.map((id) => use(1, id)));
      expect(answers.every(({ allowed }) => allowed)).toBe(true);
      expect(await left()).toBe(100 - HOSTILE.length);
    }
    await expectWhole(database);
  });

  it("as ids of requests that were cancelled: the next attempt is not another request", async () => {
    const database = await ready();
    const { store, chargeOf, settle, reserve, use, left } = useLedger(database, {});
    for (let attempt = 0; attempt < 3; attempt++) {
      await settle((await reserve(10, "a")).receipts[0], 0);
    }
    await reserve(10, "a");
    await store.decide([chargeOf(1), chargeOf(2)], { requestId: "b" });
    for (const id of ["a~1", "a~2", "a~3", "request~1:a", "b#1", "request#1:b"]) {
      expect((await use(5, id)).allowed).toBe(true);
    }
    expect(await left()).toBe(100 - 10 - 3 - 6 * 5);
    await expectWhole(database);
  });

  it("as keys: each has its own account", async () => {
    const database = await ready();
    const { store, chargeOf, left } = useLedger(database, {});
    await Promise.all(HOSTILE.map((key, i) => store.decide([chargeOf(i, key)])));
    for (const [i, key] of HOSTILE.entries()) expect(await left(key)).toBe(100 - i);
    await expectWhole(database);
  });

  it("as keys of corrections: each is made once", async () => {
    const database = await ready();
    const { ledger, left } = useLedger(database, {});
    for (let round = 0; round < 2; round++) {
      for (const id of HOSTILE) await ledger.grant(topUp(1, id));
      expect(await left()).toBe(100 + HOSTILE.length);
    }
    await expectWhole(database);
  });

  it.each([-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])(
    "as a cost of %d: refused, and nothing beside it fails",
    async (cost) => {
      const { store, chargeOf, left } = useLedger(await ready(), {});
      const good = store.decide([chargeOf(3)]);
      const code = "SLUICE_COST_INVALID";
      await expect(store.decide([chargeOf(cost)])).rejects.toMatchObject({ code });
      await expect(store.debit([chargeOf(cost)])).rejects.toMatchObject({ code });
      expect((await good).allowed).toBe(true);
      expect(await left()).toBe(97);
    },
  );

  it("as sums that are no longer exact: refused", async () => {
    const database = await ready();
    const { ledger, store, chargeOf, reserve, settle, left } = useLedger(database, {});
    const held = await reserve(10, "a");
    const code = "SLUICE_REQUEST_INVALID";
    await expect(ledger.grant(topUp(MAX, "grant"))).rejects.toMatchObject({ code });
    await expect(ledger.adjust(topUp(MAX, "adjust"))).rejects.toMatchObject({ code });
    await ledger.adjust(topUp(-(MAX - 1_000), "minus"));
    await expect(ledger.adjust(topUp(-MAX, "again"))).rejects.toMatchObject({ code });
    const tooLarge = { code: "SLUICE_COST_INVALID" };
    await expect(store.debit([chargeOf(MAX)])).rejects.toMatchObject(tooLarge);
    await expect(settle(held.receipts[0], MAX)).rejects.toMatchObject(tooLarge);
    await settle(held.receipts[0], 10);
    expect(await left()).toBe(0);
    await expectWhole(database);
  });

  it.each([Number.POSITIVE_INFINITY, Number.NaN, MAY_MS + 0.5, MAY_MS])(
    "as a time at which a top-up expires: %d is refused",
    async (expiresAtMs) => {
      const { ledger } = useLedger(await ready(), {});
      const grant = ledger.grant({ ...topUp(1, "a"), expiresAtMs });
      await expect(grant).rejects.toMatchObject({ code: "SLUICE_REQUEST_INVALID" });
    },
  );
});

describe.each(all)("a bad moment for a ledger in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  it("to send a request again: after it expired and was committed, it counts once", async () => {
    const database = await ready();
    const { clock, store, reserve, settle, left } = useLedger(database, {});
    const { receipts } = await reserve(30, "a");
    clock.advance(600_000);
    await store.sweep();
    await settle(receipts[0], 12);
    expect((await reserve(30, "a")).allowed).toBe(true);
    expect(await left()).toBe(88);
    await expectWhole(database);
  });

  it("to settle: commits, cancels and expiries of one receipt race, and one holds", async () => {
    const database = await ready();
    const { clock, store, reserve, settle, left } = useLedger(database, {});
    const other = useLedger(database, { clock });
    for (let round = 1; round <= 5; round++) {
      const { receipts } = await reserve(10, `a${round}`);
      clock.advance(600_000);
      await Promise.all([
        settle(receipts[0], 4),
        other.settle(receipts[0], 4),
        store.sweep(),
        other.store.sweep(),
      ]);
      expect(await left()).toBe(100 - 4 * round);
    }
    await expectWhole(database);
  });

  it("to charge one account twice in a request, from two processes: both or none", async () => {
    const database = await ready();
    const nodes = [useLedger(database, {}), useLedger(database, {})];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => {
        const { store, chargeOf } = nodes[n % 2] as (typeof nodes)[0];
        return store.decide([chargeOf(4), chargeOf(5)]);
      }),
    );
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(11);
    expect(await nodes[0]?.left()).toBe(1);
    await expectWhole(database);
  });

  it("to top up: when the period ends before it is written, the next one gets it", async () => {
    const database = await ready();
    const { clock, ledger, left } = useLedger(database, {});
    const other = useLedger(database, { clock });
    clock.set(JUNE_MS - 1);
    const granting = ledger.grant({ ...topUp(20, "a"), expiresAtMs: JUNE_MS + 86_400_000 });
    clock.advance(1);
    await other.use(1, "b");
    await granting;
    expect(await left()).toBe(119);
    await expectWhole(database);
  });

  it("to send a top-up again: after the period has ended it is made once", async () => {
    const database = await ready();
    const { clock, ledger, left } = useLedger(database, {});
    const grant = { ...topUp(20, "a"), expiresAtMs: JUNE_MS + 86_400_000 };
    const first = await ledger.grant(grant);
    clock.set(JUNE_MS);
    expect(await ledger.grant(grant)).toMatchObject({ sequence: first.sequence, isRepeated: true });
    expect(await left()).toBe(120);
    await expectWhole(database);
  });

  it("for a top-up to expire: in the millisecond in which it is used, and with the period", async () => {
    const database = await ready();
    const { clock, ledger, use, left } = useLedger(database, {});
    await ledger.grant({ ...topUp(20, "a"), expiresAtMs: MAY_MS + 1 });
    await ledger.grant({ ...topUp(20, "b"), expiresAtMs: MAY_MS + 1 });
    await ledger.grant({ ...topUp(7, "c"), expiresAtMs: JUNE_MS });
    expect((await use(30, "r")).allowed).toBe(true);
    clock.advance(1);
    expect((await use(108, "s")).allowed).toBe(false);
    expect((await use(107, "s")).allowed).toBe(true);
    clock.set(JUNE_MS);
    expect(await left()).toBe(100);
    await expectWhole(database);
  });

  it("for the clock to step back over the start of a period: both periods stay whole", async () => {
    const database = await ready();
    const counter = toCounter(30);
    const { clock, ledger, use, left } = useLedger(database, { counter });
    await use(20, "a");
    clock.set(JUNE_MS);
    await use(10, "b");
    clock.set(JUNE_MS - 1);
    // June has taken over what May left.
    expect((await use(1, "c")).allowed).toBe(false);
    await ledger.adjust(topUp(5, "plus"));
    expect((await use(5, "d")).allowed).toBe(true);
    clock.set(JUNE_MS);
    expect(await left()).toBe(120);
    await expectWhole(database);
  });

  it("to block: what is charged meanwhile is charged or refused, and never both", async () => {
    const database = await ready();
    const { clock, store, chargeOf, left } = useLedger(database, {});
    const switching: Promise<void>[] = [];
    const charging = Array.from({ length: 40 }, (_, n) => {
      const nowMs = clock.now();
      const untilMs = Number.POSITIVE_INFINITY;
      if (n % 10 === 3) switching.push(store.block("exports", KEY, { untilMs, nowMs }));
      if (n % 10 === 7) switching.push(store.unblock("exports", KEY));
      return store.decide([chargeOf(1)]);
    });
    const admitted = (await Promise.all(charging)).filter(({ allowed }) => allowed).length;
    await Promise.all(switching);
    await store.unblock("exports", KEY);
    await store.close();
    const again = useLedger(database, {});
    expect(await again.left()).toBe(100 - admitted);
    expect(await left().catch(({ code }) => code)).toBe("SLUICE_CLOSED");
    await expectWhole(database);
  });
});
