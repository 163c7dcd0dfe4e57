import { ManualClock } from "sluice/testing";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { AccountBuilder, PERIOD_START_MS } from "../../test/ledger/ledger-builder.js";
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

it("a service without a ledger has no usage to show", async () => {
  expect(await toUsageReport({ clock })(facts("acme"))).toMatchObject({ status: 404 });
});
