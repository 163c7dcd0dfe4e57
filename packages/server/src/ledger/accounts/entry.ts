// Entries of the ledger: what happened to an account, in order, never changed. Each has the hash of the entry before
// it in its account, so that an entry that is altered, deleted or inserted later is detected.

import { hash } from "node:crypto";
import type { Row } from "../../database/database.js";

/**
 * What an entry says:
 *
 * - `grant`: units to use, by the plan when the period opens, by a top-up, or carried over from the period before
 * - `use`: a charge that is final
 * - `reserve`: a charge that is held; then `commit` (what it really cost), `cancel`, or `expire` if it is never settled
 * - `lease`: units that a process spends by itself; then `return` (what it did not spend)
 * - `expire` also ends what is left of a grant
 * - `adjust`: an operator's correction, or another quota in mid-period
 */
export const ENTRY_KINDS = [
  "grant",
  "use",
  "reserve",
  "commit",
  "cancel",
  "expire",
  "lease",
  "return",
  "adjust",
] as const;

/** What an entry says. */
export type EntryKind = (typeof ENTRY_KINDS)[number];

const KINDS: ReadonlySet<string> = new Set(ENTRY_KINDS);

/** Whether a word is a kind of entry. */
export function isEntryKind(word: string): word is EntryKind {
  return KINDS.has(word);
}

/** How many units were drawn from each grant, by the sequence number of its entry. */
export type Draws = readonly (readonly [grant: number, units: number])[];

/** What else there is to say of an entry, as JSON. */
export interface EntryDetails {
  /** What a use, reserve or lease was drawn from. Absent: all from the quota of the period. */
  readonly draws?: Draws;
  /** When a grant, a reservation or a lease expires. */
  readonly expiresAtMs?: number;
  /** Why an operator made it. */
  readonly reason?: string;
  /** The start of the period from which a grant was carried over. */
  readonly carriedFromMs?: number;
  /** The quota of the period from this entry on. */
  readonly quota?: number;
  /** The units that a commit or return keeps charged. */
  readonly kept?: number;
  /** The units that an operator asked to refund: the entry has those that were in use. */
  readonly asked?: number;
}

/** An entry of an account. */
export interface LedgerEntry {
  readonly accountId: string;
  /** 1 for the first of its account. */
  readonly sequence: number;
  readonly kind: EntryKind;
  /** What it adds to the balance. */
  readonly amount: number;
  /** The balance after it. */
  readonly balance: number;
  readonly idempotencyKey: string;
  /** The sequence number of the entry that it settles. */
  readonly settles: number | undefined;
  /** The node or the operator. */
  readonly actor: string;
  readonly atMs: number;
  readonly details: EntryDetails | undefined;
  readonly previousHash: string;
}

/** An entry as the database keeps it. */
export interface EntryRow extends Row {
  readonly account_id: string;
  readonly sequence: number;
  readonly kind: string;
  readonly amount: number;
  readonly balance: number;
  readonly idempotency_key: string;
  readonly settles: number | null;
  readonly actor: string;
  readonly at_ms: number;
  readonly details: string | null;
  readonly previous_hash: string;
}

/** The columns of an entry, in the order in which they are hashed. */
export type EntryValues = readonly [
  accountId: string,
  sequence: number,
  kind: string,
  amount: number,
  balance: number,
  idempotencyKey: string,
  settles: number | null,
  actor: string,
  atMs: number,
  details: string | null,
  previousHash: string,
];

/** The hash of an entry, which the next one of its account carries. */
export function hashOfValues(values: EntryValues): string {
  return hashOfText(JSON.stringify(values));
}

/** The hash of an entry whose values are written as JSON already, as `JSON.stringify` does it. */
export function hashOfText(text: string): string {
  return hash("sha256", text, "base64url");
}

/** The hash of an entry as the database keeps it. */
export function hashOfRow(row: EntryRow): string {
  return hashOfValues([
    row.account_id,
    row.sequence,
    row.kind,
    row.amount,
    row.balance,
    row.idempotency_key,
    row.settles,
    row.actor,
    row.at_ms,
    row.details,
    row.previous_hash,
  ]);
}

/** An entry as the database keeps it. */
export function toRow(entry: LedgerEntry): EntryRow {
  return {
    account_id: entry.accountId,
    sequence: entry.sequence,
    kind: entry.kind,
    amount: entry.amount,
    balance: entry.balance,
    idempotency_key: entry.idempotencyKey,
    settles: entry.settles ?? null,
    actor: entry.actor,
    at_ms: entry.atMs,
    details: entry.details === undefined ? null : JSON.stringify(entry.details),
    previous_hash: entry.previousHash,
  };
}

/** The entry of a row. */
export function toEntry(row: EntryRow): LedgerEntry {
  return {
    accountId: row.account_id,
    sequence: row.sequence,
    kind: row.kind as EntryKind,
    amount: row.amount,
    balance: row.balance,
    idempotencyKey: row.idempotency_key,
    settles: row.settles ?? undefined,
    actor: row.actor,
    atMs: row.at_ms,
    details: row.details === null ? undefined : (JSON.parse(row.details) as EntryDetails),
    previousHash: row.previous_hash,
  };
}
