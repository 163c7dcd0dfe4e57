import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FakeOptions, sluice } from "../../../../test/cli/fake-terminal.js";
import {
  by,
  type ControlAdmin,
  startControlAdmin,
} from "../../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../../test/control/databases.js";
import { AccountBuilder } from "../../../../test/ledger/ledger-builder.js";

const MONTH = { startsAtMs: Date.UTC(2023, 10, 1), endsAtMs: Date.UTC(2023, 11, 1) };
const SPAN = ["--from", "2023-11-01", "--to", "2023-12-01"];

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("the verbs of the ledger, in $name", (databases) => {
  let admin: ControlAdmin;
  beforeEach(async () => {
    admin = await startControlAdmin(await databases.ready());
    const account = new AccountBuilder(MONTH).use(400).use(2, { key: "=1+1" });
    account.lease(100);
    await account.write(admin.database);
  });
  afterEach(() => admin.close());

  const run = (args: readonly string[], options: FakeOptions = {}) => {
    const env = { SLUICE_ADMIN: admin.url, SLUICE_ADMIN_TOKEN: admin.tokens.operator };
    return sluice(args, { env, ...options });
  };

  it("quota show prints a table, and JSON if asked", async () => {
    const { code, out } = await run(["quota", "show", "acme"]);
    expect(code).toBe(0);
    const [head = "", row = ""] = out.split("\n");
    expect(head).toMatch(/^meter +granted +used +held +left +period +runs out$/);
    expect(row).toMatch(/^exports +1000 +402 +100 +498 +2023-11-01 to 2023-12-01 +\S/);
    const json = JSON.parse((await run(["quota", "show", "acme", "--json"])).out);
    expect(json.items[0]).toMatchObject({ meter: "exports", balance: 498 });
  });

  it("quota show distinguishes a tenant without usage from one that does not exist", async () => {
    await admin.plane.tenants.put(by(), { id: "idle", input: {} });
    const past = { startsAtMs: Date.UTC(2023, 9, 1), endsAtMs: Date.UTC(2023, 10, 1) };
    const before = new AccountBuilder({ ...past, subject: "tenant:before" });
    await before.use(1, { atMs: Date.UTC(2023, 9, 2) }).write(admin.database);
    for (const tenant of ["idle", "before"]) {
      const out = `${tenant} has used no durable quota in this period\n`;
      expect(await run(["quota", "show", tenant])).toMatchObject({ code: 0, out });
    }
    const err = expect.stringContaining('there is no tenant "idel"; did you mean idle?');
    for (const json of [[], ["--json"]])
      expect(await run(["quota", "show", "idel", ...json])).toMatchObject({
        code: 2,
        out: "",
        err,
      });
    const unused = await run(["quota", "show", "acme", "--meter", "tokens"]);
    expect(unused).toMatchObject({ code: 0, out: expect.stringContaining("no durable quota") });
  });

  it("quota show prints periods in the time zone of the tenant, ledger reconcile in UTC with times", async () => {
    await admin.plane.tenants.put(by(), { id: "paris", input: { timeZone: "Europe/Paris" } });
    const period = { startsAtMs: Date.UTC(2023, 9, 31, 23), endsAtMs: Date.UTC(2023, 10, 30, 23) };
    const account = new AccountBuilder({ ...period, subject: "tenant:paris" }).use(1);
    await account.write(admin.database);
    const { out } = await run(["quota", "show", "paris"]);
    expect(out).toMatch(/^exports .* 2023-11-01 to 2023-12-01 /m);
    const reconciled = await run(["ledger", "reconcile"]);
    expect(reconciled.out).toMatch(/exports +2023-10-31 23:00 to 2023-11-30 23:00 UTC +1 /);
  });

  it("quota grant and adjust say what is left, once for each key", async () => {
    const grant = ["quota", "grant", "acme", "--meter", "exports", "--reason", "order 1"];
    const first = await run([...grant, "--units", "500", "--idempotency-key", "k"]);
    expect(first).toMatchObject({ code: 0, out: "acme exports: +500 units, 998 left (entry 5)\n" });
    const again = await run([...grant, "--units", "500", "--idempotency-key", "k"]);
    expect(again.out).toContain("made before, and not again");
    const other = await run([...grant, "--units", "501", "--idempotency-key", "k"]);
    expect(other).toMatchObject({ code: 2, err: expect.stringContaining("Idempotency-Key") });
    const adjust = ["quota", "adjust", "acme", "--meter", "exports", "--reason", "r"];
    const less = await run([...adjust, "--units=-8"]);
    expect(less.out).toBe("acme exports: -8 units, 990 left (entry 6)\n");
    for (const units of ["0", "1.5", "x"])
      expect(await run([...adjust, `--units=${units}`])).toMatchObject({ code: 2 });
    expect(await run([...grant, "--units=-5"])).toMatchObject({ code: 2 });
    expect(await run(["ledger", "verify"])).toMatchObject({ code: 0 });
  });

  it("ledger verify exits with 1 and lists what does not fit", async () => {
    const whole = await run(["ledger", "verify"]);
    expect(whole).toMatchObject({ code: 0, out: "the ledger is intact: 4 entries of 1 account\n" });
    await admin.database.query("UPDATE ledger_entries SET actor = 'eve' WHERE sequence = 2");
    const broken = await run(["ledger", "verify"]);
    expect(broken.code).toBe(1);
    expect(broken.out).toContain("not intact: 1 problem in");
    expect(broken.out).toMatch(/chain +exports tenant:acme +entry 3 +does not carry the hash/);
    const json = await run(["ledger", "verify", "--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ valid: false, problemCount: 1 });
  });

  it("ledger reconcile names who holds the difference, and exits with 1 if it does not know", async () => {
    const admit = (source: string, units: number) =>
      admin.database.query(
        "INSERT INTO ledger_admissions VALUES ('a', 'run', $1, 'exports', 0, 'tenant:acme', $2, $3, $4, 1)",
        [source, Date.UTC(2023, 10, 1), Date.UTC(2023, 11, 1), units],
      );
    await admit("charged", 402);
    await admit("uncharged", 3);
    await admin.database.query("INSERT INTO ledger_reporters VALUES ('run', 'node-1', $1, $1, 0)", [
      Date.UTC(2023, 10, 2),
    ]);
    const { code, out } = await run(["ledger", "reconcile"]);
    expect(code).toBe(0);
    expect(out).toMatch(/exports +2023-11-01 to 2023-12-01 +502 +402 +3 +100 +0 +0 +0 +0 +0\n/);
    expect(out).toMatch(/node-1 +exports +tenant:acme +3\n/);
    expect(out).toContain("node-1 stopped reporting at 2023-11-02");
    expect(out).toMatch(/node-1 +exports +tenant:acme +4 +lease +100 +overdue/);
    await admin.database.query("DELETE FROM ledger_holds");
    expect(await run(["ledger", "reconcile", "--json"])).toMatchObject({ code: 1 });
    const before = await run(["ledger", "reconcile", "--at", "2022-01-01"]);
    expect(before).toMatchObject({ code: 0, out: "nothing was charged in this period\n" });
  });

  it("ledger export writes CSV and JSON; a bar only where a person looks", async () => {
    const csv = await run(["ledger", "export", ...SPAN, "--format", "csv"]);
    expect(csv).toMatchObject({ code: 0, err: "" });
    expect(csv.out.split("\r\n")).toHaveLength(6);
    expect(csv.out).toContain(`"'=1+1"`);
    const json = await run(
      ["ledger", "export", ...SPAN, "--tenant", "acme", "--meter", "exports", "--format", "json"],
      { isErrorTty: true },
    );
    expect(JSON.parse(json.out)).toHaveLength(4);
    expect(json.err).toContain("100%  4 of 4 entries\n");
    const lines = await run(["ledger", "export", ...SPAN, "--format", "ndjson"]);
    expect(
      lines.out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toHaveLength(4);
    const onTerminal = await run(["ledger", "export", ...SPAN, "--format", "json"], {
      isTty: true,
      isErrorTty: true,
    });
    expect(onTerminal.err).toBe("");
    expect(await run(["ledger", "export", ...SPAN, "--format", "xml"])).toMatchObject({ code: 2 });
    const late = ["--from", "2024-01-01", "--to", "2023-01-01", "--format", "csv"];
    expect(await run(["ledger", "export", ...late])).toMatchObject({ code: 2, out: "" });
  });

  it("ledger export --output makes a file that is whole, or none", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-export-"));
    const file = join(folder, "nov.json");
    const args = ["ledger", "export", ...SPAN, "--format", "json", "--output", file];
    expect(await run(args)).toMatchObject({ code: 0, out: "" });
    expect(JSON.parse(readFileSync(file, "utf8"))).toHaveLength(4);
    expect(readdirSync(folder)).toEqual(["nov.json"]);
    writeFileSync(`${file}.part`, "");
    const taken = await run(args);
    expect(taken).toMatchObject({ code: 2, err: expect.stringContaining("is there already") });
  });
});
