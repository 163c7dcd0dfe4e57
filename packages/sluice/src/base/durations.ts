// Durations as strings: `500ms`, `10s`, `5m`, `1h` or `7d`. Other spellings that people know are not accepted, so that
// there is one way to write a duration, but errors can name the one that was meant.

import { nearestName } from "./nearest-name.js";

/** The units of a duration. */
export type DurationUnit = "ms" | "s" | "m" | "h" | "d";

/** How long each unit is, in milliseconds. */
export const UNITS_MS: Readonly<Record<DurationUnit, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

// More digits than any duration within bounds has.
/** What {@link parseDuration} accepts, as a regular expression. */
export const DURATION_PATTERN = "^[0-9]{1,15}(ms|s|m|h|d)$";

/** A duration in milliseconds; undefined if the string is not one. */
export function parseDuration(duration: string): number | undefined {
  if (!new RegExp(DURATION_PATTERN).test(duration)) return undefined;
  const digits = /^[0-9]+/.exec(duration)?.[0] ?? "";
  return Number(digits) * UNITS_MS[duration.slice(digits.length) as DurationUnit];
}

// Other words for a unit, besides its plural.
const ALIASES: Readonly<Record<string, DurationUnit>> = {
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

/** `5m` for `5 min`, `5minutes`; undefined if nothing is near. */
export function toMeantDuration(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const [, count, word] = /^\s*(\d{1,15})\s*([a-z]{1,16})\s*$/i.exec(value) ?? [];
  const unit = word === undefined ? undefined : toMeantUnit(word);
  const meant = `${count}${unit}`;
  return unit === undefined || meant === value ? undefined : meant;
}

/** `m` for `minutes`, `min` or `mintue`; undefined if nothing is near. */
export function toMeantUnit(word: string): DurationUnit | undefined {
  const one = word.toLowerCase();
  if (Object.hasOwn(UNITS_MS, one)) return one as DurationUnit;
  const names = Object.keys(ALIASES).flatMap((name) => [name, `${name}s`]);
  const nearest = nearestName(one, names);
  return nearest === undefined
    ? undefined
    : (ALIASES[nearest.replace(/s$/, "")] ?? ALIASES[nearest]);
}
