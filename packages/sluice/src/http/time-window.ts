// Lengths of time as @fastify/rate-limit takes and tells them: "1 minute", "30s", "2 hours".

import { show } from "../errors.js";
import { type OptionSite, refuse } from "../options.js";

const UNITS = [
  { name: "day", ms: 86_400_000, short: ["d"] },
  { name: "hour", ms: 3_600_000, short: ["h", "hr"] },
  { name: "minute", ms: 60_000, short: ["m", "min"] },
  { name: "second", ms: 1_000, short: ["s", "sec"] },
  { name: "millisecond", ms: 1, short: ["ms", "msec"] },
] as const;

const FORM = /^(\d{1,15}(?:\.\d{1,9})?) ?([a-z]+?)s?$/i;

const WINDOW_MS_DEFAULT = 60_000;

/** The option `timeWindow`: text becomes milliseconds, and a function stays one. */
export function toTimeWindow<F extends (...args: never[]) => unknown>(
  site: OptionSite,
  timeWindow: number | string | F = WINDOW_MS_DEFAULT,
): number | F {
  return typeof timeWindow === "string" ? parseTimeWindow(site, timeWindow) : timeWindow;
}

/** Reads a length of time in milliseconds off a text. */
export function parseTimeWindow(site: OptionSite, text: string): number {
  const [, amount, unit] = FORM.exec(text.trim()) ?? [];
  const word = unit?.toLowerCase();
  // "ms" loses its "s" to the plural.
  const names = (word === "m" && /ms$/i.test(text.trim()) ? "ms" : word) ?? "";
  const found = UNITS.find(({ name, short }) => [name, ...short].includes(names as never));
  if (found === undefined) {
    refuse(site, `timeWindow must be milliseconds or text such as "1 minute", got ${show(text)}`);
  }
  return Math.round(Number(amount) * found.ms);
}

/** Tells a length of time in its largest unit, rounded up: "2 minutes". */
export function formatTimeWindow(lengthMs: number): string {
  if (!Number.isFinite(lengthMs)) return "never";
  const unit = UNITS.find(({ ms }) => lengthMs >= ms) ?? UNITS[UNITS.length - 1];
  const amount = Math.ceil(lengthMs / unit.ms);
  return `${amount} ${unit.name}${amount === 1 ? "" : "s"}`;
}
