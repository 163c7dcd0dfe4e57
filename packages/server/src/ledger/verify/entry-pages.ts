// Pages of entries for verification. A page comes as one string in which each entry is the JSON that its hash is of:
// handing eleven columns over for each entry, and writing them as JSON again, took most of the time.

import type { SqlValue, TupleReader } from "../../database/database.js";
import type { EntryValues } from "../accounts/entry.js";
import { statements } from "../sql/statements.js";

/** Entries in their order. */
export interface EntryPage {
  readonly entries: readonly EntryValues[];
  /** The JSON of each, as the database writes it; undefined if it was not asked for it. */
  readonly texts?: readonly string[];
}

/** Where a page begins and ends. */
export interface PageBounds {
  readonly after: { readonly accountId: string; readonly sequence: number };
  readonly upTo: { readonly accountId: string; readonly sequence: number };
  readonly entriesMax: number;
}

/** What pages are read from. */
export interface EntryReader extends TupleReader {
  /** Undefined: it can't write JSON. */
  readonly dialect?: string;
}

const TEXTS: Readonly<Record<string, string>> = {
  sqlite: statements.listEntryTextsSqlite,
  postgres: statements.listEntryTextsPostgres,
};
const COLUMNS = 11;

/** Reads one page. */
export async function readEntryPage(
  reader: EntryReader,
  { after, upTo, entriesMax }: PageBounds,
): Promise<EntryPage> {
  const ends = [after.accountId, after.sequence, upTo.accountId, upTo.sequence];
  const values = [...ends, entriesMax];
  const page = await readTexts(reader, values);
  if (page !== undefined) return page;
  return { entries: await reader.queryTuples<EntryValues>(statements.listEntriesBetween, values) };
}

/** Undefined if the database can't, or if an entry was altered so that it is not in a list of JSON. */
async function readTexts(
  reader: EntryReader,
  values: readonly SqlValue[],
): Promise<EntryPage | undefined> {
  const sql = TEXTS[reader.dialect ?? ""];
  if (sql === undefined) return undefined;
  try {
    const [row] = await reader.queryTuples<[string | null]>(sql, values);
    const text = row?.[0] ?? "";
    if (text === "") return { entries: [] };
    const entries = JSON.parse(`[${text.replaceAll("\n", ",")}]`) as EntryValues[];
    const isWhole = entries.every(({ length }) => length === COLUMNS);
    return isWhole ? { entries, texts: text.split("\n") } : undefined;
  } catch {
    // The other statement reports what is wrong with the database.
    return undefined;
  }
}
