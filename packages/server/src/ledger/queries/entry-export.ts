// Entries as CSV, JSON or NDJSON, piece by piece. Strings that a spreadsheet would take for a formula are disarmed: idempotency
// keys and keys of callers are what clients send.

import type { AccountEntry } from "./entry-pages.js";

/** The formats of an export. */
export const EXPORT_FORMATS = ["csv", "json", "ndjson"] as const;

/** A format of an export. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The media type of each format. */
export const EXPORT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: "text/csv; charset=utf-8; header=present",
  json: "application/json",
  ndjson: "application/x-ndjson",
};

/** The columns of CSV, in their order. */
export const CSV_COLUMNS = [
  "time",
  "meter",
  "part",
  "subject",
  "period_start",
  "period_end",
  "account",
  "sequence",
  "kind",
  "amount",
  "balance",
  "idempotency_key",
  "settles",
  "actor",
  "reason",
  "details",
  "previous_hash",
] as const;

/** The text of an export, a piece for each page. JSON is one list, with an entry on each line; NDJSON has the lines alone. */
export async function* toExport(
  pages: AsyncIterable<readonly AccountEntry[]>,
  format: ExportFormat,
): AsyncGenerator<string> {
  if (format === "csv") {
    yield `${CSV_COLUMNS.join(",")}\r\n`;
    for await (const page of pages) yield page.map(toCsvLine).join("");
    return;
  }
  if (format === "ndjson") {
    for await (const page of pages) yield page.map((entry) => `${toJson(entry)}\n`).join("");
    return;
  }
  let separator = "[\n";
  for await (const page of pages) {
    yield separator + page.map(toJson).join(",\n");
    separator = ",\n";
  }
  // A list that was cut off is not JSON, so it can't be taken for a whole one.
  yield separator === "[\n" ? "[]\n" : "\n]\n";
}

function toJson(entry: AccountEntry): string {
  return JSON.stringify(toExported(entry));
}

/** An entry as people and programs read it. */
export function toExported(entry: AccountEntry) {
  const { settles, details, ...rest } = entry;
  return { ...rest, settles: settles ?? null, details: details ?? null };
}

function toCsvLine(entry: AccountEntry): string {
  const { details } = entry;
  const cells = [
    toIso(entry.atMs),
    toText(entry.meter),
    entry.part,
    toText(entry.subject),
    toIso(entry.periodStartMs),
    toIso(entry.periodEndMs),
    toText(entry.accountId),
    entry.sequence,
    entry.kind,
    entry.amount,
    entry.balance,
    toText(entry.idempotencyKey),
    entry.settles ?? "",
    toText(entry.actor),
    toText(details?.reason ?? ""),
    details === undefined ? "" : toText(JSON.stringify(details)),
    toText(entry.previousHash),
  ];
  return `${cells.join(",")}\r\n`;
}

function toIso(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

/** What spreadsheets begin a formula with, after blanks as well. */
const FORMULA = /^\s*[=+\-@\t\r|%]/;
const NEEDS_QUOTES = /[",\r\n']/;

/** A string as a cell: a formula gets an apostrophe, which spreadsheets take for "this is text". */
function toText(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
