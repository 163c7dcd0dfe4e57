// An account in the hands of a writer: what is left, by grant, and the entries that are to be written. It does arithmetic
// only; nothing here waits or asks.

import type { AccountName } from "./account-id.js";
import type { AccountRow } from "./account-row.js";
import {
  type Draws,
  type Entry,
  type EntryDetails,
  type EntryKind,
  type EntryRow,
  hashOfRow,
  toRow,
} from "./entry.js";

/** What is left of a grant. */
export interface Grant {
  /** Of the entry that granted it. */
  readonly sequence: number;
  /** All that it can hold. */
  amount: number;
  left: number;
  readonly expiresAtMs: number;
}

interface AccountState {
  /** In the order in which they are used: what expires first, and of those the quota of the period last. */
  grants: Grant[];
  /** Units charged beyond all grants. */
  debt: number;
  /** Units that a smaller quota should have taken and that were used already. */
  owed?: number;
  /**
   * After an operator's refund or reset: receipts of entries up to `sequence` bring `left` units together, which is what
   * was in use then. The rest of what they stand for has been refunded.
   */
  pardon?: { sequence: number; left: number };
  /** Shares that have been reached, as percent. */
  reached?: number[];
}

/** What an entry says beside its account. */
export interface NewEntry {
  readonly kind: EntryKind;
  readonly amount: number;
  readonly idempotencyKey: string;
  readonly settles?: number;
  readonly details?: EntryDetails | undefined;
}

/** Who writes, and when. */
export interface Writer {
  readonly actor: string;
  readonly atMs: number;
}

/** The entry that opens an account grants the quota of the period. */
export const QUOTA_GRANT = 1;

/** An account that one writer at a time works on. */
export class Account {
  readonly id: string;
  readonly name: AccountName;
  readonly endsAtMs: number;
  /** Entries to be written. */
  readonly appended: EntryRow[] = [];
  readonly #byKey = new Map<string, EntryRow>();
  readonly #state: AccountState;
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
    this.#state = JSON.parse(row.state) as AccountState;
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
    return this.#state.grants.reduce((sum, { amount }) => sum + amount, 0);
  }

  get grants(): readonly Readonly<Grant>[] {
    return this.#state.grants;
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

  /** Whether the sums of the account stay exact with so many units more, or less. */
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
    const paid = this.#payDebt(amount);
    const { grants } = this.#state;
    grants.push({ sequence: this.#sequence, amount, left: amount - paid, expiresAtMs });
    grants.sort(byExpiry);
  }

  /** Takes units that are there. Returns from which grants; undefined if all are from the quota of the period. */
  draw(units: number): Draws | undefined {
    const draws: [number, number][] = [];
    let missing = units;
    for (const grant of this.#state.grants) {
      const drawn = Math.min(missing, grant.left);
      if (drawn === 0) continue;
      grant.left -= drawn;
      missing -= drawn;
      draws.push([grant.sequence, drawn]);
    }
    this.#state.debt += missing;
    return draws.every(([sequence]) => sequence === QUOTA_GRANT) ? undefined : draws;
  }

  /**
   * Puts back what a charge drew: debt is paid first, then the grants get theirs back, the last one drawn from first.
   * What belongs to a grant that has ended is gone. Returns the units that are back.
   */
  putBack(
    units: number,
    { draws, sequence }: { draws: Draws | undefined; sequence: number },
  ): number {
    let left = this.#pardoned(units, sequence);
    let back = this.#payDebt(left);
    left -= back;
    for (const [from, drawn] of (draws ?? [[QUOTA_GRANT, left] as const]).toReversed()) {
      const mine = Math.min(left, drawn);
      left -= mine;
      const grant = this.#state.grants.find((each) => each.sequence === from);
      if (grant !== undefined) back += fill(grant, mine);
    }
    return back;
  }

  /** An operator's refund: pays debt, then fills the quota of the period. Returns the units that are back. */
  refund(units: number): number {
    const paid = this.#payDebt(units);
    const quota = this.#quotaGrant;
    const back = quota === undefined ? paid : paid + fill(quota, units - paid);
    this.#state.pardon = { sequence: this.#sequence, left: this.#drawn };
    return back;
  }

  /** An operator's adjustment upwards: pays debt, and the rest can be used until the period ends. */
  add(units: number): void {
    const left = units - this.#payDebt(units);
    const quota = this.#quotaGrant;
    if (quota === undefined) {
      // The next period has taken it over, and the clock has stepped back: the entry of the adjustment grants them.
      const grant = { sequence: this.#sequence + 1, amount: left, left };
      this.#state.grants.push({ ...grant, expiresAtMs: this.endsAtMs });
      return;
    }
    quota.left += left;
    quota.amount = Math.max(quota.amount, quota.left);
  }

  /** What a refund of all that is in use would bring. */
  get refundable(): number {
    const quota = this.#quotaGrant;
    return this.#state.debt + (quota === undefined ? 0 : quota.amount - quota.left);
  }

  /**
   * Another quota for the period, by `difference` more or less than the one before. What was used stays used: a smaller
   * quota takes what is left, and what it could not take is taken from the next larger one. Returns the units that it
   * adds to the balance.
   */
  changeQuota(quota: number, difference: number): number {
    this.#quota = quota;
    const grant = this.#quotaGrant;
    if (grant === undefined) return 0;
    if (difference < 0) {
      const taken = Math.min(-difference, grant.left);
      grant.left -= taken;
      grant.amount += difference;
      this.#state.owed = (this.#state.owed ?? 0) - difference - taken;
      return -taken;
    }
    const repaid = Math.min(difference, this.#state.owed ?? 0);
    this.#state.owed = (this.#state.owed ?? 0) - repaid;
    grant.amount += difference;
    grant.left += difference - repaid - this.#payDebt(difference - repaid);
    return difference - repaid;
  }

  /** Ends a grant: what is left of it is no longer there. Returns the units that went. */
  endGrant(sequence: number): number {
    const { grants } = this.#state;
    const at = grants.findIndex((grant) => grant.sequence === sequence);
    return at < 0 ? 0 : (grants.splice(at, 1)[0]?.left ?? 0);
  }

  /** Notes that a share was reached. Returns whether it is the first time. */
  noteReached(sharePercent: number): boolean {
    this.#state.reached ??= [];
    if (this.#state.reached.includes(sharePercent)) return false;
    this.#state.reached.push(sharePercent);
    return true;
  }

  /** Appends an entry. The grants have to follow it: the balance is what they hold, less the debt. */
  append({ actor, atMs }: Writer, entry: NewEntry): void {
    this.#sequence++;
    this.#balance += entry.amount;
    const { kind, amount, idempotencyKey, settles, details } = entry;
    const whole: Entry = {
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
      state: JSON.stringify(this.#state),
      sequence: this.#sequence,
      hash: this.#hash,
    };
  }

  get #quotaGrant(): Grant | undefined {
    return this.#state.grants.find(({ sequence }) => sequence === QUOTA_GRANT);
  }

  /** Units drawn from grants. */
  get #drawn(): number {
    return this.#state.grants.reduce((sum, { amount, left }) => sum + amount - left, 0);
  }

  #payDebt(units: number): number {
    const paid = Math.min(units, this.#state.debt);
    this.#state.debt -= paid;
    return paid;
  }

  #pardoned(units: number, sequence: number): number {
    const { pardon } = this.#state;
    if (pardon === undefined || sequence > pardon.sequence) return units;
    const allowed = Math.min(units, pardon.left);
    pardon.left -= allowed;
    return allowed;
  }
}

/** Gives units back to a grant, up to all that it holds. Returns how many it took. */
function fill(grant: Grant, units: number): number {
  const taken = Math.max(0, Math.min(units, grant.amount - grant.left));
  grant.left += taken;
  return taken;
}

function byExpiry(a: Grant, b: Grant): number {
  if (a.expiresAtMs !== b.expiresAtMs) return a.expiresAtMs - b.expiresAtMs;
  if (a.sequence === QUOTA_GRANT || b.sequence === QUOTA_GRANT)
    return a.sequence === QUOTA_GRANT ? 1 : -1;
  return a.sequence - b.sequence;
}
