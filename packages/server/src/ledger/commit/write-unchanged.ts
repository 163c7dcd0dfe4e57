// Writes what was decided on accounts as they were last seen, all of it or, if one of them has changed since, nothing.
// PostgreSQL does it in one statement, which takes as long as a bare INSERT; SQLite, which has no writing parts of
// statements, in a group of them, each over all rows.

import { toArray } from "../../database/arrays.js";
import type { Database, GroupStatement, Row, SqlValue } from "../../database/database.js";
import { splitRows } from "../../database/row-lists.js";
import type { Account, Writer } from "../accounts/account.js";
import type { EntryRow } from "../accounts/entry.js";
import { statements } from "../sql/statements.js";
import type { BatchChanges } from "./batch.js";
import type { EntryName } from "./operation.js";

/** So few are written where they were decided: handing them to a thread would take longer. */
const FEW_ACCOUNTS = 16;

/** What is to be written, and under which conditions. */
export interface UnchangedWrite {
  /** All accounts that it was decided on, in the order of their ids. */
  readonly accounts: readonly Account[];
  readonly changes: BatchChanges;
  /** Entries that must not be there. */
  readonly absent: readonly EntryName[];
  /** Who decided, and when: blocks that end later must not be there. */
  readonly writer: Writer;
}

/** Returns undefined if it was written; otherwise the accounts that others have changed, as far as they are known. */
export function writeUnchanged(
  database: Database,
  write: UnchangedWrite,
): Promise<readonly string[] | undefined> {
  return database.runGroup === undefined
    ? inOneStatement(database, write)
    : inGroup(database as Required<Database>, write);
}

interface Outcome extends Row {
  readonly is_written: number;
  readonly changed: string | null;
}

async function inOneStatement(
  database: Database,
  { accounts, changes, absent, writer }: UnchangedWrite,
): Promise<readonly string[] | undefined> {
  const names = toNames(absent);
  const seen = [...toColumns(accounts.map(toAccountValues), 8), writer.atMs];
  const entries = toColumns(
    changes.entries.map((row) => Object.values(row)),
    11,
  );
  const hasOnlyEntries = names.length + changes.holds.length + changes.unheld.length === 0;
  const [outcome] = hasOnlyEntries
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

function toNames(entries: readonly EntryName[]): SqlValue[][] {
  return entries.map(({ accountId, idempotencyKey }) => [accountId, idempotencyKey]);
}

async function inGroup(
  database: Required<Database>,
  write: UnchangedWrite,
): Promise<readonly string[] | undefined> {
  const { accounts, writer } = write;
  const isLarge = accounts.length > FEW_ACCOUNTS;
  if (await database.runGroup(toGroup(write), isLarge)) return undefined;
  const seen = JSON.stringify(accounts.map(toAccountValues));
  const changed = await database.query<{ id: string }>(statements.listChanged, [seen, writer.atMs]);
  return changed.map(({ id }) => id);
}

/**
 * What every request writes is bound value by value: reading it out of JSON took SQLite as long as writing it. Lists of
 * other rows are JSON: a statement has the same text however many there are, and takes one value for all of them.
 */
function toGroup({ accounts, changes, absent, writer }: UnchangedWrite): GroupStatement[] {
  const { actor, atMs } = writer;
  const group: GroupStatement[] = [];
  const add = (
    sql: string,
    rows: readonly (readonly SqlValue[])[],
    { values = [], mustBe }: { values?: readonly SqlValue[]; mustBe?: number } = {},
  ) => {
    if (rows.length === 0) return;
    const count = mustBe === undefined ? {} : { rows: mustBe };
    group.push({ sql, values: [JSON.stringify(rows), ...values], ...count });
  };
  const changed = changes.accounts.map(toAccountValues);
  for (const { sql, values, count } of splitRows(statements.updateUnchanged, changed, [atMs]))
    group.push({ sql, values, rows: count });
  const others = accounts.filter(({ isChanged }) => !isChanged).map(toAccountValues);
  add(statements.listUnchanged, others, { values: [atMs], mustBe: others.length });
  add(statements.listPresent, toNames(absent), { mustBe: 0 });
  const [plain, rest] = divide(changes.entries, writer);
  const uses = plain.map(toPlainValues);
  for (const { sql, values } of splitRows(statements.appendPlainEntries, uses, [actor, atMs]))
    group.push({ sql, values });
  add(
    statements.appendEntryList,
    rest.map((row) => Object.values(row)),
  );
  add(statements.addHoldList, changes.holds);
  add(statements.removeHoldList, changes.unheld);
  return group;
}

/** Entries that differ in a few columns only, as most do, and the rest. */
function divide(
  entries: readonly EntryRow[],
  { actor, atMs }: Writer,
): [plain: EntryRow[], rest: EntryRow[]] {
  const plain: EntryRow[] = [];
  const rest: EntryRow[] = [];
  for (const row of entries) {
    const isOfWriter = row.actor === actor && row.at_ms === atMs;
    const isPlain = isOfWriter && row.settles === null && row.details === null;
    (isPlain ? plain : rest).push(row);
  }
  return [plain, rest];
}

function toPlainValues(row: EntryRow): SqlValue[] {
  const { account_id, sequence, kind, amount, balance, idempotency_key, previous_hash } = row;
  return [account_id, sequence, kind, amount, balance, idempotency_key, previous_hash];
}
