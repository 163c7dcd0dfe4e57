// Accounts as the next operation would find them, read without a lock: an account that is peeked at is opened, with
// what the previous period carries over, in memory only.

import type { Charge } from "sluice";
import type { Database } from "../database/database.js";
import { runOverRows } from "../database/row-lists.js";
import { Account } from "./accounts/account.js";
import { blockEndMs, emptyRow, type ReadAccountRow } from "./accounts/account-row.js";
import { type AccountSpec, toSpec } from "./accounts/account-spec.js";
import { openAccount } from "./accounts/periods.js";
import { statements } from "./sql/statements.js";

/** An account that was read. */
export interface AccountRead {
  readonly spec: AccountSpec;
  /** Open. What time and rules have changed since its last entry is the caller's to apply. */
  readonly account: Account;
  /** When the block of its subject ends: 0 without a block, Infinity if it lasts until it is lifted. */
  readonly blockedUntilMs: number;
}

/** Reads the accounts of charges, one for each. */
export async function readAccounts(
  database: Database,
  charges: readonly Charge[],
  nowMs: number,
): Promise<readonly AccountRead[]> {
  const specs = charges.map((charge) => toSpec(charge, nowMs));
  const rows = await readRows(
    database,
    specs.map(({ id }) => id),
  );
  const reads = specs.map(async (spec) => {
    const row = rows.get(spec.id);
    const account = new Account(row ?? emptyRow(spec));
    if (!account.isOpen) {
      const writer = { actor: "", atMs: nowMs };
      openAccount(account, spec, await readPrevious(database, spec), writer);
    }
    const blockedUntilMs = row === undefined ? await readBlock(database, spec) : blockEndMs(row);
    return { spec, account, blockedUntilMs };
  });
  return Promise.all(reads);
}

async function readRows(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReadAccountRow>> {
  const query = database.query.bind(database);
  const names = [...new Set(ids)].map((id) => [id]);
  const rows = await runOverRows<ReadAccountRow>(query, statements.readAccounts, names);
  return new Map(rows.map((row) => [row.id, row]));
}

/** The account from which the period takes over. */
async function readPrevious(
  database: Database,
  { name }: AccountSpec,
): Promise<Account | undefined> {
  const values = [name.subject, name.meter, name.part, name.startsAtMs];
  const [found] = await database.query<{ id: string }>(statements.previousAccount, values);
  if (found === undefined) return undefined;
  const row = (await readRows(database, [found.id])).get(found.id);
  return row && new Account(row);
}

/** The block of a subject whose account is not there yet. */
async function readBlock(database: Database, { name }: AccountSpec): Promise<number> {
  const values = [name.meter, name.subject];
  const [block] = await database.query<{ until_ms: number | null }>(statements.findBlock, values);
  return block === undefined ? 0 : (block.until_ms ?? Number.POSITIVE_INFINITY);
}
