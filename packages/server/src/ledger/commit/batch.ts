// One transaction of the ledger: locks the accounts of its operations in the order of their ids, opens those of a new
// period, lets the operations decide in turn, and writes what they appended.

import type { Transaction } from "../../database/database.js";
import { runOverRows } from "../../database/row-lists.js";
import { Account, type Writer } from "../accounts/account.js";
import { blockEndMs, emptyRow, type ReadAccountRow } from "../accounts/account-row.js";
import type { AccountSpec } from "../accounts/account-spec.js";
import type { EntryRow } from "../accounts/entry.js";
import { catchUp, openAccount } from "../accounts/periods.js";
import { statements } from "../sql/statements.js";
import type { EntryName, FindEntry, Hold, LockedAccounts, Operation } from "./operation.js";
import { toEvents } from "./quota-events.js";

/** An operation that waits for its answer. */
export interface Pending<T = unknown> {
  readonly operation: Operation<T>;
  resolve(result: T): void;
  reject(error: unknown): void;
}

/** What came of an operation: to be reported once the transaction is committed. */
export type Report = () => void;

/** A request that was cancelled again and again under one id is looked up so many times. */
const LOOKUP_ROUNDS_MAX = 12;

/** What a batch runs with. */
export interface BatchOptions {
  readonly writer: Writer;
  /** Whether an earlier attempt may have been committed. */
  readonly isRepeated: boolean;
}

/** Runs the operations in a transaction, and returns what to report after its commit. */
export async function runBatch(
  tx: Transaction,
  batch: readonly Pending[],
  options: BatchOptions,
): Promise<Report[]> {
  const locked = new LockedBatch(tx, options);
  await locked.load(batch.map(({ operation }) => operation));
  const reports = batch.map((pending) => applyOne(pending, locked));
  await locked.write();
  return reports;
}

function applyOne({ operation, resolve, reject }: Pending, locked: LockedBatch): Report {
  try {
    const result = operation.apply(locked);
    return () => resolve(result);
  } catch (error) {
    return () => reject(error);
  }
}

/** Makes accounts that are not there, without entries. */
export async function makeAccounts(
  run: Transaction["query"],
  specs: readonly AccountSpec[],
): Promise<void> {
  const rows = specs.map((spec) => Object.values(emptyRow(spec)));
  await runOverRows(run, statements.makeAccounts, rows);
}

class LockedBatch implements LockedAccounts {
  readonly writer: Writer;
  readonly #tx: Transaction;
  readonly #isRepeated: boolean;
  readonly #accounts = new Map<string, Account>();
  readonly #blocks = new Map<string, number>();
  readonly #specs = new Map<string, AccountSpec>();
  readonly #found = new Map<string, EntryRow>();
  readonly #holds = new Map<string, Hold>();
  readonly #unheld = new Map<string, [accountId: string, sequence: number]>();

  constructor(tx: Transaction, { writer, isRepeated }: BatchOptions) {
    this.#tx = tx;
    this.writer = writer;
    this.#isRepeated = isRepeated;
  }

  async load(operations: readonly Operation<unknown>[]): Promise<void> {
    const ids = new Set<string>();
    for (const { specs, ids: others = [] } of operations) {
      for (const spec of specs) this.#specs.set(spec.id, spec);
      for (const id of others) ids.add(id);
    }
    for (const id of this.#specs.keys()) ids.add(id);
    await this.#lock([...ids].sort());
    for (const spec of this.#specs.values()) await this.#bringUp(spec);
    await this.#lookUp(operations);
  }

  account(id: string): Account {
    const account = this.#accounts.get(id);
    if (account === undefined) throw new Error(`account ${id} is not locked`);
    return account;
  }

  blockedUntilMs(id: string): number {
    return this.#blocks.get(id) ?? 0;
  }

  readonly find: FindEntry = ({ accountId, idempotencyKey }) => {
    const found = this.#found.get(`${accountId} ${idempotencyKey}`);
    return found ?? this.#accounts.get(accountId)?.findAppended(idempotencyKey);
  };

  hold(hold: Hold): void {
    this.#holds.set(`${hold.accountId} ${hold.sequence}`, hold);
  }

  unhold(accountId: string, sequence: number): void {
    const name = `${accountId} ${sequence}`;
    if (!this.#holds.delete(name)) this.#unheld.set(name, [accountId, sequence]);
  }

  async write(): Promise<void> {
    const changed = [...this.#accounts.values()].filter(({ isChanged }) => isChanged);
    if (changed.length === 0) return;
    const { query } = this.#tx;
    const { actor } = this.writer;
    const entries = changed.flatMap(({ appended }) => appended).map((row) => Object.values(row));
    await runOverRows(query, statements.appendEntries, entries);
    const events = changed.flatMap((account) => toEvents(account, this.#specs.get(account.id)));
    await runOverRows(query, statements.addEvents, events);
    const rows = changed.map((account) => Object.values(account.toRow()));
    await runOverRows(query, statements.writeAccounts, rows);
    const holds = [...this.#holds.values()].map(
      ({ accountId, sequence, kind, amount, expiresAtMs }) =>
        [accountId, sequence, kind, amount, actor, expiresAtMs] as const,
    );
    await runOverRows(query, statements.addHolds, holds);
    await runOverRows(query, statements.removeHolds, [...this.#unheld.values()]);
  }

  async #lock(ids: readonly string[]): Promise<void> {
    const lock = this.#tx.lock.bind(this.#tx);
    const rows = ids.map((id) => [id]);
    for (const row of await runOverRows<ReadAccountRow>(lock, statements.readAccounts, rows)) {
      this.#accounts.set(row.id, new Account(row));
      this.#blocks.set(row.id, blockEndMs(row));
    }
  }

  /** Opens an account of a new period, with what is carried over, or applies what time and rules have changed. */
  async #bringUp(spec: AccountSpec): Promise<void> {
    const account = this.account(spec.id);
    if (!account.isOpen) openAccount(account, spec, await this.#previousOf(spec), this.writer);
    else catchUp(account, spec, this.writer);
  }

  async #previousOf({ name }: AccountSpec): Promise<Account | undefined> {
    const { subject, meter, part, startsAtMs } = name;
    const values = [subject, meter, part, startsAtMs];
    const [row] = await this.#tx.query<{ id: string }>(statements.previousAccount, values);
    if (row === undefined) return undefined;
    // Out of order, which may deadlock with another period's first writer: then one of the two is tried again.
    if (!this.#accounts.has(row.id)) await this.#lock([row.id]);
    const previous = this.#accounts.get(row.id);
    return previous?.isOpen ? previous : undefined;
  }

  /** Looks for entries until no operation names another; what one finds may lead to the next. */
  async #lookUp(operations: readonly Operation<unknown>[]): Promise<void> {
    const asked = new Set<string>();
    for (let round = 0; round < LOOKUP_ROUNDS_MAX; round++) {
      const names = operations
        .flatMap((operation) => operation.lookups(this.find, this.#isRepeated))
        .filter(({ accountId, idempotencyKey }) => isNew(asked, `${accountId} ${idempotencyKey}`));
      if (names.length === 0) return;
      await this.#find(names);
    }
  }

  async #find(names: readonly EntryName[]): Promise<void> {
    const { query } = this.#tx;
    const rows = names.map(({ accountId, idempotencyKey }) => [accountId, idempotencyKey]);
    for (const row of await runOverRows<EntryRow>(query, statements.findEntries, rows)) {
      this.#found.set(`${row.account_id} ${row.idempotency_key}`, row);
    }
  }
}

function isNew(asked: Set<string>, name: string): boolean {
  return asked.size < asked.add(name).size;
}
