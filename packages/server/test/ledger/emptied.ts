// A database for tests of the ledger that is emptied instead of made again, which takes a second on PostgreSQL.

import type { Database } from "../../src/database/database.js";
import type { TestDatabases } from "../control/databases.js";

const TABLES = [
  "ledger_events",
  "ledger_holds",
  "ledger_entries",
  "ledger_accounts",
  "ledger_blocks",
];

/** Removes all accounts, and what belongs to them. */
export async function emptyLedger(database: Database): Promise<void> {
  for (const table of TABLES) await database.query(`DELETE FROM ${table}`);
}

/** Returns the same database each time, without accounts. Not for tests that run at the same time. */
export function emptiedDatabase(databases: TestDatabases): () => Promise<Database> {
  let made: Promise<Database> | undefined;
  return async () => {
    made ??= databases.ready();
    const database = await made;
    await emptyLedger(database);
    return database;
  };
}
