// Numbers, durations, times and sizes for people: always with their unit.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const small = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const percents = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const smallPercents = new Intl.NumberFormat("en", {
  style: "percent",
  maximumSignificantDigits: 1,
});
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const absolute = new Intl.DateTimeFormat("en", {
  dateStyle: "medium",
  timeStyle: "long",
  hourCycle: "h23",
});

/** `1,234`: rounded to a whole number. */
export function formatCount(value: number): string {
  return whole.format(value);
}

/** `0`, `0.42`, `12.3`, `4.56K`. */
export function formatShort(value: number): string {
  return short.format(value);
}

/** `12.3/s`, `4.9/s`. */
export function formatRate(perSecond: number): string {
  return `${(perSecond < 10 ? small : short).format(perSecond)}/s`;
}

/** `12.3%`, `0.04%`, of a share between 0 and 1. */
export function formatShare(share: number): string {
  return (share < 0.001 ? smallPercents : percents).format(share);
}

/** `0.4 ms`, `12 s`, `3 min`, `29 days`: one unit, rounded. */
export function formatDuration(ms: number | null): string {
  if (ms === null || !Number.isFinite(ms)) return "never";
  const [size, unit] = toUnit(ms);
  const value = ms / size;
  const shown = value < 10 && unit !== "day" ? Number(value.toPrecision(2)) : Math.round(value);
  return unit === "day" ? `${shown} ${shown === 1 ? "day" : "days"}` : `${shown} ${unit}`;
}

function toUnit(ms: number): readonly [number, string] {
  const size = Math.abs(ms);
  if (size >= 2 * DAY_MS) return [DAY_MS, "day"];
  if (size >= 2 * HOUR_MS) return [HOUR_MS, "h"];
  if (size >= 2 * MINUTE_MS) return [MINUTE_MS, "min"];
  if (size >= SECOND_MS) return [SECOND_MS, "s"];
  return size > 0 && size < 0.1 ? [0.001, "µs"] : [1, "ms"];
}

/** `3 minutes ago`, `in 2 hours`. */
export function formatRelative(atMs: number, nowMs: number): string {
  const ms = atMs - nowMs;
  const size = Math.abs(ms);
  if (size < MINUTE_MS) return relative.format(Math.round(ms / SECOND_MS), "second");
  if (size < HOUR_MS) return relative.format(Math.round(ms / MINUTE_MS), "minute");
  if (size < DAY_MS) return relative.format(Math.round(ms / HOUR_MS), "hour");
  return relative.format(Math.round(ms / DAY_MS), "day");
}

/** `Nov 16, 2026, 12:42:05 UTC`, in the time zone of the browser. */
export function formatAbsolute(atMs: number): string {
  return absolute.format(atMs);
}

const SIZES = ["B", "kB", "MB", "GB"] as const;

/** `12.3 kB`. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${Number((bytes / 1_000 ** power).toPrecision(3))} ${SIZES[power]}`;
}
