// Databases that earlier versions made: each is brought to the schema of this version with every row that it has, and no
// migration that a database may have applied is ever edited.

import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { AccountBuilder } from "../../test/ledger/ledger-builder.js";
import { Changes } from "../control/changes/changes.js";
import { ControlPlane } from "../control/control-plane.js";
import { verifyLedger } from "../ledger/verify/verify-ledger.js";
import type { Database } from "./database.js";
import { migrate } from "./migrate.js";
import { migrations } from "./migrations/migrations.js";

/** A migration that is changed is another one to the databases that have it: they refuse to start. Add a new one. */
const APPLIED = [
  "001-entities-and-audit a803f4e52f81ad97",
  "002-nodes 0b4d071306d90d8f",
  "003-key-uses e8e7d7b931d86eff",
  "004-ledger 8b4df28d0b817150",
  "005-webhook-deliveries 16bf5a0916ec8f29",
  "006-keyed-acts 2e21757ec3d0fdef",
  "007-admissions 960258c1a677ed8e",
  "008-entries-by-key f6af156ab8bde4c5",
  "009-act-claims 39cb1cfc62e0e6be",
  "010-home-region abc04688446f071c",
];

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

const by = { id: "change-1", actor: "anna", origin: "local", reason: "a test" };
/** What each migration made room for, written as the version of then did. */
const WRITTEN: Readonly<Record<number, (database: Database) => Promise<unknown>>> = {
  1: (database) =>
    new Changes(database).apply(by, () => [
      { action: "create", kind: "plan", id: "pro", body: { tier: "gold" } },
      { action: "create", kind: "api-key", id: "k1", body: { tenant: "acme" } },
    ]),
  2: (database) => database.query("INSERT INTO nodes VALUES ('web', 1, '{}')"),
  3: (database) => database.query("INSERT INTO key_uses VALUES ('k1', 'api-key', 400000)"),
  async 4(database) {
    const account = new AccountBuilder().use(3);
    account.settle("commit", account.reserve(20), { units: 20, kept: 5 });
    account.lease(10);
    await account.write(database);
    await database.query("INSERT INTO ledger_blocks VALUES ('exports', 'tenant:beta', NULL)");
    await database.query(
      "INSERT INTO ledger_events (id, account_id, share_percent, at_ms, body) VALUES ('e1', 'a', 80, 1, '{}')",
    );
  },
  5: (database) =>
    database.query(
      "INSERT INTO webhook_deliveries VALUES ('d1', 'e1', 'billing', 'pending', 1, 0, 0, 1, NULL, NULL, NULL, '[]')",
    ),
  6: (database) =>
    database.query(
      "INSERT INTO keyed_acts (owner, request, at_ms, answer) VALUES ('anna', 'r', 1, NULL)",
    ),
  async 7(database) {
    await database.query(
      "INSERT INTO ledger_admissions VALUES ('a', 'run', 'store', 'exports', 0, 'tenant:acme', 0, 1, 3, 1)",
    );
    await database.query("INSERT INTO ledger_reporters VALUES ('run', 'web-1', 1, 2, 0)");
  },
};

const TABLES: Readonly<Record<number, readonly string[]>> = {
  1: ["entities", "audit", "head"],
  2: ["nodes"],
  3: ["key_uses"],
  4: ["ledger_accounts", "ledger_entries", "ledger_holds", "ledger_blocks", "ledger_events"],
  5: ["webhook_deliveries"],
  6: ["keyed_acts"],
  7: ["ledger_admissions", "ledger_reporters"],
};

/** The rows of every table that there was in a version, by the columns that it had then. */
async function rowsOf(database: Database, tables: readonly string[]) {
  const rows = tables.map(async (table) => database.query(`SELECT * FROM ${table}`));
  return Promise.all(rows);
}

it("migrations that databases have applied are not edited", () => {
  const known = migrations.map(({ name, checksum }) => `${name} ${checksum.slice(0, 16)}`);
  expect(known).toEqual(APPLIED);
});

describe.each(all)("a database in $name", (databases) => {
  it.each(migrations)(
    "of version $name is brought to this one, and keeps every row",
    async ({ number }) => {
      const database = databases.open(await databases.create());
      await migrate(
        database,
        migrations.filter((each) => each.number <= number),
      );
      const versions = migrations
        .filter((each) => each.number <= number)
        .map((each) => each.number);
      for (const version of versions) await WRITTEN[version]?.(database);
      const tables = versions.flatMap((version) => TABLES[version] ?? []);
      const before = await rowsOf(database, tables);
      for (const [index, rows] of before.entries()) {
        expect([tables[index], rows.length > 0]).toEqual([tables[index], true]);
      }
      const missing = migrations.filter((each) => each.number > number).map(({ name }) => name);
      expect(await migrate(database)).toEqual(missing);
      expect(await migrate(database)).toEqual([]);
      const after = await rowsOf(database, tables);
      for (const [index, rows] of before.entries()) {
        expect(after[index]).toHaveLength(rows.length);
        expect(after[index]).toEqual(rows.map((row) => expect.objectContaining(row)));
      }
      const plane = new ControlPlane({ database });
      expect(await plane.plans.get("pro")).toMatchObject({ body: { tier: "gold" } });
      await plane.tenants.put({ ...by, id: "change-2" }, { id: "acme", input: { plan: "pro" } });
      expect(await plane.verifyAudit()).toEqual({ rows: 3 });
      expect(await verifyLedger(database)).toMatchObject({ problems: [] });
    },
  );
});
