// The last minutes, one value for each second, as the chart wants them.

import type { LiveBegin, LiveTick } from "sluice-server/api";
import { wallMs } from "../../base/clock.js";

/** Five minutes. */
const SECONDS = 300;

/** The requests of each second; null: not known. */
export type SecondCounts = readonly (number | null)[];

/** Unix seconds, and then the requests in each of them by how they ended. */
export type LiveHistory = readonly [
  times: readonly number[],
  allowed: SecondCounts,
  refused: SecondCounts,
  delayed: SecondCounts,
  shadowed: SecondCounts,
];

/** Nothing yet: five minutes of zeros, so that the chart has its size. */
export const NO_HISTORY: LiveHistory = toHistory([]);

type Second = LiveBegin["seconds"][number];

/** Seconds without decisions are zero. */
export function toHistory(seconds: readonly Second[]): LiveHistory {
  const last = Math.floor(wallMs() / 1_000) - 1;
  const bySecond = new Map(seconds.map((each) => [Math.floor(each.atMs / 1_000), each]));
  const times = Array.from({ length: SECONDS }, (_, at) => last - SECONDS + 1 + at);
  const list = (field: keyof Omit<Second, "atMs">) =>
    times.map((time) => bySecond.get(time)?.[field] ?? 0);
  return [times, list("allowed"), list("blocked"), list("delayed"), list("shadowBlocked")];
}

/** The same with one second more, without the oldest. */
export function addSecond(history: LiveHistory, tick: LiveTick): LiveHistory {
  const { atMs, allowed, blocked, delayed, shadowBlocked } = tick;
  const counts = isSilent(tick)
    ? [null, null, null, null]
    : [allowed, blocked, delayed, shadowBlocked];
  const values = [atMs / 1_000, ...counts];
  return history.map((list, at) => [...list.slice(1), values[at]]) as unknown as LiveHistory;
}

/** Whether the one node that is shown has not reported: then its requests are missing, which is not the same as none. */
function isSilent({ fleet: { picked, nodes } }: LiveTick): boolean {
  return nodes.some((node) => node.name === picked && node.isSilent);
}
