// Operations that are decided together, in the order in which they came; each finds the accounts as the one before
// left them. A batch knows what is to be written; how it is written depends on how the accounts were read.

import type { SqlValue } from "../../database/database.js";
import type { Account, Writer } from "../accounts/account.js";
import type { AccountSpec } from "../accounts/account-spec.js";
import type { EntryRow } from "../accounts/entry.js";
import type { BatchAccounts, EntryName, FindEntry, NewHold, Operation } from "./operation.js";
import { accountIdsOf } from "./operation.js";
import { toEvents } from "./quota-events.js";

/** An operation that waits for its answer. */
export interface PendingOperation<T = unknown> {
  readonly operation: Operation<T>;
  resolve(result: T): void;
  reject(error: unknown): void;
}

/** What came of an operation: to be reported once it is committed. */
export type ReportResult = () => void;

/** What a batch leaves to be written, as rows of the tables. */
export interface BatchChanges {
  /** Those with new entries. */
  readonly accounts: readonly Account[];
  readonly entries: readonly EntryRow[];
  readonly events: readonly (readonly SqlValue[])[];
  readonly holds: readonly (readonly SqlValue[])[];
  readonly unheld: readonly (readonly [accountId: string, sequence: number])[];
}

/** Operations, and the accounts that they work on. */
export class CommitBatch implements BatchAccounts {
  readonly writer: Writer;
  /** The accounts that the operations need, in the order in which rows are locked. */
  readonly ids: readonly string[];
  readonly #pending: readonly PendingOperation[];
  readonly #specs = new Map<string, AccountSpec>();
  readonly #accounts = new Map<string, Account>();
  readonly #blocks = new Map<string, number>();
  readonly #asked = new Set<string>();
  readonly #found = new Map<string, EntryRow>();
  readonly #holds = new Map<string, NewHold>();
  readonly #unheld = new Map<string, readonly [accountId: string, sequence: number]>();

  constructor(pending: readonly PendingOperation[], writer: Writer) {
    this.#pending = pending;
    this.writer = writer;
    const ids = new Set<string>();
    for (const { operation } of pending) {
      for (const spec of operation.specs) this.#specs.set(spec.id, spec);
      for (const id of accountIdsOf(operation)) ids.add(id);
    }
    this.ids = [...ids].sort();
  }

  /** What it takes to open each account that is not named by its id only. */
  get specs(): Iterable<AccountSpec> {
    return this.#specs.values();
  }

  /** The accounts that were added. */
  get accounts(): Iterable<Account> {
    return this.#accounts.values();
  }

  /** Adds an account, before operations are applied. */
  add(account: Account, blockedUntilMs = 0): void {
    this.#accounts.set(account.id, account);
    if (blockedUntilMs > 0) this.#blocks.set(account.id, blockedUntilMs);
  }

  has(id: string): boolean {
    return this.#accounts.has(id);
  }

  account(id: string): Account {
    const account = this.#accounts.get(id);
    if (account === undefined) throw new Error(`account ${id} was not read`);
    return account;
  }

  blockedUntilMs(id: string): number {
    return this.#blocks.get(id) ?? 0;
  }

  readonly find: FindEntry = ({ accountId, idempotencyKey }) => {
    const found = this.#found.get(`${accountId} ${idempotencyKey}`);
    return found ?? this.#accounts.get(accountId)?.findAppended(idempotencyKey);
  };

  hold(hold: NewHold): void {
    this.#holds.set(`${hold.accountId} ${hold.sequence}`, hold);
  }

  unhold(accountId: string, sequence: number): void {
    const name = `${accountId} ${sequence}`;
    if (!this.#holds.delete(name)) this.#unheld.set(name, [accountId, sequence]);
  }

  /** Entries that operations have to know of and that were not named before: what is found may lead to others. */
  nextLookups(isRepeated: boolean): readonly EntryName[] {
    return this.#pending
      .flatMap(({ operation }) => operation.lookups(this.find, isRepeated))
      .filter(({ accountId, idempotencyKey }) => isNew(this.#asked, accountId, idempotencyKey));
  }

  /** Notes entries that were looked for and are there. */
  note(rows: readonly EntryRow[]): void {
    for (const row of rows) this.#found.set(`${row.account_id} ${row.idempotency_key}`, row);
  }

  /** Lets the operations decide. Returns what to report once that is committed. */
  apply(): ReportResult[] {
    return this.#pending.map(({ operation, resolve, reject }) => {
      try {
        const result = operation.apply(this);
        return () => resolve(result);
      } catch (error) {
        return () => reject(error);
      }
    });
  }

  /** What the operations left to be written. To be asked for once. */
  takeChanges(): BatchChanges {
    const accounts = [...this.#accounts.values()].filter(({ isChanged }) => isChanged);
    const { actor } = this.writer;
    return {
      accounts,
      entries: accounts.flatMap(({ appended }) => appended),
      events: accounts.flatMap((account) => toEvents(account, this.#specs.get(account.id))),
      holds: [...this.#holds.values()].map(({ accountId, sequence, kind, amount, expiresAtMs }) => [
        accountId,
        sequence,
        kind,
        amount,
        actor,
        expiresAtMs,
      ]),
      unheld: [...this.#unheld.values()],
    };
  }
}

function isNew(asked: Set<string>, accountId: string, idempotencyKey: string): boolean {
  return asked.size < asked.add(`${accountId} ${idempotencyKey}`).size;
}
