// What the rates of rules were over the last two minutes, as far as a page with a live stream was open: for sparklines and
// charts. It is kept while other pages are looked at, so that Rules has lines to show after Live was open.

import type { LiveTick } from "sluice-server/api";

/** The rates of one rule; the latest last. */
export interface RateHistory {
  /** Unix seconds. */
  readonly times: number[];
  readonly allowed: number[];
  readonly refused: number[];
  readonly shadowed: number[];
}

/** Seconds that are kept. */
const KEPT_MAX = 120;
const RULES_MAX = 20_000;
/** Rates of single seconds can't be read in a list. */
const LATELY = 5;

const histories = new Map<string, RateHistory>();

/** What the rates of a rule were; undefined if none are known. */
export function rateHistoryOf(rule: string): RateHistory | undefined {
  return histories.get(rule);
}

/** Requests per second over the last seconds; 0 if none. */
export function lately(rule: string, of: "allowed" | "refused" | "shadowed"): number {
  const values = histories.get(rule)?.[of];
  // Of ten thousand rules most are idle.
  if (values === undefined) return 0;
  const last = values.slice(-LATELY);
  return last.reduce((a, b) => a + b, 0) / Math.max(1, last.length);
}

/** Adds a second of all nodes that lists all rules which are not idle. */
export function noteRates({ atMs, rules }: LiveTick): void {
  const seconds = atMs / 1_000;
  const seen = new Set<string>();
  for (const { rule, allowed, delayed, blocked, shadowBlocked } of rules) {
    seen.add(rule);
    add(historyOf(rule), seconds, [allowed + delayed, blocked, shadowBlocked]);
  }
  // Rules that are not listed are idle, or not among the 100 busiest of a follower.
  for (const [id, history] of histories) if (!seen.has(id)) add(history, seconds, [0, 0, 0]);
}

function historyOf(rule: string): RateHistory {
  let history = histories.get(rule);
  if (history === undefined) {
    history = { times: [], allowed: [], refused: [], shadowed: [] };
    if (histories.size < RULES_MAX) histories.set(rule, history);
  }
  return history;
}

function add(
  { times, allowed, refused, shadowed }: RateHistory,
  seconds: number,
  values: readonly [number, number, number],
): void {
  for (const [list, value] of [
    [times, seconds],
    [allowed, values[0]],
    [refused, values[1]],
    [shadowed, values[2]],
  ] as const) {
    list.push(value);
  }
  // The page may not have been open all the time.
  const old = times.findIndex((time) => time > seconds - KEPT_MAX);
  if (old > 0) for (const list of [times, allowed, refused, shadowed]) list.splice(0, old);
}
