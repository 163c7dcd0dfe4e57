// Accounts with entries for tests, written as the ledger keeps them but without it: right hashes and balances, and
// whatever a test then breaks on purpose.

import type { Database } from "../../src/database/database.js";
import { Account } from "../../src/ledger/accounts/account.js";
import { accountIdOf } from "../../src/ledger/accounts/account-id.js";
import { type AccountRow, EMPTY_STATE } from "../../src/ledger/accounts/account-row.js";
import type { EntryDetails, EntryKind } from "../../src/ledger/accounts/entry.js";

export const PERIOD_START_MS = Date.UTC(2026, 4, 1);
export const PERIOD_END_MS = Date.UTC(2026, 5, 1);

/** What differs from a month of 1,000 exports of the tenant acme. */
export interface AccountOptions {
  readonly meter?: string;
  readonly subject?: string;
  readonly quota?: number;
  readonly startsAtMs?: number;
  readonly endsAtMs?: number;
  /** Whether it has the grant of its quota. Default true. */
  readonly isOpen?: boolean;
}

/** What differs from an entry of a node, a second after the one before. */
export interface EntryOptions {
  readonly key?: string;
  readonly actor?: string;
  readonly atMs?: number;
  readonly details?: EntryDetails;
}

interface HoldRow {
  readonly sequence: number;
  readonly kind: string;
  readonly amount: number;
  readonly holder: string;
  readonly expiresAtMs: number;
}

/** One account in the making. */
export class AccountBuilder {
  readonly id: string;
  readonly #account: Account;
  readonly #holds = new Map<number, HoldRow>();
  #atMs: number;

  constructor(options: AccountOptions = {}) {
    const { meter = "exports", subject = "tenant:acme", quota = 1_000 } = options;
    const { startsAtMs = PERIOD_START_MS, endsAtMs = PERIOD_END_MS } = options;
    this.id = accountIdOf({ meter, part: 0, subject, startsAtMs });
    this.#atMs = startsAtMs;
    const row: AccountRow = {
      id: this.id,
      meter,
      part: 0,
      subject,
      starts_at_ms: startsAtMs,
      ends_at_ms: endsAtMs,
      quota,
      balance: 0,
      state: EMPTY_STATE,
      sequence: 0,
      hash: "",
    };
    this.#account = new Account(row);
    if (options.isOpen !== false)
      this.grant(quota, { key: "quota", details: { expiresAtMs: endsAtMs } });
  }

  get sequence(): number {
    return this.#account.sequence;
  }

  get balance(): number {
    return this.#account.balance;
  }

  grant(units: number, options: EntryOptions = {}): this {
    const expiresAtMs = options.details?.expiresAtMs ?? PERIOD_END_MS;
    const { actor, atMs } = this.#toWriter(options);
    const idempotencyKey = options.key ?? `grant-${this.sequence + 1}`;
    const { details } = options;
    this.#account.grant({ actor, atMs }, { amount: units, idempotencyKey, expiresAtMs, details });
    return this;
  }

  /** Charges units. */
  use(units: number, options: EntryOptions = {}): this {
    return this.#take("use", units, options);
  }

  /** Holds units; returns the number of the entry. */
  reserve(units: number, options: EntryOptions & { expiresAtMs?: number } = {}): number {
    const { expiresAtMs = this.#atMs + 60_000, ...rest } = options;
    this.#take("reserve", units, rest);
    this.#hold("reserve", units, { holder: rest.actor ?? "node-1", expiresAtMs });
    return this.sequence;
  }

  /** Gives a node a block; returns the number of the entry. */
  lease(units: number, options: EntryOptions & { expiresAtMs?: number } = {}): number {
    const { expiresAtMs = this.#atMs + 60_000, ...rest } = options;
    this.#take("lease", units, rest);
    this.#hold("lease", units, { holder: rest.actor ?? "node-1", expiresAtMs });
    return this.sequence;
  }

  /** Ends a reservation or lease, or refunds a use, of which `kept` units stay charged. */
  settle(
    kind: "commit" | "cancel" | "expire" | "return",
    sequence: number,
    { units, kept = 0 }: { readonly units: number; readonly kept?: number },
  ): this {
    const amount = units - kept;
    if (amount > 0) this.#account.putBack(amount, { draws: undefined, sequence });
    else this.#account.draw(-amount);
    this.#holds.delete(sequence);
    const key = `${kind === "expire" ? "expire" : "settle"}:${sequence}`;
    return this.#append(kind, amount, { key, details: { kept } }, sequence);
  }

  /** An operator's correction. */
  adjust(units: number, options: EntryOptions = {}): this {
    if (units > 0) this.#account.refund(units);
    else this.#account.draw(-units);
    const details = { reason: "a test", ...options.details };
    return this.#append("adjust", units, { actor: "ada", ...options, details });
  }

  /** Appends whatever is asked for, without what the ledger would see to. */
  append(kind: EntryKind, amount: number, options: EntryOptions = {}, settles?: number): this {
    return this.#append(kind, amount, options, settles);
  }

  /** Writes the account with all its entries and holds. */
  async write(database: Database): Promise<this> {
    await database.transaction(async (tx) => {
      const insert = (table: string, row: Readonly<Record<string, string | number | null>>) => {
        const names = Object.keys(row);
        const places = names.map((_, index) => `$${index + 1}`).join(", ");
        const sql = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${places})`;
        return tx.query(sql, Object.values(row));
      };
      await insert("ledger_accounts", this.#account.toRow());
      for (const row of this.#account.appended) await insert("ledger_entries", row);
      for (const { expiresAtMs, ...hold } of this.#holds.values())
        await insert("ledger_holds", {
          account_id: this.id,
          ...hold,
          expires_at_ms: expiresAtMs,
        });
    });
    return this;
  }

  #take(kind: "use" | "reserve" | "lease", units: number, options: EntryOptions): this {
    const draws = this.#account.draw(units);
    const details = draws === undefined ? options.details : { ...options.details, draws };
    return this.#append(kind, -units, details === undefined ? options : { ...options, details });
  }

  #hold(kind: string, amount: number, rest: Pick<HoldRow, "holder" | "expiresAtMs">): void {
    const { sequence } = this;
    this.#holds.set(sequence, { sequence, kind, amount, ...rest });
  }

  #append(kind: EntryKind, amount: number, options: EntryOptions, settles?: number): this {
    const { details, key = `key-${this.sequence + 1}` } = options;
    const entry = { kind, amount, idempotencyKey: key, details };
    const whole = settles === undefined ? entry : { ...entry, settles };
    this.#account.append(this.#toWriter(options), whole);
    return this;
  }

  #toWriter({ actor = "node-1", atMs }: EntryOptions) {
    this.#atMs = atMs ?? this.#atMs + 1_000;
    return { actor, atMs: this.#atMs };
  }
}
