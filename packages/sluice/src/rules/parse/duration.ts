// Durations: whole milliseconds, or a text such as `500ms`, `10s`, `5m`, `1h` or `7d`. Other spellings that people
// know are not read, so that a file is written in one way, but the error names the one that is.

import { nearestName } from "../../base/nearest-name.js";
import type { Shape } from "../../base/shapes/shapes.js";

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The units that a rate may be per, `100/minute`, besides any duration. */
const WORDS_MS: Readonly<Record<string, number>> = {
  second: UNITS_MS.s,
  minute: UNITS_MS.m,
  hour: UNITS_MS.h,
  day: UNITS_MS.d,
};

// More digits than any duration within bounds has.
const DURATION_PATTERN = "^[0-9]{1,15}(ms|s|m|h|d)$";
/** What {@link toRatePer} reads, for editors. */
export const RATE_PATTERN = "^[0-9]{1,16}/(second|minute|hour|day|[0-9]{1,15}(ms|s|m|h|d))$";

/** A duration within bounds, in milliseconds. */
export function duration({ min, max }: { min: number; max: number }): Shape<number> {
  const what = `a whole number of milliseconds from ${min} to ${max} or a text such as 500ms, 10s, 5m, 1h or 7d`;
  const schema = {
    anyOf: [
      { type: "integer", minimum: min, maximum: max },
      { type: "string", pattern: DURATION_PATTERN },
    ],
  };
  return {
    what,
    schema,
    read: (value, spot) => {
      const ms = typeof value === "string" ? toMs(value) : value;
      const fits = Number.isInteger(ms) && (ms as number) >= min && (ms as number) <= max;
      return fits ? (ms as number) : spot.refuse(what, value, toMeantDuration(value));
    },
  };
}

/** A rate such as `100/minute` or `100/5m`; undefined if it is none. */
export function toRatePer(text: string): { limit: number; windowMs: number } | undefined {
  if (!new RegExp(RATE_PATTERN).test(text)) return undefined;
  const [limit, per] = text.split("/");
  const windowMs = WORDS_MS[per] ?? toMs(per);
  return windowMs === undefined ? undefined : { limit: Number(limit), windowMs };
}

// Other words for a unit, besides its plural.
const ALIASES: Readonly<Record<string, string>> = {
  msec: "ms",
  millis: "ms",
  millisecond: "ms",
  second: "s",
  sec: "s",
  minute: "m",
  min: "m",
  hour: "h",
  hr: "h",
  day: "d",
};

/** `5/minute` for `5/min`, `5 per minute` or `5/mintue`, `5/10m` for `5/10 minutes`; undefined if nothing is near. */
export function toMeantRate(text: string): string | undefined {
  const [, limit, count, word] =
    /^\s*(\d{1,16})\s*(?:\/|per\b)\s*(?:(\d{1,15})\s*)?([a-z]{1,16})\s*$/i.exec(text) ?? [];
  const unit = word === undefined ? undefined : toUnit(word);
  if (unit === undefined) return undefined;
  const per = Object.keys(WORDS_MS).find((name) => WORDS_MS[name] === UNITS_MS[unit]);
  const meant = `${limit}/${count === undefined ? (per ?? `1${unit}`) : `${count}${unit}`}`;
  return toRatePer(meant) === undefined || meant === text ? undefined : meant;
}

/** `5m` for `5 min`, `5minutes`; undefined if nothing is near. */
function toMeantDuration(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const [, count, word] = /^\s*(\d{1,15})\s*([a-z]{1,16})\s*$/i.exec(value) ?? [];
  const unit = word === undefined ? undefined : toUnit(word);
  const meant = `${count}${unit}`;
  return unit === undefined || meant === value ? undefined : meant;
}

function toUnit(word: string): string | undefined {
  const one = word.toLowerCase();
  if (Object.hasOwn(UNITS_MS, one)) return one;
  const names = Object.keys(ALIASES).flatMap((name) => [name, `${name}s`]);
  const nearest = nearestName(one, names);
  return nearest === undefined
    ? undefined
    : (ALIASES[nearest.replace(/s$/, "")] ?? ALIASES[nearest]);
}

function toMs(text: string): number | undefined {
  if (!new RegExp(DURATION_PATTERN).test(text)) return undefined;
  const digits = /^[0-9]+/.exec(text)?.[0] ?? "";
  return Number(digits) * UNITS_MS[text.slice(digits.length)];
}
