// Writes what was decided on accounts as they were last seen, all of it or, if one of them has changed since, nothing.
// PostgreSQL does it in one statement, which takes as long as a bare INSERT; SQLite in one transaction, row by row,
// because it has no writing parts of statements and no way to the database to save.

import { toArray } from "../../database/arrays.js";
import type { Database, Row, SqlValue, Transaction } from "../../database/database.js";
import { runEachRow, runOverRows } from "../../database/row-lists.js";
import type { Account } from "../accounts/account.js";
import { statements } from "../sql/statements.js";
import type { Changes } from "./batch.js";
import type { EntryName } from "./operation.js";

/** What is to be written, and under which conditions. */
export interface UnchangedWrite {
  /** All accounts that it was decided on, in the order of their ids. */
  readonly accounts: readonly Account[];
  readonly changes: Changes;
  /** Entries that must not be there. */
  readonly absent: readonly EntryName[];
  /** Blocks that end later must not be there. */
  readonly atMs: number;
}

/** Returns undefined if it was written; otherwise the accounts that others have changed, as far as they are known. */
export function writeUnchanged(
  database: Database,
  write: UnchangedWrite,
): Promise<readonly string[] | undefined> {
  return database.dialect === "postgres"
    ? inOneStatement(database, write)
    : inTurn(database, write);
}

interface Outcome extends Row {
  readonly is_written: number;
  readonly changed: string | null;
}

async function inOneStatement(
  database: Database,
  { accounts, changes, absent, atMs }: UnchangedWrite,
): Promise<readonly string[] | undefined> {
  const names = absent.map(({ accountId, idempotencyKey }) => [accountId, idempotencyKey]);
  const seen = [...toColumns(accounts.map(toAccountValues), 8), atMs];
  const entries = toColumns(
    changes.entries.map((row) => Object.values(row)),
    11,
  );
  const isPlain = names.length + changes.holds.length + changes.unheld.length === 0;
  const [outcome] = isPlain
    ? await database.queryPrepared<Outcome>(statements.writeUnchanged, [...seen, ...entries])
    : await database.queryPrepared<Outcome>(statements.writeUnchangedWithHolds, [
        ...seen,
        ...toColumns(names, 2),
        ...entries,
        ...toColumns(changes.holds, 6),
        ...toColumns(changes.unheld, 2),
      ]);
  if (outcome?.is_written === 1) return undefined;
  return outcome?.changed?.split(" ") ?? [];
}

/** One array for each column. */
function toColumns(rows: readonly (readonly SqlValue[])[], columns: number): string[] {
  return Array.from({ length: columns }, (_, column) => toArray(rows, column));
}

function toAccountValues(account: Account): SqlValue[] {
  const { stored } = account;
  const { quota, balance, state, sequence, hash } = account.toRow();
  return [account.id, stored.sequence, stored.hash, quota, balance, state, sequence, hash];
}

/** Ends a transaction whose accounts have changed. */
class ChangedError extends Error {
  readonly ids: readonly string[];

  constructor(ids: readonly string[]) {
    super("accounts have changed");
    this.ids = ids;
  }
}

async function inTurn(
  database: Database,
  write: UnchangedWrite,
): Promise<readonly string[] | undefined> {
  try {
    await database.transaction((tx) => writeRows(tx, write));
    return undefined;
  } catch (error) {
    if (error instanceof ChangedError) return error.ids;
    throw error;
  }
}

async function writeRows(
  { query }: Transaction,
  { accounts, changes, absent, atMs }: UnchangedWrite,
): Promise<void> {
  for (const account of accounts) {
    const sql = account.isChanged ? statements.updateUnchanged : statements.findUnchanged;
    const values = toAccountValues(account);
    const same = await query(
      sql,
      account.isChanged ? [...values, atMs] : [...values.slice(0, 3), atMs],
    );
    if (same.length === 0) throw new ChangedError([account.id]);
  }
  const names = absent.map(({ accountId, idempotencyKey }) => [accountId, idempotencyKey]);
  const found = await runOverRows(query, statements.findEntries, names);
  if (found.length > 0) throw new ChangedError([]);
  await runEachRow(
    query,
    statements.appendEntries,
    changes.entries.map((row) => Object.values(row)),
  );
  await runEachRow(query, statements.addHolds, changes.holds);
  await runEachRow(query, statements.removeHolds, changes.unheld);
}
