// Verifies the accounts in a range of ids: a page of accounts, then their entries in order. Writers continue
// meanwhile, so an account that does not match its entries is read once more, in one statement with its holds and
// with the entries that were added in between. If it still does not match, it is wrong.

import type { Row, SchemaReader } from "../../database/database.js";
import { accountIdOf } from "../accounts/account-id.js";
import type { AccountRow } from "../accounts/account-row.js";
import { statements } from "../sql/statements.js";
import { AccountCheck, type LateSettlement, type ListedHold, type Say } from "./account-check.js";
import { type EntryPage, type EntryReader, readEntryPage } from "./entry-pages.js";
import type { Findings } from "./report.js";

/** Accounts whose ids follow `after`, up to and including `upTo`, in the order of the database. */
export interface IdRange {
  /** "" for the beginning. */
  readonly after: string;
  /** Undefined: to the end. */
  readonly upTo: string | undefined;
}

/** How much is read by one statement. */
export interface PageSizes {
  readonly accounts: number;
  readonly entries: number;
}

/** Larger pages are not faster, and block a process for longer. */
export const PAGE_SIZES: PageSizes = { accounts: 500, entries: 5_000 };

const UNIQUE_BY = ["idempotency_key", "account_id"];

interface HoldRow extends Row {
  readonly account_id: string;
  readonly sequence: number;
  readonly kind: string;
  readonly amount: number;
}

/** What a verifier reads from. */
export type VerifierReader = EntryReader & SchemaReader;

/** Verifies a range of accounts. */
export class RangeVerifier {
  readonly #reader: VerifierReader;
  readonly #findings: Findings;
  readonly #pages: PageSizes;
  /** Accounts of this page whose entries have not come yet. */
  #waiting = new Map<string, AccountRow>();
  #holds = new Map<string, ListedHold[]>();
  #current: CurrentAccount | undefined;
  /** Whether two entries of an account may have the same key, as far as the database sees to it. */
  #mayRepeat = true;

  constructor(reader: VerifierReader, findings: Findings, pages: PageSizes = PAGE_SIZES) {
    this.#reader = reader;
    this.#findings = findings;
    this.#pages = pages;
  }

  /** Reads and checks everything of a range. */
  async run({ after, upTo }: IdRange): Promise<void> {
    this.#mayRepeat = !(await this.#reader.hasUniqueIndex("ledger_entries", UNIQUE_BY));
    let last = after;
    for (;;) {
      const values = [last, upTo ?? null, this.#pages.accounts];
      const accounts = await this.#reader.query<AccountRow>(statements.listAccountsBetween, values);
      const end = accounts.at(-1)?.id;
      if (end === undefined) break;
      await this.#verifyPage(accounts, { after: last, upTo: end });
      last = end;
    }
    const rest = upTo ?? (await this.#findLast(last));
    if (rest !== undefined && rest !== last)
      await this.#verifyPage([], { after: last, upTo: rest });
  }

  async #findLast(after: string): Promise<string | undefined> {
    const [row] = await this.#reader.query<{ id: string | null }>(statements.lastAccountOfEntries, [
      after,
    ]);
    return row?.id ?? undefined;
  }

  async #verifyPage(accounts: readonly AccountRow[], range: Required<IdRange>): Promise<void> {
    const upTo = range.upTo as string;
    this.#waiting = new Map(accounts.map((account) => [account.id, account]));
    this.#holds = await this.#readHolds(range.after, upTo);
    const start = { accountId: range.after, sequence: Number.MAX_SAFE_INTEGER };
    for await (const { entries, texts } of this.#entryPages(start, upTo)) {
      for (const [i, values] of entries.entries()) {
        if (this.#current?.id !== values[0]) await this.#begin(values[0]);
        this.#current?.check.add(values, texts?.[i]);
      }
      this.#findings.entries += entries.length;
    }
    await this.#endCurrent();
    for (const account of this.#waiting.values()) {
      this.#current = this.#toCurrent(account.id, account);
      await this.#endCurrent();
    }
    await this.#findDuplicates(range.after, upTo);
  }

  async *#entryPages(
    start: { readonly accountId: string; readonly sequence: number },
    upTo: string,
    lastSequence = Number.MAX_SAFE_INTEGER,
  ): AsyncGenerator<EntryPage> {
    const entriesMax = this.#pages.entries;
    const end = { accountId: upTo, sequence: lastSequence };
    const read = (accountId: string, sequence: number) =>
      readEntryPage(this.#reader, { after: { accountId, sequence }, upTo: end, entriesMax });
    let next: Promise<EntryPage> | undefined = read(start.accountId, start.sequence);
    while (next !== undefined) {
      const page: EntryPage = await next;
      const last = page.entries.at(-1);
      const isLast = page.entries.length < entriesMax;
      // The next page is on its way while this one is checked.
      next = last === undefined || isLast ? undefined : read(last[0], last[1]);
      // If a check throws, this is never awaited.
      next?.catch(() => {});
      yield page;
    }
  }

  async #begin(accountId: string): Promise<void> {
    await this.#endCurrent();
    const account = this.#waiting.get(accountId) ?? (await this.#readAccount(accountId))?.account;
    this.#waiting.delete(accountId);
    this.#current = this.#toCurrent(accountId, account);
  }

  #toCurrent(id: string, account: AccountRow | undefined): CurrentAccount {
    const say: Say = (check, sequence, problem) =>
      this.#findings.add({
        check,
        accountId: id,
        meter: account?.meter,
        subject: account?.subject,
        sequence,
        problem,
      });
    return { id, account, say, check: new AccountCheck(say) };
  }

  async #endCurrent(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    if (current === undefined) return;
    const { id, account, say, check } = current;
    this.#findings.accounts++;
    if (account === undefined) {
      say("account", undefined, "has entries, and there is no such account");
      return;
    }
    if (accountIdOf(toName(account)) !== id)
      say("account", undefined, "was altered: its id is that of another meter, subject or period");
    let fits = true;
    check.end(account, this.#holds.get(id) ?? [], () => {
      fits = false;
    });
    if (!fits) await this.#endAgain(current);
    for (const late of check.lateSettlements) await this.#checkLate(current, late);
  }

  /** What does not fit may have been read too early. */
  async #endAgain({ id, say, check }: CurrentAccount): Promise<void> {
    const now = await this.#readAccount(id);
    if (now === undefined) return say("account", undefined, "is gone, and its entries are not");
    const { account, holds } = now;
    const start = { accountId: id, sequence: check.sequence };
    if (account.sequence > check.sequence) {
      for await (const { entries } of this.#entryPages(start, id, account.sequence)) {
        for (const values of entries) check.add(values);
        this.#findings.entries += entries.length;
      }
    }
    check.end(account, holds);
  }

  async #checkLate({ id, say }: CurrentAccount, late: LateSettlement): Promise<void> {
    const { sequence, settles, amount } = late;
    const [settled] = await this.#reader.query<SettledRow>(statements.readSettled, [
      id,
      settles,
      `expire:${settles}`,
      sequence,
    ]);
    const hasExpired = settled?.kind === "reserve" && settled.expiries > 0;
    if (settled === undefined || (settled.kind !== "use" && !hasExpired))
      return say(
        "settlement",
        sequence,
        `settles entry ${settles}, which is not open at that point`,
      );
    // What has expired is back already.
    const held = hasExpired ? 0 : -settled.amount;
    if (amount > held)
      say("amount", sequence, `gives ${amount} units back, of ${held} that were charged`);
  }

  async #readAccount(id: string): Promise<AccountAndHolds | undefined> {
    const rows = await this.#reader.query<AccountAndHoldRow>(statements.readAccountAndHolds, [id]);
    const [account] = rows;
    if (account === undefined) return undefined;
    const holds = rows.flatMap(
      ({ hold_sequence: sequence, hold_kind: kind, hold_amount: amount }) =>
        sequence === null || kind === null || amount === null ? [] : [{ sequence, kind, amount }],
    );
    return { account, holds };
  }

  async #readHolds(after: string, upTo: string): Promise<Map<string, ListedHold[]>> {
    const rows = await this.#reader.query<HoldRow>(statements.listHoldsBetween, [after, upTo]);
    const holds = new Map<string, ListedHold[]>();
    for (const row of rows) {
      const some = holds.get(row.account_id);
      if (some === undefined) holds.set(row.account_id, [row]);
      else some.push(row);
    }
    return holds;
  }

  /** The database has an index that allows none, and can't have it while there are any: they are looked for without it. */
  async #findDuplicates(after: string, upTo: string): Promise<void> {
    if (!this.#mayRepeat) return;
    const rows = await this.#reader.query<DuplicateRow>(statements.listDuplicatesBetween, [
      after,
      upTo,
    ]);
    for (const { account_id, idempotency_key, sequence, entries } of rows) {
      const { say } = this.#toCurrent(account_id, (await this.#readAccount(account_id))?.account);
      const key = JSON.stringify(idempotency_key);
      say("duplicate", sequence, `is one of ${entries} entries with the idempotency key ${key}`);
    }
  }
}

interface CurrentAccount {
  readonly id: string;
  readonly account: AccountRow | undefined;
  readonly say: Say;
  readonly check: AccountCheck;
}

interface AccountAndHolds {
  readonly account: AccountRow;
  readonly holds: readonly ListedHold[];
}

interface AccountAndHoldRow extends AccountRow {
  readonly hold_sequence: number | null;
  readonly hold_kind: string | null;
  readonly hold_amount: number | null;
}

interface SettledRow extends Row {
  readonly kind: string;
  readonly amount: number;
  readonly expiries: number;
}

interface DuplicateRow extends Row {
  readonly account_id: string;
  readonly idempotency_key: string;
  readonly sequence: number;
  readonly entries: number;
}

function toName({ meter, part, subject, starts_at_ms: startsAtMs }: AccountRow) {
  return { meter, part, subject, startsAtMs };
}
