// Reads the times of requests out of a log that was pasted: one timestamp on each line, or lines of an access log, where
// the first word is the client.

/** A request of a log. */
export interface LoggedRequest {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Which client, from 0: by the first word of an access log's line. */
  readonly client: number;
}

/** What was read. */
export interface ReadLog {
  /** By time. */
  readonly requests: readonly LoggedRequest[];
  /** Lines in which no time was found, blank lines left out. */
  readonly malformed: number;
  /** The first of them, from 1, and what it says. */
  readonly firstMalformed: { readonly line: number; readonly text: string } | undefined;
  /** Lines beyond {@link LINES_MAX}. */
  readonly leftOut: number;
}

/** The most lines that are read. */
export const LINES_MAX = 20_000;
const SHOWN_MAX = 60;
/** From 1970 to the end of 2100, as limits are decided. */
const TIME_MS_MAX = Date.UTC(2101, 0, 1) - 1;
/** Up to here a number is seconds since 1970; above, milliseconds. */
const SECONDS_MAX = 1e11;

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
/** `[10/Oct/2000:13:55:36 -0700]`. */
const COMMON =
  /\[(\d{1,2})\/(\w{3})\/(\d{4}):(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,3})\d*)?(?: ([+-]\d{4}))?\]/;
const ISO = /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?/;
const NUMBER = /^\d{1,14}(?:\.\d{1,9})?$/;

/** Reads the requests of a log. */
export function readLog(text: string): ReadLog {
  const lines = text.split("\n");
  const clients = new Map<string, number>();
  const requests: LoggedRequest[] = [];
  let malformed = 0;
  let firstMalformed: ReadLog["firstMalformed"];
  for (const [at, line] of lines.slice(0, LINES_MAX).entries()) {
    const trimmed = line.trim();
    if (trimmed === "") continue;
    const atMs = timeOf(trimmed);
    if (atMs === undefined) {
      malformed++;
      firstMalformed ??= { line: at + 1, text: trimmed.slice(0, SHOWN_MAX) };
      continue;
    }
    requests.push({ atMs, client: clientOf(trimmed, clients) });
  }
  return {
    requests: requests.toSorted((a, b) => a.atMs - b.atMs),
    malformed,
    firstMalformed,
    leftOut: Math.max(0, lines.length - LINES_MAX),
  };
}

function timeOf(line: string): number | undefined {
  const ms = NUMBER.test(line) ? fromNumber(Number(line)) : (fromCommon(line) ?? fromIso(line));
  const isTime = ms !== undefined && ms >= 0 && ms <= TIME_MS_MAX;
  return isTime ? Math.floor(ms) : undefined;
}

function fromNumber(value: number): number {
  return value < SECONDS_MAX ? value * 1_000 : value;
}

function fromCommon(line: string): number | undefined {
  const found = COMMON.exec(line);
  if (found === null) return undefined;
  const [, day, month, year, hours, minutes, seconds, fraction = "0", zone = "+0000"] = found;
  const at = MONTHS.indexOf((month as string).toLowerCase());
  if (at < 0) return undefined;
  const two = String(at + 1).padStart(2, "0");
  const offset = `${zone.slice(0, 3)}:${zone.slice(3)}`;
  const ms = Date.parse(
    `${year}-${two}-${(day as string).padStart(2, "0")}T${hours}:${minutes}:${seconds}.${fraction.padEnd(3, "0")}${offset}`,
  );
  return Number.isNaN(ms) ? undefined : ms;
}

function fromIso(line: string): number | undefined {
  const found = ISO.exec(line)?.[0];
  if (found === undefined) return undefined;
  const written = found.replace(" ", "T").replace(",", ".");
  const ms = Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/.test(written) ? written : `${written}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** The first word of an access log's line; lines that begin with their time all come from one client. */
function clientOf(line: string, clients: Map<string, number>): number {
  const word = COMMON.test(line) ? (/^[^\s[]+/.exec(line)?.[0] ?? "") : "";
  const known = clients.get(word) ?? clients.size;
  clients.set(word, known);
  return known;
}
