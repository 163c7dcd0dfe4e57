// Lengths of time as @fastify/rate-limit reads and writes them: "1 minute", "30s", "1.5 hours".

import { show } from "../../../base/errors.js";
import { type OptionSite, refuse } from "../../../base/shapes/code-options.js";

const DAY_MS = 86_400_000;

const UNITS = [
  { name: "year", ms: 365.25 * DAY_MS, form: /^y(?:ears?|rs?)?$/ },
  { name: "week", ms: 7 * DAY_MS, form: /^w(?:eeks?|ks?)?$/ },
  { name: "day", ms: DAY_MS, form: /^d(?:ays?)?$/ },
  { name: "hour", ms: 3_600_000, form: /^h(?:ours?|rs?)?$/ },
  { name: "minute", ms: 60_000, form: /^m(?:in(?:utes?|s)?)?$/ },
  { name: "second", ms: 1_000, form: /^s(?:ec(?:onds?|s)?)?$/ },
  { name: "millisecond", ms: 1, form: /^(?:m(?:illiseconds?|s(?:ecs?)?))?$/ },
] as const;

/** Units for output: weeks are written as days, as in @fastify/rate-limit. */
const WRITTEN = UNITS.filter(({ name }) => name !== "week" && name !== "millisecond");

const FORM = /^(\d{0,15}\.?\d{1,15}) {0,8}([a-z]*)$/;

const WINDOW_MS_DEFAULT = 60_000;

/**
 * The option `timeWindow`: a string becomes milliseconds, a function stays a function, and an invalid number
 * becomes the default, as in @fastify/rate-limit.
 */
export function toTimeWindow<F extends (...args: never[]) => unknown>(
  site: OptionSite,
  timeWindow: number | string | F = WINDOW_MS_DEFAULT,
): number | F {
  if (typeof timeWindow === "function") return timeWindow;
  if (typeof timeWindow === "string") return parseTimeWindow(site, timeWindow);
  return toWindowMs(timeWindow);
}

/** The length of a window, at least a millisecond; an invalid number becomes the default. */
export function toWindowMs(windowMs: unknown): number {
  if (!Number.isFinite(windowMs) || (windowMs as number) < 0) return WINDOW_MS_DEFAULT;
  return Math.max(1, Math.trunc(windowMs as number));
}

/** Parses a length of time, in milliseconds. A number without a unit is milliseconds. */
export function parseTimeWindow(site: OptionSite, text: string): number {
  const [, amount, unit = ""] = FORM.exec(text.trim().toLowerCase()) ?? [];
  const found = UNITS.find(({ form }) => form.test(unit));
  if (amount === undefined || found === undefined) {
    refuse(
      site,
      `timeWindow must be milliseconds or a string such as "1 minute", got ${show(text)}`,
    );
  }
  return Math.max(1, Math.round(Number(amount) * found.ms));
}

/** Writes a length of time in its largest unit, rounded to the nearest: "2 minutes". */
export function formatTimeWindow(lengthMs: number): string {
  if (!Number.isFinite(lengthMs)) return "never";
  const unit = WRITTEN.find(({ ms }) => lengthMs >= ms);
  if (unit === undefined) return `${lengthMs} ms`;
  const amount = Math.round(lengthMs / unit.ms);
  return `${amount} ${unit.name}${amount === 1 ? "" : "s"}`;
}
