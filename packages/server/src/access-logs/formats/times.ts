// Times as access logs write them. Most lines have the time of the line before, which is then not read again.

/** The latest time that limits are counted by: the end of the year 2100. */
const TIME_MS_MAX = Date.UTC(2101, 0, 1) - 1;
/** Up to here a number is seconds since 1970; then milliseconds, microseconds, nanoseconds. */
const SECONDS_MAX = 1e11;
const MILLISECONDS_MAX = 1e14;
const MICROSECONDS_MAX = 1e17;

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
const MINUTE_MS = 60_000;
/** `17/Nov/2026:05:51:17 +0000`. */
const COMMON =
  /^(\d{2})\/(\w{3})\/(\d{4}):(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?: ([+-])(\d{2})(\d{2}))?$/;
const COMMON_LENGTH_MAX = 40;
/** Of a time without a fraction of a second. */
export const COMMON_TIME_LENGTH = 26;

/** A time in the range of those that limits can be counted by, in whole milliseconds; NaN if it is not. */
export function toTimeMs(ms: number): number {
  return ms >= 0 && ms <= TIME_MS_MAX ? Math.floor(ms) : Number.NaN;
}

/** A time as JSON has it: ISO 8601, the form of access logs, or a number since 1970. NaN if it is none of these. */
export function parseTime(value: unknown): number {
  if (typeof value === "number") return toTimeMs(fromNumber(value));
  if (typeof value !== "string" || value.length > COMMON_LENGTH_MAX) return Number.NaN;
  if (/^\d{1,19}(?:\.\d{1,9})?$/.test(value)) return toTimeMs(fromNumber(Number(value)));
  if (/^\d{4}([-/])\d{2}\1\d{2}[T ]/.test(value)) return toTimeMs(fromIso(value));
  return parseCommonTime(value.replace(/^\[|\]$/g, ""));
}

function fromNumber(value: number): number {
  if (value < SECONDS_MAX) return value * 1_000;
  if (value < MILLISECONDS_MAX) return value;
  return value < MICROSECONDS_MAX ? value / 1_000 : value / 1_000_000;
}

/** Times without a zone are UTC: what else they may be, a log does not say. */
function fromIso(text: string): number {
  const date = text.slice(0, 10).replaceAll("/", "-");
  // Date.parse takes the 30th of February for the 2nd of March.
  const [year, month, day] = date.split("-").map(Number);
  if (day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return Number.NaN;
  const written = `${date}T${text.slice(11).replace(",", ".").replace(" ", "")}`;
  return Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/i.test(written) ? written : `${written}Z`);
}

/** The time of the Common Log Format, without its brackets. */
export function parseCommonTime(text: string): number {
  const found = text.length > COMMON_LENGTH_MAX ? null : COMMON.exec(text);
  if (found === null) return Number.NaN;
  const [, day, name, year, hours, minutes, seconds, fraction = "0", sign, zoneHours, zoneMinutes] =
    found;
  const month = MONTHS.indexOf(name);
  if (month < 0 || month % 3 !== 0) return Number.NaN;
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 60) return Number.NaN;
  const date = new Date(Date.UTC(Number(year), month / 3, Number(day)));
  // A day that its month does not have, or a year that is taken for one of the twentieth century.
  if (date.getUTCDate() !== Number(day) || date.getUTCFullYear() !== Number(year))
    return Number.NaN;
  const inDayMs = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS + Number(seconds) * 1_000;
  const ms = date.getTime() + inDayMs + Number(`0.${fraction}`) * 1_000;
  const offsetMs = (Number(zoneHours ?? 0) * 60 + Number(zoneMinutes ?? 0)) * MINUTE_MS;
  return toTimeMs(sign === "-" ? ms + offsetMs : ms - offsetMs);
}

/** Where words begin that together cover the bytes of a time without a fraction, the seconds first: they differ most often. */
const WORDS_AT = [16, 20, 22, 12, 8, 4, 0] as const;

/** Reads the times of lines in the Common Log Format out of their bytes. */
export class CommonTimes {
  readonly #latest = new Int32Array(WORDS_AT.length);
  #latestMs = Number.NaN;

  /** The time between two brackets; NaN if it is not one. `view` is over the bytes. */
  read(bytes: Buffer, view: DataView, from: number, to: number): number {
    if (to - from !== COMMON_TIME_LENGTH) return parseBytes(bytes, from, to);
    if (this.#isLatest(view, from)) return this.#latestMs;
    for (let i = 0; i < WORDS_AT.length; i++)
      this.#latest[i] = view.getInt32(from + WORDS_AT[i], true);
    this.#latestMs = parseBytes(bytes, from, to);
    return this.#latestMs;
  }

  #isLatest(view: DataView, from: number): boolean {
    const latest = this.#latest;
    for (let i = 0; i < WORDS_AT.length; i++)
      if (latest[i] !== view.getInt32(from + WORDS_AT[i], true)) return false;
    return true;
  }
}

function parseBytes(bytes: Buffer, from: number, to: number): number {
  if (to - from > COMMON_LENGTH_MAX) return Number.NaN;
  return parseCommonTime(bytes.toString("latin1", from, to));
}
