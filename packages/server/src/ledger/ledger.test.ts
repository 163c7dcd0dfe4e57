import { type Charge, type Counter, type DurableOptions, quota } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { emptiedDatabase } from "../../test/ledger/emptied.js";
import type { Database } from "../database/database.js";
import { Ledger } from "./ledger.js";

const all = testDatabases();

afterAll(() => Promise.all(all.map((databases) => databases.stop())));

const DAY_MS = 86_400_000;
const MAY_MS = Date.UTC(2026, 4, 1);
const KEY = "tenant:acme";
const exports = quota({ limit: 100, period: "month" });

function toCounter(limit = exports, durable: Partial<DurableOptions> = {}): Counter {
  const options = { carryOverMax: 0, alertShares: [], ...durable };
  return { scope: "exports", part: 0, limit, durable: options };
}

/** A ledger with a clock at the start of May, and short ways to use it. */
function useLedger(database: Database, counter = toCounter()) {
  const clock = new ManualClock(MAY_MS);
  const findCounter = (meter: string) => (meter === "exports" ? counter : undefined);
  const ledger = new Ledger(database, { actor: "node-1", clock, findCounter, sweepMs: 0 });
  const { store } = ledger;
  const charge = (cost: number, of: Counter): Charge[] => [
    { counter: of, key: KEY, cost, nowMs: clock.now() },
  ];
  return {
    clock,
    ledger,
    store,
    use: async (cost: number, of = counter) => (await store.decide(charge(cost, of))).allowed,
    reserve: (cost: number) => store.decide(charge(cost, counter), { hold: true }),
    left: async (of = counter) => (await store.peek(charge(0, of)))[0]?.remaining,
    /** Kind and amount of every entry, in order. */
    entries: async () => {
      const rows = await database.query<{ kind: string; amount: number }>(
        "SELECT e.kind, e.amount FROM ledger_entries e JOIN ledger_accounts a ON a.id = e.account_id ORDER BY a.starts_at_ms, e.sequence",
      );
      return rows.map(({ kind, amount }) => `${kind} ${amount}`);
    },
  };
}

const by = (idempotencyKey: string) => ({ actor: "ops", reason: "sales", idempotencyKey });
const topUp = (amount: number, idempotencyKey: string) => ({
  meter: "exports",
  key: KEY,
  amount,
  ...by(idempotencyKey),
});

describe.each(all)("grants of a ledger in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  it("are used in the order in which they expire, and end with an entry", async () => {
    const { ledger, clock, use, left, entries } = useLedger(await ready());
    await ledger.grant({ ...topUp(20, "late"), expiresAtMs: MAY_MS + 400 * DAY_MS });
    await ledger.grant({ ...topUp(10, "soon"), expiresAtMs: MAY_MS + 2 * DAY_MS });
    expect(await left()).toBe(130);
    expect(await use(4)).toBe(true);
    clock.advance(2 * DAY_MS);
    // Six of the ten are gone; the four used were theirs.
    expect(await use(0)).toBe(true);
    expect(await left()).toBe(120);
    expect(await use(110)).toBe(true);
    expect(await left()).toBe(10);
    expect(await entries()).toEqual([
      "grant 100",
      "grant 20",
      "grant 10",
      "use -4",
      "expire -6",
      "use -110",
    ]);
  });

  it("outlive the period until they expire", async () => {
    const { ledger, clock, use, left } = useLedger(await ready());
    await ledger.grant({ ...topUp(20, "a"), expiresAtMs: MAY_MS + 40 * DAY_MS });
    expect(await use(110)).toBe(true);
    clock.set(Date.UTC(2026, 5, 1));
    expect(await use(105)).toBe(true);
    expect(await left()).toBe(5);
    clock.set(Date.UTC(2026, 6, 1));
    expect(await use(100)).toBe(true);
    expect(await use(1)).toBe(false);
  });

  it("are made once for an idempotency key, and another amount under it is refused", async () => {
    const { ledger, left } = useLedger(await ready());
    const first = await ledger.grant(topUp(20, "a"));
    expect(first).toMatchObject({ balance: 120, isRepeated: false });
    expect(await ledger.grant(topUp(20, "a"))).toEqual({ ...first, isRepeated: true });
    await expect(ledger.grant(topUp(21, "a"))).rejects.toMatchObject({ code: "SLUICE_KEY_REUSED" });
    expect(await left()).toBe(120);
  });

  it("are made once for an idempotency key, however many periods later it is sent again", async () => {
    const { ledger, clock, entries } = useLedger(await ready());
    const first = await ledger.grant(topUp(10, "order-1"));
    clock.advance(200 * DAY_MS);
    const again = await ledger.grant(topUp(10, "order-1"));
    expect(again).toMatchObject({ isRepeated: true, accountId: first.accountId });
    await expect(ledger.grant(topUp(11, "order-1"))).rejects.toMatchObject({
      code: "SLUICE_KEY_REUSED",
    });
    expect((await entries()).filter((entry) => entry === "grant 10")).toHaveLength(1);
  });

  it("that have expired are not drawn from by what costs more than was reserved", async () => {
    const { ledger, clock, store, reserve, left } = useLedger(await ready());
    await ledger.grant({ ...topUp(20, "soon"), expiresAtMs: MAY_MS + 60_000 });
    const { receipts } = await reserve(5);
    clock.advance(60_000);
    const receipt = receipts[0] as (typeof receipts)[number];
    await store.settle([{ receipt, kept: 30, nowMs: clock.now() }]);
    // The five were the top-up's; the other 25 are the quota's, and fifteen of the top-up are gone.
    expect(await left()).toBe(75);
  });

  it("pay debt first", async () => {
    const { ledger, left } = useLedger(await ready());
    await ledger.adjust(topUp(-130, "minus"));
    expect(await left()).toBe(0);
    expect(await ledger.grant(topUp(40, "plus"))).toMatchObject({ balance: 10 });
    expect(await left()).toBe(10);
  });

  it("of anything but whole units above 0 are refused", async () => {
    const { ledger } = useLedger(await ready());
    for (const amount of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
      await expect(ledger.grant(topUp(amount, "a"))).rejects.toThrow(`got ${amount}`);
    }
  });

  it("of an unknown rule are refused", async () => {
    const { ledger } = useLedger(await ready());
    const grant = ledger.grant({ ...topUp(1, "a"), meter: "imports" });
    await expect(grant).rejects.toThrow('no account of "imports" for "tenant:acme"');
  });
});

describe.each(all)("periods of a ledger in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  it("carry over what is unused, up to the units that the rule allows, for one period", async () => {
    const counter = toCounter(exports, { carryOverMax: 30 });
    const { clock, use, left, entries } = useLedger(await ready(), counter);
    expect(await use(20)).toBe(true);
    clock.set(Date.UTC(2026, 5, 1));
    expect(await use(10)).toBe(true);
    expect(await left()).toBe(120);
    clock.set(Date.UTC(2026, 6, 1));
    // What was carried over to June and not used there ended with June; June's own quota is carried over.
    expect(await use(1)).toBe(true);
    expect(await left()).toBe(129);
    expect(await entries()).toEqual([
      "grant 100",
      "use -20",
      "expire -80",
      "grant 100",
      "grant 30",
      "use -10",
      "expire -20",
      "expire -100",
      "grant 100",
      "grant 30",
      "use -1",
    ]);
  });

  it.each([
    ["day", "America/New_York", undefined, ["2026-03-08T05:00Z", "2026-03-09T04:00Z"], 23],
    ["day", "America/New_York", undefined, ["2026-11-01T04:00Z", "2026-11-02T05:00Z"], 25],
    ["month", "UTC", 31, ["2026-02-28T00:00Z", "2026-03-31T00:00Z"], 31 * 24],
    ["month", "Europe/Paris", 31, ["2026-02-27T23:00Z", "2026-03-30T22:00Z"], 31 * 24 - 1],
  ] as const)(
    "follow the %s of %s, anchored on %s: they end to the millisecond",
    async (period, timeZone, anchor, span, hours) => {
      const counter = toCounter(
        quota({ limit: 100, period, timeZone, ...(anchor && { anchor }) }),
        { carryOverMax: 30 },
      );
      const database = await ready();
      const { clock, use, left } = useLedger(database, counter);
      const [startMs, endMs] = span.map((at) => Date.parse(at)) as [number, number];
      expect(endMs - startMs).toBe(hours * 3_600_000);
      clock.set(startMs - 1);
      expect(await use(90)).toBe(true);
      clock.set(startMs);
      expect(await use(60)).toBe(true);
      clock.set(endMs - 1);
      expect(await left()).toBe(50);
      clock.set(endMs);
      expect(await use(0)).toBe(true);
      expect(await left()).toBe(130);
      const rows = await database.query(
        "SELECT starts_at_ms, ends_at_ms FROM ledger_accounts ORDER BY starts_at_ms",
      );
      const periods = rows.map(({ starts_at_ms, ends_at_ms }) => [starts_at_ms, ends_at_ms]);
      expect(periods[1]?.map(Number)).toEqual([startMs, endMs]);
      expect(periods).toHaveLength(3);
    },
  );

  it("carry over the quota of a period in which nothing was asked, and not twice", async () => {
    const counter = toCounter(exports, { carryOverMax: 30 });
    const { clock, use, left } = useLedger(await ready(), counter);
    expect(await use(20)).toBe(true);
    clock.set(Date.UTC(2026, 7, 1));
    expect(await use(0)).toBe(true);
    expect(await left()).toBe(130);
  });

  it("that overlap the one before, as after another billing day, keep what was used", async () => {
    const database = await ready();
    const { clock, use, left } = useLedger(database);
    clock.set(Date.UTC(2026, 4, 20));
    expect(await use(70)).toBe(true);
    const from15 = toCounter(quota({ limit: 100, period: "month", anchor: 15 }));
    expect(await use(1, from15)).toBe(true);
    expect(await left(from15)).toBe(29);
  });

  it("follow another quota, and keep what was used", async () => {
    const { use, left, entries } = useLedger(await ready());
    const of = (limit: number) => toCounter(quota({ limit, period: "month" }));
    expect(await use(80)).toBe(true);
    expect(await use(1, of(50))).toBe(false);
    expect(await left(of(50))).toBe(0);
    // Back to 100, as on a roll-out that is rolled back: 80 are still used.
    expect(await use(0, of(100))).toBe(true);
    expect(await left()).toBe(20);
    expect(await use(120, of(200))).toBe(true);
    expect(await entries()).toEqual([
      "grant 100",
      "use -80",
      "adjust -20",
      "adjust 20",
      "adjust 100",
      "use -120",
    ]);
  });

  it("keep their quota when an operator resets or refunds, whose limit may be another tier's", async () => {
    const { store, clock, use, left } = useLedger(await ready());
    await use(60);
    const counter = toCounter(quota({ limit: 900, period: "month", prorate: true }));
    const charge = { counter, key: KEY, cost: 20, nowMs: clock.now() };
    await store.refund([charge]);
    expect(await left()).toBe(60);
    clock.advance(15 * DAY_MS);
    await store.reset([charge]);
    expect(await left()).toBe(100);
  });

  it("pro-rate another quota if it says so: it counts for the rest of the period", async () => {
    const { clock, use, left } = useLedger(await ready());
    expect(await use(50)).toBe(true);
    clock.set(MAY_MS + 15.5 * DAY_MS);
    const larger = toCounter(quota({ limit: 300, period: "month", prorate: true }));
    expect(await use(0, larger)).toBe(true);
    expect(await left(larger)).toBe(150);
  });
});

describe.each(all)("reservations of a ledger in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  it("that are never settled return by one expire entry, whichever process sweeps", async () => {
    const database = await ready();
    const { clock, store, reserve, left, entries } = useLedger(database);
    const other = useLedger(database);
    await reserve(30);
    clock.advance(599_999);
    expect(await store.sweep()).toBe(0);
    clock.advance(1);
    other.clock.set(clock.now());
    const swept = await Promise.all([store.sweep(), other.store.sweep(), store.sweep()]);
    expect(swept.reduce((sum, n) => sum + n)).toBe(1);
    expect(await left()).toBe(100);
    expect(await entries()).toEqual(["grant 100", "reserve -30", "expire 30"]);
  });

  it("that are committed after they expired are charged for what they cost", async () => {
    const { clock, store, reserve, left, entries } = useLedger(await ready());
    const { receipts } = await reserve(30);
    clock.advance(600_000);
    await store.sweep();
    await store.settle([{ receipt: receipts[0] as never, kept: 12, nowMs: clock.now() }]);
    await store.settle([{ receipt: receipts[0] as never, kept: 12, nowMs: clock.now() }]);
    expect(await left()).toBe(88);
    expect(await entries()).toEqual(["grant 100", "reserve -30", "expire 30", "commit -12"]);
  });

  it("that are settled in the next period are charged to the one that they were made in", async () => {
    const { clock, store, reserve, left, entries } = useLedger(await ready());
    const { receipts } = await reserve(30);
    clock.set(Date.UTC(2026, 5, 1));
    await store.settle([{ receipt: receipts[0] as never, kept: 50, nowMs: clock.now() }]);
    expect(await left()).toBe(100);
    expect(await entries()).toEqual(["grant 100", "reserve -30", "commit -20"]);
  });
});

describe.each(all)("a request of a ledger in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  it("that is sent again after its period has ended is charged once", async () => {
    const { clock, store, left } = useLedger(await ready());
    clock.set(Date.UTC(2026, 4, 31, 23, 59, 59, 999));
    const charges = () => [{ counter: toCounter(), key: KEY, cost: 5, nowMs: clock.now() }];
    const first = await store.decide(charges(), { requestId: "r1" });
    clock.advance(2);
    const again = await store.decide(charges(), { requestId: "r1" });
    expect([first.allowed, again.allowed]).toEqual([true, true]);
    expect(await left()).toBe(100);
  });

  it("of a fractional cost is refused", async () => {
    const { use } = useLedger(await ready());
    await expect(use(0.5)).rejects.toMatchObject({ code: "SLUICE_COST_INVALID" });
  });

  it("writes an event when a share is reached, once", async () => {
    const database = await ready();
    const counter = toCounter(exports, { alertShares: [0.8, 1] });
    const { use } = useLedger(database, counter);
    for (const cost of [79, 1, 1, 19]) expect(await use(cost)).toBe(true);
    const events = await database.query<{ share_percent: number; body: string }>(
      "SELECT share_percent, body FROM ledger_events ORDER BY share_percent",
    );
    expect(events.map(({ share_percent, body }) => [share_percent, JSON.parse(body).used])).toEqual(
      [
        [80, 80],
        [100, 100],
      ],
    );
  });
});
