// How much of a key a process may admit before other regions know of it. While there is plenty, as much as is asked for.
// Where the limit may be exhausted before the next exchange, no more than other regions have charged already: an equal part
// of the window to begin with, then what was announced ahead. So regions that spend the rest of a window at the same time
// don't all spend it.

import type { Verdict } from "../../../base/decision.js";
import type { MergedKey } from "./merged-key.js";
import type { PeerRegion } from "./peer-region.js";

/** Less room than this many times what all could spend until they hear of each other is tight. */
const TIGHT = 1.5;

/** What spending depends on, besides the key. */
export interface SpendingSetup {
  readonly peers: readonly PeerRegion[];
  readonly nodes: number;
}

/** Whether a process may admit units of a key now, whatever its own store says. */
export function maySpend(
  key: MergedKey,
  cost: number,
  { ownMs, nowMs }: { readonly ownMs: number; readonly nowMs: number },
  { peers, nodes }: SpendingSetup,
): boolean {
  if (!key.hasWindows || key.demandPerMs === 0) return true;
  const holders = (peers.length + 1) * nodes;
  const endMs = key.endMsAt(ownMs);
  const { capacity } = key.counter.limit;
  const room = key.roomEndMs === endMs ? key.roomUnits : capacity;
  const horizonMs = peers.reduce((most, peer) => Math.max(most, peer.horizonMs), 0);
  if (room > TIGHT * holders * key.demandPerMs * horizonMs) return true;
  let charged = Number.POSITIVE_INFINITY;
  for (const peer of peers) {
    const units = peer.chargedUnitsOf(key, endMs, nowMs);
    if (units !== undefined) charged = Math.min(charged, units);
  }
  return key.unitsIn(endMs) + cost <= Math.max(charged, Math.floor(capacity / holders));
}

/** The refusal of a cost that has to wait for the next exchange. */
export function toWait(verdict: Verdict, peers: readonly PeerRegion[]): Verdict {
  const waitMs = Math.ceil(Math.max(1, ...peers.map(({ horizonMs }) => horizonMs)));
  const retryAfterMs = Math.max(waitMs, verdict.retryAfterMs);
  return { ...verdict, allowed: false, remaining: 0, retryAfterMs, delayMs: 0 };
}
