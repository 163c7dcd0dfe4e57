// Entries for people: filtered, in the order of their time, page by page. A page begins after the last entry of the one
// before, so that reading a million of them takes no more memory than one page.

import type { Reader } from "../../database/database.js";
import type { LedgerEntry } from "../accounts/entry.js";
import { type EntryKind, type EntryRow, toEntry } from "../accounts/entry.js";
import { statements } from "../sql/statements.js";

/** Which entries are meant. */
export interface EntryFilter {
  /** From this time on, in Unix milliseconds. */
  readonly fromMs: number;
  /** Up to, but not including, this time. */
  readonly toMs: number;
  /** The key as the rule counts it: `tenant:acme`. Default: all. */
  readonly subject?: string | undefined;
  /** The id of a rule. Default: all. */
  readonly meter?: string | undefined;
  /** Default: all. */
  readonly kind?: EntryKind | undefined;
}

/** An entry together with what its account is about. */
export interface AccountEntry extends LedgerEntry {
  readonly meter: string;
  readonly part: number;
  readonly subject: string;
  readonly periodStartMs: number;
  readonly periodEndMs: number;
}

/** The place of an entry in the order of time. */
export type EntryCursor = Pick<LedgerEntry, "atMs" | "accountId" | "sequence">;

interface AccountEntryRow extends EntryRow {
  readonly meter: string;
  readonly part: number;
  readonly subject: string;
  readonly starts_at_ms: number;
  readonly ends_at_ms: number;
}

/** Entries that are read by one statement of {@link entryPages}. */
const PAGE_SIZE = 1_000;

/** A page of entries, the earliest first. */
export async function listEntries(
  reader: Reader,
  filter: EntryFilter,
  { after, limit }: { readonly after?: EntryCursor | undefined; readonly limit: number },
): Promise<AccountEntry[]> {
  const { toMs, meter = null, kind = null, subject } = filter;
  // No account has an empty id, so this comes before all entries of its time.
  const start = after ?? { atMs: filter.fromMs, accountId: "", sequence: 0 };
  const values = [start.atMs, toMs, start.accountId, start.sequence, meter, kind, limit];
  const rows =
    subject === undefined
      ? await reader.query<AccountEntryRow>(statements.listEntries, values)
      : await reader.query<AccountEntryRow>(statements.listEntriesOfSubject, [...values, subject]);
  return rows.map(toAccountEntry);
}

/** All entries that are meant, page by page. */
export async function* entryPages(
  reader: Reader,
  filter: EntryFilter,
  pageSize: number = PAGE_SIZE,
): AsyncGenerator<readonly AccountEntry[]> {
  let after: EntryCursor | undefined;
  for (;;) {
    const page = await listEntries(reader, filter, { after, limit: pageSize });
    if (page.length > 0) yield page;
    if (page.length < pageSize) return;
    after = page.at(-1);
  }
}

/** How many entries are meant. */
export async function countEntries(reader: Reader, filter: EntryFilter): Promise<number> {
  const { fromMs, toMs, subject = null, meter = null, kind = null } = filter;
  const values = [fromMs, toMs, subject, meter, kind];
  const [row] = await reader.query<{ entries: number }>(statements.countEntries, values);
  return row?.entries ?? 0;
}

function toAccountEntry(row: AccountEntryRow): AccountEntry {
  const { meter, part, subject, starts_at_ms: periodStartMs, ends_at_ms: periodEndMs } = row;
  return { ...toEntry(row), meter, part, subject, periodStartMs, periodEndMs };
}
