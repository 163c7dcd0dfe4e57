// A batch in one transaction under locks: it locks the accounts in the order of their ids, opens those of a new period,
// lets the operations decide, and writes what they appended.

import type { Transaction } from "../../database/database.js";
import { runOverRows } from "../../database/row-lists.js";
import { Account } from "../accounts/account.js";
import { blockEndMs, emptyRow, type ReadAccountRow } from "../accounts/account-row.js";
import type { AccountSpec } from "../accounts/account-spec.js";
import type { EntryRow } from "../accounts/entry.js";
import { catchUp, openAccount } from "../accounts/periods.js";
import { statements } from "../sql/statements.js";
import type { CommitBatch, ReportResult } from "./batch.js";

/** A request that was cancelled again and again under one id is looked up this many times. */
const LOOKUP_ROUNDS_MAX = 12;

/**
 * Runs a batch in a transaction, and returns what to report after its commit.
 *
 * @param isRepeated - Whether an earlier attempt may have been committed.
 */
export async function runLocked(
  tx: Transaction,
  batch: CommitBatch,
  isRepeated: boolean,
): Promise<ReportResult[]> {
  await lock(tx, batch, batch.ids);
  for (const spec of batch.specs) await bringUp(tx, batch, spec);
  await lookUp(tx, batch, isRepeated);
  const reports = batch.apply();
  await write(tx, batch);
  return reports;
}

/** Makes accounts that are not there, without entries. */
export async function makeAccounts(
  run: Transaction["query"],
  specs: readonly AccountSpec[],
): Promise<void> {
  const rows = specs.map((spec) => Object.values(emptyRow(spec)));
  await runOverRows(run, statements.makeAccounts, rows);
}

async function lock(tx: Transaction, batch: CommitBatch, ids: readonly string[]): Promise<void> {
  const rows = ids.map((id) => [id]);
  const run = tx.lock.bind(tx);
  for (const row of await runOverRows<ReadAccountRow>(run, statements.readAccounts, rows)) {
    batch.add(new Account(row), blockEndMs(row));
  }
}

/** Opens an account of a new period, with what is carried over, or applies what time and rules have changed. */
async function bringUp(tx: Transaction, batch: CommitBatch, spec: AccountSpec): Promise<void> {
  const account = batch.account(spec.id);
  if (account.isOpen) catchUp(account, spec, batch.writer);
  else openAccount(account, spec, await previousOf(tx, batch, spec), batch.writer);
}

async function previousOf(
  tx: Transaction,
  batch: CommitBatch,
  { name }: AccountSpec,
): Promise<Account | undefined> {
  const { subject, meter, part, startsAtMs } = name;
  const values = [subject, meter, part, startsAtMs];
  const [row] = await tx.query<{ id: string }>(statements.previousAccount, values);
  if (row === undefined) return undefined;
  // Out of order, which may deadlock with another period's first writer: then one of the two is tried again.
  if (!batch.has(row.id)) await lock(tx, batch, [row.id]);
  const previous = batch.account(row.id);
  return previous.isOpen ? previous : undefined;
}

async function lookUp(tx: Transaction, batch: CommitBatch, isRepeated: boolean): Promise<void> {
  for (let round = 0; round < LOOKUP_ROUNDS_MAX; round++) {
    const names = batch.nextLookups(isRepeated);
    if (names.length === 0) return;
    const rows = names.map(({ accountId, idempotencyKey }) => [accountId, idempotencyKey]);
    batch.note(await runOverRows<EntryRow>(tx.query, statements.findEntries, rows));
  }
}

async function write({ query }: Transaction, batch: CommitBatch): Promise<void> {
  const { accounts, entries, events, holds, unheld } = batch.takeChanges();
  if (accounts.length === 0) return;
  const entryRows = entries.map((row) => Object.values(row));
  await runOverRows(query, statements.appendEntries, entryRows);
  await runOverRows(query, statements.addEvents, events);
  const accountRows = accounts.map((account) => Object.values(account.toRow()));
  await runOverRows(query, statements.writeAccounts, accountRows);
  await runOverRows(query, statements.addHolds, holds);
  await runOverRows(query, statements.removeHolds, unheld);
}
