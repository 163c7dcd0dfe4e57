import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import {
  AccountBuilder,
  PERIOD_END_MS,
  PERIOD_START_MS,
} from "../../../test/ledger/ledger-builder.js";
import { reconcile } from "./reconcile.js";

const NOW_MS = PERIOD_START_MS + 3_600_000;
const NOW = { atMs: NOW_MS, nowMs: NOW_MS };

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("reconcile on $name", (databases) => {
  it("explains every difference between what was admitted and what was charged", async () => {
    const database = await databases.ready();
    const acme = new AccountBuilder().use(10).use(5);
    // A use that was refunded, one that really cost 2, and a reservation that cost more than it held.
    acme.settle("cancel", 3, { units: 5 });
    acme.use(4).settle("commit", acme.sequence, { units: 4, kept: 2 });
    acme.settle("commit", acme.reserve(20), { units: 20, kept: 25 });
    // Expired, and committed regardless.
    acme.settle("expire", acme.reserve(6), { units: 6 });
    acme.settle("commit", acme.sequence - 1, { units: 0, kept: 6 });
    acme.settle("return", acme.lease(100), { units: 100, kept: 40 });
    acme.adjust(-7).grant(50);
    acme.reserve(9, { expiresAtMs: NOW_MS + 1 });
    const other = new AccountBuilder({ subject: "tenant:other" }).use(1);
    other.lease(30, { actor: "node-2", expiresAtMs: NOW_MS });
    const last = new AccountBuilder({
      meter: "old",
      startsAtMs: PERIOD_START_MS - 86_400_000,
      endsAtMs: PERIOD_START_MS,
    }).use(3);
    for (const account of [acme, other, last]) await account.write(database);
    const { meters, holds, holdCount } = await reconcile(database, NOW);
    expect(meters).toEqual([
      {
        meter: "exports",
        part: 0,
        period: { startMs: PERIOD_START_MS, endMs: PERIOD_END_MS },
        charged: 123,
        admitted: 0,
        repeated: 0,
        uncharged: 0,
        leased: 30,
        reserved: 9,
        lapsed: 0,
        // No process has reported what it admitted: 84 that were used, and 9 that are reserved.
        unreported: 93,
        unexplained: 0,
        drift: 0,
      },
    ]);
    expect(holdCount).toBe(2);
    // The process of the lease has died; the reservation still has a moment.
    expect(holds).toMatchObject([
      { holder: "node-2", subject: "tenant:other", kind: "lease", units: 30, isOverdue: true },
      { holder: "node-1", subject: "tenant:acme", kind: "reserve", units: 9, isOverdue: false },
    ]);
    const before = await reconcile(database, { ...NOW, atMs: PERIOD_START_MS - 1 });
    expect(before.meters).toMatchObject([{ meter: "old", charged: 3, unreported: 3 }]);
    expect(await reconcile(database, { ...NOW, meter: "none" })).toMatchObject({ meters: [] });
  });

  it("names units that came back after their grant had ended, and what nothing explains", async () => {
    const database = await databases.ready();
    const account = new AccountBuilder().use(1);
    const lease = account.lease(10);
    account.append("return", 4, { key: `settle:${lease}`, details: { kept: 3 } }, lease);
    await account.write(database);
    await database.query("DELETE FROM ledger_holds");
    expect((await reconcile(database, NOW)).meters).toMatchObject([
      { charged: 7, unreported: 4, lapsed: 3, unexplained: 0 },
    ]);
    const broken = new AccountBuilder({ subject: "tenant:broken" });
    broken.lease(10);
    await broken.write(database);
    await database.query("DELETE FROM ledger_holds");
    expect((await reconcile(database, NOW)).meters).toMatchObject([{ unexplained: 10 }]);
  });
});
