// One operation of a writer of the ledger: which accounts it needs, which entries it has to know, and what it
// appends. Several operations share a transaction; each sees the results of those before it.

import type { Account, Writer } from "../accounts/account.js";
import type { AccountSpec } from "../accounts/account-spec.js";
import type { EntryRow } from "../accounts/entry.js";

/** An entry that may have been written before. */
export interface EntryName {
  readonly accountId: string;
  readonly idempotencyKey: string;
}

/** A reservation or lease that is not settled yet. */
export interface NewHold {
  readonly kind: "reserve" | "lease";
  readonly accountId: string;
  readonly sequence: number;
  readonly amount: number;
  readonly expiresAtMs: number;
}

/** Finds an entry that was looked for, or that was written in this transaction. */
export type FindEntry = (name: EntryName) => EntryRow | undefined;

/** What the operations of a batch work on. */
export interface BatchAccounts {
  readonly writer: Writer;
  /** An account that the operation named. */
  account(id: string): Account;
  /** When the block of an account's subject ends: 0 without a block, Infinity if it lasts until it is lifted. */
  blockedUntilMs(id: string): number;
  readonly find: FindEntry;
  hold(hold: NewHold): void;
  unhold(accountId: string, sequence: number): void;
}

/** One operation. */
export interface Operation<T> {
  /** Accounts that it needs: made and opened if they are not there. */
  readonly specs: readonly AccountSpec[];
  /** Accounts that it needs, made if they are not there, and not opened: nothing is charged to them. */
  readonly unopened?: readonly AccountSpec[];
  /** Accounts that it needs and that are there, by id. */
  readonly ids?: readonly string[];
  /**
   * Entries that it has to know of. Asked again when those were looked for, until it names no others.
   *
   * @param find - What is known so far.
   * @param isRepeated - Whether the operation may have been committed before, by an attempt whose answer was lost.
   */
  lookups(find: FindEntry, isRepeated: boolean): readonly EntryName[];
  /**
   * Decides, and appends entries. May run several times, in transactions of which one is committed. What it throws
   * before it appended anything concerns this operation alone.
   */
  apply(accounts: BatchAccounts): T;
}

/** The accounts that an operation needs, some perhaps twice. */
export function accountIdsOf({
  specs,
  unopened = NONE,
  ids = NONE,
}: Operation<unknown>): readonly string[] {
  if (specs.length + unopened.length === 0) return ids;
  if (unopened.length + ids.length === 0) return specs.map(toId);
  return [...specs.map(toId), ...unopened.map(toId), ...ids];
}

const NONE: readonly never[] = [];
const toId = ({ id }: AccountSpec) => id;
