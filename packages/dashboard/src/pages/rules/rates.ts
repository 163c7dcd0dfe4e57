// The rates of rules over the last two minutes, as far as the page was open, from the live stream. What they were is kept
// here, for sparklines and charts, also while another page is looked at in between.

import { useEffect, useState } from "preact/hooks";
import type { LiveFleet, LiveTick } from "sluice-server/api";
import { openLive } from "../../api/live-stream.js";
import { useSession } from "../../api/session.js";

/** The rates of one rule; the latest last. */
export interface RateHistory {
  /** Unix seconds. */
  readonly times: number[];
  readonly allowed: number[];
  readonly refused: number[];
  readonly shadowed: number[];
}

/** What is known of each rule. */
export interface Rates {
  /** The latest second; undefined until there is one. */
  readonly tick: LiveTick | undefined;
  of(rule: string): RateHistory | undefined;
  /** Requests per second over the last seconds; 0 if none. */
  lately(rule: string, of: "allowed" | "refused" | "shadowed"): number;
}

const KEPT_MAX = 120;
const RULES_MAX = 20_000;
/** Rates of single seconds can't be read in a list. */
const LATELY = 5;

const histories = new Map<string, RateHistory>();

/** Reads the rates of all rules, each second. */
export function useRates(): Rates {
  const session = useSession();
  const [tick, setTick] = useState<LiveTick | undefined>(undefined);
  useEffect(
    () =>
      openLive(
        { showsKeys: false, hasAllRules: true },
        {
          onBegin: () => {},
          onTick: (next) => {
            note(next);
            setTick(next);
          },
          // Rates stay as they were; what else the page asks says what is wrong.
          onLost: () => {},
        },
      ),
    // A stream ends with its session; the next login opens it again.
    [session],
  );
  return { tick, of: (rule) => histories.get(rule), lately };
}

/** ` on this node`, or on how many; empty until it is known. */
export function sayWhere(fleet: LiveFleet | undefined): string {
  if (fleet === undefined) return "";
  return fleet.reporting < 2 ? " on this node" : ` on ${fleet.reporting} nodes together`;
}

function lately(rule: string, of: "allowed" | "refused" | "shadowed"): number {
  const values = histories.get(rule)?.[of];
  // Of ten thousand rules most are idle.
  if (values === undefined) return 0;
  const last = values.slice(-LATELY);
  return last.reduce((a, b) => a + b, 0) / Math.max(1, last.length);
}

function note({ atMs, rules }: LiveTick): void {
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
    if (list.length > KEPT_MAX) list.shift();
  }
}
