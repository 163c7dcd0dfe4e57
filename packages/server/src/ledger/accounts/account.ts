// An account while a writer works on it: its balance, its grants, and the entries to be written. Nothing here waits
// or asks the database.

import type { AccountName } from "./account-id.js";
import type { AccountRow } from "./account-row.js";
import {
  type Draws,
  type EntryDetails,
  type EntryKind,
  type EntryRow,
  hashOfRow,
  type LedgerEntry,
  toRow,
} from "./entry.js";
import { type Grant, Grants } from "./grants.js";

/** What an entry says beside its account. */
export interface NewEntry {
  readonly kind: EntryKind;
  readonly amount: number;
  readonly idempotencyKey: string;
  readonly settles?: number;
  readonly details?: EntryDetails | undefined;
}

/** The author and the time of entries. */
export interface Writer {
  readonly actor: string;
  readonly atMs: number;
}

/** An account that one writer at a time works on. */
export class Account {
  readonly id: string;
  readonly name: AccountName;
  readonly endsAtMs: number;
  /** Entries to be written. */
  readonly appended: EntryRow[] = [];
  readonly #byKey = new Map<string, EntryRow>();
  readonly #grants: Grants;
  #quota: number;
  #balance: number;
  #sequence: number;
  #hash: string;
  #stored: Pick<AccountRow, "sequence" | "hash">;

  constructor(row: AccountRow) {
    const { meter, part, subject } = row;
    this.id = row.id;
    this.name = { meter, part, subject, startsAtMs: row.starts_at_ms };
    this.endsAtMs = row.ends_at_ms;
    this.#grants = new Grants(row.state);
    this.#quota = row.quota;
    this.#balance = row.balance;
    this.#sequence = row.sequence;
    this.#hash = row.hash;
    this.#stored = { sequence: row.sequence, hash: row.hash };
  }

  /** The last entry that the database has, as far as this writer knows. */
  get stored(): Pick<AccountRow, "sequence" | "hash"> {
    return this.#stored;
  }

  /** Notes that the database has all entries. */
  markStored(): void {
    this.#stored = { sequence: this.#sequence, hash: this.#hash };
    this.appended.length = 0;
    this.#byKey.clear();
  }

  /** Whether it has its first entry. */
  get isOpen(): boolean {
    return this.#sequence > 0;
  }

  /** An entry to be written, by its idempotency key. */
  findAppended(idempotencyKey: string): EntryRow | undefined {
    return this.#byKey.get(idempotencyKey);
  }

  get isChanged(): boolean {
    return this.appended.length > 0;
  }

  /** The quota of the period as it was last applied. */
  get quota(): number {
    return this.#quota;
  }

  /** The sum of all entries; below 0 if there is debt. */
  get balance(): number {
    return this.#balance;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** Units that have been granted and have not expired. */
  get granted(): number {
    return this.#grants.granted;
  }

  get grants(): readonly Readonly<Grant>[] {
    return this.#grants.list;
  }

  /** Units in use, more than was granted if there is debt. */
  get used(): number {
    return this.granted - this.#balance;
  }

  /** The share of what was granted that is in use. */
  get usedShare(): number {
    const { granted } = this;
    return granted === 0 ? Number(this.used > 0) : this.used / granted;
  }

  /** Whether the sums of the account stay exact with this many units more, or less. */
  canHold(amount: number): boolean {
    const { granted } = this;
    const added = Math.max(0, amount);
    return [
      this.#balance + amount,
      granted + added,
      granted + added - this.#balance - amount,
    ].every(Number.isSafeInteger);
  }

  /** Grants units until `expiresAtMs`. They pay debt first. */
  grant(writer: Writer, grant: Omit<NewEntry, "kind"> & { expiresAtMs: number }): void {
    const { amount, expiresAtMs } = grant;
    const details = { ...grant.details, expiresAtMs };
    this.append(writer, { ...grant, kind: "grant", details });
    this.#grants.open({ sequence: this.#sequence, amount, expiresAtMs });
  }

  /** Takes units that are there. Returns from which grants; undefined if all are from the quota of the period. */
  draw(units: number): Draws | undefined {
    return this.#grants.draw(units);
  }

  /** Puts back what a charge drew. Returns the units that are back. */
  putBack(units: number, charge: { draws: Draws | undefined; sequence: number }): number {
    return this.#grants.putBack(units, charge);
  }

  /** An operator's refund: pays debt, then fills the quota of the period. Returns the units that are back. */
  refund(units: number): number {
    return this.#grants.refund(units, this.#sequence);
  }

  /** An operator's adjustment upwards, before its entry: pays debt, and the rest can be used until the period ends. */
  add(units: number): void {
    this.#grants.add(units, { sequence: this.#sequence + 1, expiresAtMs: this.endsAtMs });
  }

  /** What a refund of all that is in use would bring. */
  get refundable(): number {
    return this.#grants.refundable;
  }

  /** Another quota for the period, by `difference` more or less. Returns the units that it adds to the balance. */
  changeQuota(quota: number, difference: number): number {
    this.#quota = quota;
    return this.#grants.changeQuota(difference);
  }

  /** Ends a grant: what is left of it is no longer there. Returns the units that went. */
  endGrant(sequence: number): number {
    return this.#grants.end(sequence);
  }

  /** Notes that a share was reached. Returns whether it is the first time. */
  noteReached(sharePercent: number): boolean {
    return this.#grants.noteReached(sharePercent);
  }

  /** Appends an entry. The grants have to follow it: the balance is what they hold, less the debt. */
  append({ actor, atMs }: Writer, entry: NewEntry): void {
    this.#sequence++;
    this.#balance += entry.amount;
    const { kind, amount, idempotencyKey, settles, details } = entry;
    const whole: LedgerEntry = {
      accountId: this.id,
      sequence: this.#sequence,
      kind,
      amount,
      balance: this.#balance,
      idempotencyKey,
      settles,
      actor,
      atMs,
      details,
      previousHash: this.#hash,
    };
    const row = toRow(whole);
    this.#hash = hashOfRow(row);
    this.appended.push(row);
    this.#byKey.set(idempotencyKey, row);
  }

  toRow(): AccountRow {
    const { meter, part, subject, startsAtMs } = this.name;
    return {
      id: this.id,
      meter,
      part,
      subject,
      starts_at_ms: startsAtMs,
      ends_at_ms: this.endsAtMs,
      quota: this.#quota,
      balance: this.#balance,
      state: this.#grants.toText(),
      sequence: this.#sequence,
      hash: this.#hash,
    };
  }
}
