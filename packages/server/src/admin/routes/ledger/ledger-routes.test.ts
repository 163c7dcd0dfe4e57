import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  by,
  type ControlAdmin,
  START_MS,
  startControlAdmin,
} from "../../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../../test/control/databases.js";
import { AccountBuilder } from "../../../../test/ledger/ledger-builder.js";

// 2023-11-14T22:13:20Z, the time of the fixture's clock.
const DAY_MS = 86_400_000;
const MONTH = { startsAtMs: Date.UTC(2023, 10, 1), endsAtMs: Date.UTC(2023, 11, 1) };
const at = (day: number, hour = 12) => Date.UTC(2023, 10, day, hour);

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("the routes of the ledger, in $name", (databases) => {
  let admin: ControlAdmin;
  beforeEach(async () => {
    admin = await startControlAdmin(await databases.ready());
    const exports = new AccountBuilder(MONTH).use(100, { atMs: at(2, 23) });
    exports.use(300, { atMs: at(3) }).reserve(50, { atMs: at(14, 22) });
    const other = new AccountBuilder({ ...MONTH, subject: "tenant:other" }).use(1);
    for (const account of [exports, other]) await account.write(admin.database);
  });
  afterEach(() => admin.close());

  it("GET /v1/quotas says how the quotas of a tenant stand, in its time zone", async () => {
    const input = { timeZone: "Europe/Paris" };
    await admin.plane.tenants.put(by(), { id: "acme", input });
    const { body } = await admin.ask("GET /v1/quotas?tenant=acme", { as: "viewer" });
    expect(body).toMatchObject({ tenant: "acme", timeZone: "Europe/Paris" });
    expect(body.items).toMatchObject([
      {
        meter: "exports",
        period: { startMs: MONTH.startsAtMs, endMs: MONTH.endsAtMs },
        quota: 1_000,
        used: 400,
        held: { reserved: 50, leased: 0 },
        balance: 550,
        forecast: { day: null },
      },
    ]);
    const none = await admin.ask("GET /v1/quotas?tenant=acme&meter=tokens");
    expect(none.body.items).toEqual([]);
    expect(await admin.ask("GET /v1/quotas")).toMatchObject({ status: 400 });
  });

  it("GET /v1/quota-shares lists the quotas of all tenants, the most used first", async () => {
    const busy = new AccountBuilder({ ...MONTH, subject: "tenant:busy" }).use(900);
    await busy.write(admin.database);
    await new AccountBuilder({ ...MONTH, subject: "tenant:acme|user:1" })
      .use(999)
      .write(admin.database);
    const { body } = await admin.ask("GET /v1/quota-shares", { as: "viewer" });
    const names = ({ items }: { items: { tenant: string }[] }) => items.map(({ tenant }) => tenant);
    expect(names(body)).toEqual(["busy", "acme", "other"]);
    expect(body.items[1]).toMatchObject({
      meter: "exports",
      granted: 1_000,
      used: 450,
      balance: 550,
    });
    const first = (await admin.ask("GET /v1/quota-shares?limit=2")).body;
    expect([names(first), first.next]).toEqual([["busy", "acme"], "2"]);
    const second = (await admin.ask("GET /v1/quota-shares?limit=2&after=2")).body;
    expect([names(second), second.next]).toEqual([["other"], null]);
    expect(names((await admin.ask("GET /v1/quota-shares?search=ot")).body)).toEqual(["other"]);
    expect(names((await admin.ask("GET /v1/quota-shares?meter=none")).body)).toEqual([]);
    expect((await admin.ask("GET /v1/quota-shares?after=10001")).status).toBe(400);
  });

  it("GET /v1/usage adds up by the tenant's days; days in the query are its days too", async () => {
    const inUtc = await admin.ask("GET /v1/usage?tenant=acme&from=2023-11-01&to=2023-12-01");
    expect(inUtc.body.items).toMatchObject([
      {
        units: 450,
        days: [
          { day: "2023-11-02", units: 100 },
          { day: "2023-11-03", units: 300 },
          { day: "2023-11-14", units: 50 },
        ],
      },
    ]);
    await admin.plane.tenants.put(by(), { id: "acme", input: { timeZone: "Europe/Paris" } });
    const inParis = await admin.ask("GET /v1/usage?tenant=acme&from=2023-11-03&to=2023-11-04");
    // 23:00 UTC is midnight in Paris.
    expect(inParis.body).toMatchObject({ fromMs: at(2, 23), toMs: at(3, 23) });
    expect(inParis.body.items[0].days).toEqual([{ day: "2023-11-03", units: 400 }]);
    const lastMonth = await admin.ask("GET /v1/usage?tenant=acme");
    expect(lastMonth.body).toMatchObject({ fromMs: START_MS - 31 * DAY_MS });
  });

  it.each(["from=yesterday", "from=2023-02-30", "from=2023-11-02&to=2023-11-01", "by=hour"])(
    "GET /v1/usage refuses %s",
    async (query) => {
      const answer = await admin.ask(`GET /v1/usage?tenant=acme&${query}`);
      expect(answer).toMatchObject({ status: 400, body: { code: "SLUICE_REQUEST_INVALID" } });
    },
  );

  it("GET /v1/ledger/entries lists entries page by page, with filters", async () => {
    const seen: unknown[] = [];
    let next = "";
    do {
      const page = await admin.ask(`GET /v1/ledger/entries?limit=2${next}`);
      seen.push(...page.body.items);
      next = page.body.next === null ? "" : `&after=${page.body.next}`;
    } while (next !== "");
    const whole = await admin.ask("GET /v1/ledger/entries");
    expect(whole.body.items).toHaveLength(6);
    expect(seen).toEqual(whole.body.items);
    const ask = async (query: string) =>
      (await admin.ask(`GET /v1/ledger/entries?${query}`)).body.items.length;
    expect(await ask("tenant=other")).toBe(2);
    expect(await ask("subject=tenant:acme&kind=reserve")).toBe(1);
    expect(await ask("meter=tokens")).toBe(0);
    expect(await ask("from=2023-11-03&to=2023-11-04T00:00:00Z")).toBe(1);
    for (const bad of ["after=x", "tenant=acme&subject=tenant:acme", "kind=gift"])
      expect(await admin.ask(`GET /v1/ledger/entries?${bad}`)).toMatchObject({ status: 400 });
  });

  it("GET /v1/ledger/export streams CSV and JSON, and says how many entries there are", async () => {
    const csv = await admin.ask("GET /v1/ledger/export?tenant=acme");
    expect(csv.headers.get("content-type")).toContain("text/csv");
    expect(csv.headers.get("sluice-entries")).toBe("4");
    expect(csv.body.trimEnd().split("\r\n")).toHaveLength(5);
    const json = await admin.ask("GET /v1/ledger/export?format=json");
    expect(json.body).toHaveLength(6);
    expect(json.body[0]).toMatchObject({ kind: "grant", meter: "exports", settles: null });
    expect(await admin.ask("GET /v1/ledger/export?format=xml")).toMatchObject({ status: 400 });
  });

  it("POST /v1/ledger/verify says that the ledger is intact, and lists what is not", async () => {
    const whole = await admin.ask("POST /v1/ledger/verify", { as: "operator", body: {} });
    expect(whole.body).toEqual({
      valid: true,
      accounts: 2,
      entries: 6,
      problemCount: 0,
      problems: [],
    });
    await admin.database.query("UPDATE ledger_entries SET actor = 'eve' WHERE sequence = 3");
    const broken = await admin.ask("POST /v1/ledger/verify", { body: {} });
    expect(broken.body).toMatchObject({
      valid: false,
      problemCount: 1,
      problems: [{ check: "chain", subject: "tenant:acme", meter: "exports", sequence: 4 }],
    });
  });
});
