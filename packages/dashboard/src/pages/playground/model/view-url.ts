// The URL that reproduces a view: settings that differ from the defaults, drawn bars, small logs, the time under the cursor.

import type { LoggedRequest } from "./read-log.js";
import {
  BAR_MAX,
  BARS,
  DEFAULTS,
  HOLD_NAMES,
  KEYINGS,
  type LengthName,
  lengthOf,
  nameOfLength,
  RANGES,
  type RangeName,
  RETRIES,
  type Settings,
  SHAPES,
  WINDOW_NAMES,
  withShape,
} from "./settings.js";

/** What the URL reproduces. */
export interface PlaygroundView {
  readonly settings: Settings;
  readonly log: readonly LoggedRequest[];
  /** The time under the cursor as a share of the run, in thousandths; undefined if the page chooses it. */
  readonly at: number | undefined;
}

/** The most characters that a log may have in a URL: servers and chats cut longer ones. */
export const LOG_CHARS_MAX = 6_000;
const NAME_OF_RANGE: Readonly<Record<RangeName, string>> = {
  limit: "limit",
  burst: "burst",
  queue: "queue",
  cost: "cost",
  quota: "quota",
  loadPercent: "load",
};
const RANGE_NAMES = Object.keys(NAME_OF_RANGE) as readonly RangeName[];

/** The query of a view, without the question mark; empty for the first view. */
export function toQuery({ settings, log, at }: PlaygroundView): string {
  const query = new URLSearchParams();
  // A shape brings settings of its own, which need not be said.
  const base = withShape(DEFAULTS, settings.shape);
  if (settings.shape !== DEFAULTS.shape) query.set("shape", settings.shape);
  for (const name of RANGE_NAMES) {
    if (settings[name] !== base[name]) query.set(NAME_OF_RANGE[name], `${settings[name]}`);
  }
  if (settings.windowMs !== base.windowMs) query.set("window", toName(settings.windowMs));
  if (settings.holdMs !== base.holdMs) query.set("hold", toName(settings.holdMs));
  if (settings.keying !== base.keying) query.set("key", settings.keying);
  if (settings.retry !== base.retry) query.set("retry", settings.retry);
  if (settings.shape === "drawn") query.set("bars", toDigits(settings.bars));
  if (settings.shape === "log" && log.length > 0) {
    const text = encodeLog(log);
    if (text.length <= LOG_CHARS_MAX) query.set("log", text);
  }
  if (at !== undefined) query.set("at", `${at}`);
  return query.toString();
}

/** The view of a query. What is missing or can't be read is the default. */
export function fromQuery(search: string): PlaygroundView {
  const query = new URLSearchParams(search);
  const base = withShape(DEFAULTS, oneOf(SHAPES, query.get("shape")) ?? DEFAULTS.shape);
  const numbers = Object.fromEntries(
    RANGE_NAMES.map((name) => [
      name,
      toWhole(query.get(NAME_OF_RANGE[name]), RANGES[name]) ?? base[name],
    ]),
  ) as Record<RangeName, number>;
  const settings: Settings = {
    ...base,
    ...numbers,
    windowMs: toLength(WINDOW_NAMES, query.get("window")) ?? base.windowMs,
    holdMs: toLength(HOLD_NAMES, query.get("hold")) ?? base.holdMs,
    keying: oneOf(KEYINGS, query.get("key")) ?? base.keying,
    retry: oneOf(RETRIES, query.get("retry")) ?? base.retry,
    bars: fromDigits(query.get("bars")) ?? base.bars,
  };
  return {
    settings,
    log: decodeLog(query.get("log") ?? ""),
    at: toWhole(query.get("at"), { min: 0, max: 1_000 }),
  };
}

function oneOf<T extends string>(names: readonly T[], given: string | null): T | undefined {
  return names.find((name) => name === given);
}

function toWhole(
  given: string | null,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  if (given === null || !/^\d{1,6}$/.test(given)) return undefined;
  return Math.min(max, Math.max(min, Number(given)));
}

function toName(ms: number): string {
  return nameOfLength(ms) ?? `${ms}ms`;
}

function toLength(names: readonly LengthName[], given: string | null): number | undefined {
  const name = oneOf(names, given);
  return name === undefined ? undefined : lengthOf(name);
}

function toDigits(bars: readonly number[]): string {
  return bars.map((bar) => Math.min(BAR_MAX, bar).toString(36)).join("");
}

function fromDigits(given: string | null): readonly number[] | undefined {
  if (given === null || given.length !== BARS || !/^[0-9a-z]+$/.test(given)) return undefined;
  return [...given].map((digit) => Number.parseInt(digit, 36));
}

/** Times as differences in base 36, in seconds if all are whole ones; another client than 0 behind a hyphen. */
function encodeLog(log: readonly LoggedRequest[]): string {
  const isWhole = log.every(({ atMs }) => atMs % 1_000 === 0);
  const unitMs = isWhole ? 1_000 : 1;
  let before = 0;
  const parts = log.map(({ atMs, client }) => {
    const since = (atMs - before) / unitMs;
    before = atMs;
    return since.toString(36) + (client === 0 ? "" : `-${client.toString(36)}`);
  });
  return `${isWhole ? "s" : "m"}.${parts.join(".")}`;
}

function decodeLog(text: string): readonly LoggedRequest[] {
  if (text.length > LOG_CHARS_MAX || !/^[sm](?:\.[0-9a-z]{1,9}(?:-[0-9a-z]{1,3})?)+$/.test(text))
    return [];
  const [unit, ...parts] = text.split(".");
  const unitMs = unit === "s" ? 1_000 : 1;
  let atMs = 0;
  return parts.map((part) => {
    const [since = "0", client = "0"] = part.split("-");
    atMs += Number.parseInt(since, 36) * unitMs;
    return { atMs, client: Number.parseInt(client, 36) };
  });
}
