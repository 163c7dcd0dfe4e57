// The rates of rules over the last two minutes, as far as the page was open. The service has the current ones; what
// they were is kept here, for sparklines and charts, also while another page is looked at in between.

import { useEffect, useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import type { ApiError } from "../../api/client.js";
import { CLEAR_KEYS } from "../../api/session.js";
import { useAnswer } from "../../api/use-answer.js";
import { wallMs } from "../../base/clock.js";

/** The rates of one rule; the latest last. */
export interface RateHistory {
  /** Unix seconds. */
  readonly times: number[];
  readonly allowed: number[];
  readonly refused: number[];
  readonly shadowed: number[];
}

type Top = ReplyOf<"top">;

const KEPT_MAX = 60;
const RULES_MAX = 20_000;
const POLL_MS = 2_000;

const histories = new Map<string, RateHistory>();

/** What was asked last, and what is known of each rule. */
export interface Rates {
  readonly top: Top | undefined;
  readonly error: ApiError | undefined;
  of(rule: string): RateHistory | undefined;
}

/**
 * Asks for rates every two seconds.
 *
 * @param rule - Only of this rule, with its heaviest keys. Default: of all.
 * @param showsKeys - Whether keys are shown as they are counted. Default false.
 */
export function useRates(rule?: string, showsKeys = false): Rates {
  const [, setTurn] = useState(0);
  const { data, error } = useAnswer("top", "/v1/top", {
    query: { rule, keys: showsKeys ? "clear" : undefined },
    ...(showsKeys && { headers: CLEAR_KEYS }),
    everyMs: POLL_MS,
  });
  useEffect(() => {
    if (data === undefined) return;
    note(data, rule);
    setTurn((turn) => turn + 1);
  }, [data]);
  return { top: data, error, of: (id) => histories.get(id) };
}

function note({ rules }: Top, only: string | undefined): void {
  const seconds = wallMs() / 1_000;
  const seen = new Set<string>();
  for (const rate of rules) {
    seen.add(rate.rule);
    const { allowedPerSecond, blockedPerSecond, shadowBlockedPerSecond } = rate;
    add(historyOf(rate.rule), seconds, [
      allowedPerSecond,
      blockedPerSecond,
      shadowBlockedPerSecond,
    ]);
  }
  // Rules that are not listed are idle.
  for (const [id, history] of histories)
    if (!seen.has(id) && (only === undefined || only === id)) add(history, seconds, [0, 0, 0]);
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
  // Two parts of the page may ask in the same moment.
  if (seconds - (times.at(-1) ?? 0) < 0.5) return;
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
