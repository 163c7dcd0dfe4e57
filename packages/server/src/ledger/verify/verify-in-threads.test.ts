// Over the built package: threads are started from files.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { AccountBuilder } from "../../../test/ledger/ledger-builder.js";
import type { Database } from "../../database/database.js";
import { migrate } from "../../database/migrate.js";
import type { LedgerReport } from "./report.js";
import type * as threads from "./verify-in-threads.js";
import { verifyLedger } from "./verify-ledger.js";

const BUILT = fileURLToPath(
  new URL("../../../dist/ledger/verify/verify-in-threads.js", import.meta.url),
);
/** More than three threads take at a time. */
const ACCOUNTS = 350;

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

async function writeAccounts(database: Database): Promise<string[]> {
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => {
    const account = new AccountBuilder({ subject: `tenant:${index}` });
    account.use(1).settle("commit", account.reserve(20), { units: 20, kept: 5 });
    return account;
  });
  for (const account of accounts) await account.write(database);
  return accounts.map(({ id }) => id).sort();
}

describe.each(all)("verifyInThreads on $name", (databases) => {
  let verifyInThreads: typeof threads.verifyInThreads;
  let url: string;
  let database: Database;
  let ids: string[];

  beforeAll(async () => {
    if (!existsSync(BUILT)) throw new Error(`${BUILT} is missing: run npm run build`);
    ({ verifyInThreads } = (await import(BUILT)) as typeof threads);
    url = await databases.create();
    database = databases.open(url);
    await migrate(database);
    ids = await writeAccounts(database);
  }, 60_000);

  const reports = async (): Promise<LedgerReport[]> => [
    await verifyLedger(database),
    await verifyInThreads(url, { threads: 1 }),
    await verifyInThreads(url, { threads: 3 }),
  ];
  const sorted = ({ problems, ...counts }: LedgerReport) => ({
    ...counts,
    problems: problems.map((problem) => JSON.stringify(problem)).sort(),
  });

  it("finds what one thread finds in a whole ledger: nothing, in as many entries", async () => {
    const [alone, ...threaded] = await reports();
    expect(alone).toMatchObject({ accounts: ACCOUNTS, entries: 4 * ACCOUNTS, problemCount: 0 });
    for (const report of threaded) expect(report).toEqual(alone);
  });

  it("finds damage in the share of any thread: chains, balances, holds and strays", async () => {
    // The first and the last account, and those on both sides of where a share ends.
    const at = [0, 98, 99, 100, 101, 199, 200, 299, 300, ACCOUNTS - 1];
    const places = at.map((index) => ids[index] as string);
    for (const [i, id] of places.entries()) {
      const damage = [
        "UPDATE ledger_entries SET amount = amount - 1 WHERE account_id = $1 AND sequence = 2",
        "UPDATE ledger_accounts SET balance = balance + 1 WHERE id = $1",
        "DELETE FROM ledger_entries WHERE account_id = $1 AND sequence = 4",
        "INSERT INTO ledger_holds VALUES ($1, 2, 'reserve', 5, 'node-1', 0)",
      ];
      await database.query(damage[i % damage.length] as string, [id]);
    }
    // An entry of an account that is not there, after all others.
    await database.query(
      "INSERT INTO ledger_entries SELECT 'zzzzzzzzzzzzzzzzzzzzzz', sequence, kind, amount, balance, idempotency_key, settles, actor, at_ms, details, previous_hash FROM ledger_entries WHERE account_id = $1 AND sequence = 1",
      [ids[1] as string],
    );
    const [alone, ...threaded] = await reports();
    const damaged = new Set(alone?.problems.map(({ accountId }) => accountId));
    expect([...damaged].sort()).toEqual([...places, "zzzzzzzzzzzzzzzzzzzzzz"].sort());
    for (const report of threaded) expect(sorted(report)).toEqual(sorted(alone as LedgerReport));
  });
});
