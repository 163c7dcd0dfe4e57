// Durations as strings. As input: `500ms`, `10s`, `5m`, `1h` or `7d`. Other spellings that people know are not accepted,
// so that there is one way to write a duration, but errors can name the one that was meant. In messages for people:
// `29 days 5 hours`.

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

/**
 * A duration in words, for people: `500 ms`, `2.5 seconds`, `29 days 5 hours`. It has at most two units and is rounded
 * up, so that a caller who waits that long is never too early; `never` if it does not end.
 */
export function formatDuration(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return "never";
  if (ms < 1_000) return `${Math.ceil(ms)} ms`;
  if (ms < 10_000) return withUnit(Math.ceil(ms / 100) / 10, "second");
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return withUnit(seconds, "second");
  if (seconds < 3_600) return inTwoUnits(seconds, 60, "minute", "second");
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 1_440) return inTwoUnits(minutes, 60, "hour", "minute");
  return inTwoUnits(Math.ceil(minutes / 60), 24, "day", "hour");
}

/** `amount` of the small unit in both units; `size` small ones make a large one. */
function inTwoUnits(amount: number, size: number, large: string, small: string): string {
  const rest = amount % size;
  const whole = withUnit(Math.floor(amount / size), large);
  return rest === 0 ? whole : `${whole} ${withUnit(rest, small)}`;
}

function withUnit(amount: number, unit: string): string {
  return amount === 1 ? `1 ${unit}` : `${amount} ${unit}s`;
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
