// Accounts as this process last left them. Requests can be decided on them without asking the database first; whether
// they are still the same is checked when what was decided is written.

import { BoundedMap } from "sluice";
import type { Account } from "../accounts/account.js";

/** How long an account that another process has changed is read under locks again. */
const SHARED_MS = 1_000;
const SHARED_MAX = 10_000;

/** Accounts that no transaction under way works on. */
export class AccountCache {
  readonly #accounts: BoundedMap<string, Account>;
  /** When accounts that others write too may be kept again. */
  readonly #sharedUntilMs = new BoundedMap<string, number>(SHARED_MAX);

  /** @param accountsMax - The most accounts; with 0 none is kept. */
  constructor(accountsMax: number) {
    this.#accounts = new BoundedMap(accountsMax);
  }

  has(id: string): boolean {
    return this.#accounts.has(id);
  }

  /** Takes an account out: the caller works on it, and keeps it here again once what it wrote is committed. */
  take(id: string): Account {
    const account = this.#accounts.get(id);
    if (account === undefined) throw new Error(`account ${id} is not in the cache`);
    this.#accounts.delete(id);
    return account;
  }

  /** Keeps an account that the database has as it is here. */
  keep(account: Account, nowMs: number): void {
    const sharedUntilMs = this.#sharedUntilMs.get(account.id);
    if (sharedUntilMs !== undefined && nowMs < sharedUntilMs) return;
    this.#accounts.set(account.id, account);
  }

  /** Notes that another process writes an account too. */
  noteShared(id: string, nowMs: number): void {
    this.#sharedUntilMs.set(id, nowMs + SHARED_MS);
  }
}
