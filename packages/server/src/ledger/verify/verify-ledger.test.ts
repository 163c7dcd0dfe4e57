import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { AccountBuilder } from "../../../test/ledger/ledger-builder.js";
import type { Database, Row, SqlValue } from "../../database/database.js";
import { migrate } from "../../database/migrate.js";
import { migrations } from "../../database/migrations/migrations.js";
import { statements } from "../sql/statements.js";
import { verifyLedger } from "./verify-ledger.js";
import type { VerifierReader } from "./verify-range.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

/** A ledger in which everything happens that may. */
function wholeAccounts(): AccountBuilder[] {
  const acme = new AccountBuilder();
  acme.use(10).use(0);
  acme.settle("commit", acme.reserve(20), { units: 20, kept: 5 });
  acme.settle("commit", acme.reserve(20), { units: 20, kept: 30 });
  acme.settle("cancel", acme.reserve(7), { units: 7 });
  acme.settle("expire", acme.reserve(7), { units: 7 });
  acme.settle("return", acme.lease(100), { units: 100, kept: 40 });
  acme.use(3).settle("cancel", acme.sequence, { units: 3 });
  acme.settle("expire", acme.reserve(6), { units: 6 });
  acme.settle("commit", acme.sequence - 1, { units: 0, kept: 4 });
  acme.use(8).settle("commit", acme.sequence, { units: 8, kept: 3 });
  acme.grant(500, { actor: "ada" }).adjust(-50).adjust(5);
  acme.reserve(9);
  acme.lease(50);
  const late = new AccountBuilder({ subject: "tenant:late", quota: 10 });
  late.settle("commit", late.reserve(10), { units: 10, kept: 25 });
  late.adjust(-1);
  const others = Array.from({ length: 7 }, (_, index) =>
    new AccountBuilder({ subject: `tenant:${index}` }).use(1).use(2),
  );
  return [acme, late, ...others];
}

describe.each(all)("verifyLedger on $name", (databases) => {
  let ready: Promise<Database> | undefined;
  /** One database for most tests: making one takes PostgreSQL a second. */
  const writeAll = async (accounts: readonly AccountBuilder[]): Promise<Database> => {
    ready ??= databases.ready();
    const database = await ready;
    for (const table of ["ledger_holds", "ledger_entries", "ledger_accounts"])
      await database.query(`DELETE FROM ${table}`);
    for (const account of accounts) await account.write(database);
    return database;
  };
  const verify = async (database: Database) => {
    const { problems } = await verifyLedger(database, { pages: { accounts: 3, entries: 4 } });
    return problems.map(({ check, sequence }) => `${check} ${sequence ?? "account"}`);
  };

  it("finds nothing in a whole ledger, in pages of any size", async () => {
    const accounts = wholeAccounts();
    const database = await writeAll(accounts);
    const entries = accounts.reduce((sum, { sequence }) => sum + sequence, 0);
    for (const pages of [
      { accounts: 500, entries: 5_000 },
      { accounts: 1, entries: 1 },
      { accounts: 2, entries: 3 },
    ]) {
      expect(await verifyLedger(database, { pages })).toEqual({
        accounts: accounts.length,
        entries,
        problemCount: 0,
        problems: [],
      });
    }
  });

  it("finds nothing in an empty ledger, nor in an account without entries", async () => {
    const database = await writeAll([]);
    expect(await verifyLedger(database)).toMatchObject({ accounts: 0, entries: 0, problems: [] });
    await new AccountBuilder({ isOpen: false }).write(database);
    expect(await verifyLedger(database)).toMatchObject({ accounts: 1, entries: 0, problems: [] });
  });

  it("takes accounts that are written to while they are read as they are", async () => {
    const early = new AccountBuilder().use(10);
    const reservation = early.reserve(5);
    const database = await writeAll([early]);
    const stale = await database.query("SELECT * FROM ledger_accounts");
    const staleHolds = await database.query("SELECT * FROM ledger_holds");
    const late = new AccountBuilder().use(10);
    late.reserve(5);
    late.settle("commit", reservation, { units: 5, kept: 5 }).use(20);
    await writeAll([late]);
    let pages = 0;
    const reader: VerifierReader = {
      query: async <R extends Row>(sql: string, values?: readonly SqlValue[]) => {
        if (sql === statements.listAccountsBetween && pages++ === 0) return stale as R[];
        if (sql === statements.listHoldsBetween) return staleHolds as R[];
        return database.query<R>(sql, values);
      },
      queryTuples: (sql, values) => database.queryTuples(sql, values),
      hasUniqueIndex: (table, columns) => database.hasUniqueIndex(table, columns),
    };
    expect(await verifyLedger(reader)).toMatchObject({ entries: 5, problems: [] });
  });

  it("reads characters as they were hashed, however the database escapes them", async () => {
    const characters = "\u0001\u001f\"\\/\b\f\n\r\t\u007f\u2028 <ä> '🚀'";
    const odd = new AccountBuilder().grant(5, { actor: characters }).use(1).use(2);
    const database = await writeAll([odd]);
    expect(await verify(database)).toEqual([]);
    await database.query("UPDATE ledger_entries SET actor = $1 WHERE sequence = 2", [
      characters.replace("ä", "a"),
    ]);
    expect(await verify(database)).toEqual(["chain 3"]);
  });

  it("reports an entry that can't be written as JSON", async () => {
    // Only SQLite keeps bytes in a column of text.
    if (databases.name !== "SQLite") return;
    const database = await writeAll([new AccountBuilder().use(1).use(2)]);
    await database.query("UPDATE ledger_entries SET actor = x'00ff' WHERE sequence = 2");
    expect(await verify(database)).toEqual(["chain 3"]);
  });

  const entry = (sequence: number) => `account_id = $1 AND sequence = ${sequence}`;
  const broken: readonly (readonly [what: string, sql: string, found: readonly string[]])[] = [
    [
      "an amount that was altered",
      `UPDATE ledger_entries SET amount = -1 WHERE ${entry(2)}`,
      ["balance 2", "chain 3", "balance account"],
    ],
    [
      "a balance that was altered with its amount",
      `UPDATE ledger_entries SET amount = -1, balance = 999 WHERE ${entry(2)}`,
      ["chain 3", "balance 3", "balance account"],
    ],
    [
      "an actor that was altered",
      `UPDATE ledger_entries SET actor = 'eve' WHERE ${entry(4)}`,
      ["chain 5"],
    ],
    [
      "the last entry altered",
      `UPDATE ledger_entries SET actor = 'eve' WHERE ${entry(7)}`,
      ["chain 7"],
    ],
    [
      "the first entry altered",
      `UPDATE ledger_entries SET previous_hash = 'x' WHERE ${entry(1)}`,
      ["chain 1", "chain 2"],
    ],
    [
      "an entry that was deleted",
      `DELETE FROM ledger_entries WHERE ${entry(3)}`,
      ["sequence 4", "balance account"],
    ],
    [
      "the last entry deleted",
      `DELETE FROM ledger_entries WHERE ${entry(7)}`,
      ["sequence account"],
    ],
    [
      "all entries deleted",
      "DELETE FROM ledger_entries WHERE account_id = $1",
      ["sequence account", "balance account"],
    ],
    [
      "another balance of the account",
      "UPDATE ledger_accounts SET balance = balance + 5 WHERE id = $1",
      ["balance account", "balance account"],
    ],
    [
      "another state of the account",
      `UPDATE ledger_accounts SET state = '{"grants":[],"debt":0}' WHERE id = $1`,
      ["balance account"],
    ],
    [
      "an account that was given to another tenant",
      "UPDATE ledger_accounts SET subject = 'tenant:eve' WHERE id = $1",
      ["account account"],
    ],
    [
      "an unknown kind",
      `UPDATE ledger_entries SET kind = 'gift' WHERE ${entry(2)}`,
      ["kind 2", "chain 3"],
    ],
    [
      "a hold that was deleted",
      "DELETE FROM ledger_holds WHERE account_id = $1 AND sequence = 5",
      ["hold 5"],
    ],
    [
      "a hold of other units",
      "UPDATE ledger_holds SET amount = 1 WHERE account_id = $1 AND sequence = 5",
      ["hold 5"],
    ],
    [
      "a hold for what is not open",
      "UPDATE ledger_holds SET sequence = 3 WHERE account_id = $1 AND sequence = 5",
      ["hold 3", "hold 5"],
    ],
  ];

  it.each(broken)("finds %s, and says where", async (_, sql, found) => {
    const account = new AccountBuilder();
    account.use(10).use(20);
    account.settle("commit", account.reserve(30), { units: 30, kept: 25 });
    account.append("use", 0).append("use", 0);
    const open = new AccountBuilder({ subject: "tenant:open" }).use(1).use(1).use(1);
    open.reserve(4);
    const database = await writeAll([account, open, new AccountBuilder({ subject: "tenant:x" })]);
    await database.query(sql, [sql.includes("ledger_holds") ? open.id : account.id]);
    expect(await verify(database)).toEqual(found);
  });

  const wrong: readonly (readonly [string, (account: AccountBuilder) => void, string[]])[] = [
    ["a use past the quota", (account) => account.use(1_001), ["quota 2"]],
    ["a reservation past the quota", (account) => account.reserve(1_001), ["quota 2"]],
    ["a lease past the quota", (account) => account.lease(1_001), ["quota 2"]],
    [
      "a use that adds units",
      (account) => account.append("use", 0).append("use", 5).adjust(-5),
      ["amount 3", "balance account"],
    ],
    [
      "more returned than was held",
      (account) => account.settle("cancel", account.reserve(5), { units: 6 }),
      ["amount 3", "balance account"],
    ],
    [
      "a reservation that is settled twice",
      (account) => {
        const sequence = account.reserve(5);
        account.settle("commit", sequence, { units: 5, kept: 5 });
        account.append("commit", 0, { key: "again" }, sequence);
      },
      ["settlement 4", "settlement 4"],
    ],
    [
      "a settlement of what can't be settled",
      (account) => account.append("commit", 0, { key: "settle:1" }, 1),
      ["settlement 2"],
    ],
    [
      "a refund of what is not a use",
      (account) => account.adjust(0).append("cancel", 0, { key: "settle:2" }, 2),
      ["settlement 3"],
    ],
    [
      "a refund above the use",
      (account) => account.use(5).settle("cancel", 2, { units: 6 }),
      ["balance account", "amount 3"],
    ],
    ["a commit of nothing", (account) => account.append("commit", 0), ["settlement 2"]],
  ];

  it.each(wrong)("finds %s, though all hashes are right", async (_, make, found) => {
    const account = new AccountBuilder();
    make(account);
    expect(await verify(await writeAll([account]))).toEqual(found);
  });

  it("finds nothing wrong with entries that were there before migrations", async () => {
    const database = databases.open(await databases.create());
    await migrate(
      database,
      migrations.filter(({ number }) => number <= 4),
    );
    const accounts = wholeAccounts();
    for (const account of accounts) await account.write(database);
    await migrate(database);
    const entries = accounts.reduce((sum, { sequence }) => sum + sequence, 0);
    expect(await verifyLedger(database)).toMatchObject({ entries, problems: [] });
    const unique = await database.hasUniqueIndex("ledger_entries", [
      "idempotency_key",
      "account_id",
    ]);
    expect(unique).toBe(true);
    expect(await database.hasUniqueIndex("ledger_entries", ["at_ms"])).toBe(false);
  });

  it("finds duplicates of an idempotency key where the index that forbids them is gone", async () => {
    const account = new AccountBuilder().use(1, { key: "a" }).use(1, { key: "b" });
    account.use(1, { key: "a" });
    const database = await databases.ready();
    await withoutUniqueKeys(database);
    await account.write(database);
    expect(await verify(database)).toEqual(["duplicate 4"]);
  });

  it("finds entries of an account that is not there", async () => {
    const account = new AccountBuilder().use(1);
    const database = await databases.ready();
    await withoutUniqueKeys(database);
    await account.write(database);
    await database.query("DELETE FROM ledger_accounts");
    expect(await verify(database)).toEqual(["account account"]);
  });

  it("counts all problems and lists the first", async () => {
    const account = new AccountBuilder();
    for (let n = 0; n < 30; n++) account.append("use", 1);
    account.adjust(-30);
    const database = await writeAll([account]);
    const report = await verifyLedger(database, { listedMax: 5 });
    expect(report.problems).toHaveLength(5);
    expect(report.problemCount).toBeGreaterThanOrEqual(30);
    expect(report.problems[0]).toMatchObject({ meter: "exports", subject: "tenant:acme" });
  });
});

/** The same tables without what they forbid. */
async function withoutUniqueKeys(database: Database): Promise<void> {
  const columns = "account_id, sequence, kind, amount, balance, idempotency_key, settles, actor";
  await database.transaction((tx) =>
    tx.execute(`
      CREATE TABLE bare AS SELECT ${columns}, at_ms, details, previous_hash FROM ledger_entries;
      DROP TABLE ledger_entries;
      ALTER TABLE bare RENAME TO ledger_entries;
    `),
  );
}
