// Sliding window logs and concurrency permits: lists of entries that expire. A log's entry is a
// charge that counts for windowMs, a permit counts until released, at most permitMs; both fit
// while the units of all live entries stay within the limit. Entries of the same millisecond are
// one entry, so a list is never longer than its limit.

import type { EntryLimit } from "./limit.js";
import { UNITS_MAX } from "./numbers.js";
import { IN_UNITS, unitsBack } from "./receipts.js";
import type { Algorithm, Settlement, Step } from "./step.js";

/** Units that count until the instant they expire. At that instant they are out. */
export interface ExpiringUnits {
  readonly expiresAtMs: number;
  readonly cost: number;
}

/** Live entries, the earliest to expire first, as an array or wherever a store keeps them. */
export interface EntryList extends Iterable<ExpiringUnits> {
  /** The cost of all entries. */
  readonly used: number;
  /** When the last entry expires; 0 if there is none. */
  readonly lastExpiresAtMs: number;
  /** The cost of the last entry; 0 if there is none. */
  readonly lastCost: number;
}

/** What a forced charge adds: the total stays where every sum is exact. */
export function forcedCost(live: EntryList, cost: number): number {
  return Math.max(0, Math.min(cost, 2 * UNITS_MAX - live.used));
}

/** How long an entry of this limit counts. */
export function lifeMs(limit: EntryLimit): number {
  return limit.algorithm === "concurrency" ? limit.permitMs : limit.windowMs;
}

/**
 * Decides a charge on a list from which everything that expired by `nowMs` was removed. What
 * becomes of the list is up to its owner.
 */
export function weigh(
  live: EntryList,
  limit: EntryLimit,
  cost: number,
  nowMs: number,
): Step<undefined> {
  const usedAfter = live.used + cost;
  const allowed = usedAfter <= limit.capacity;
  const mark = nowMs + lifeMs(limit);
  const lastMs = allowed && cost > 0 ? Math.max(mark, live.lastExpiresAtMs) : live.lastExpiresAtMs;
  return {
    allowed,
    remaining: Math.max(0, limit.capacity - (allowed ? usedAfter : live.used)),
    retryAfterMs: allowed ? 0 : waitMs(live, limit, cost, nowMs),
    resetMs: Math.max(0, lastMs - nowMs),
    delayMs: 0,
    state: undefined,
    mark,
    before: costAt(live, mark),
  };
}

function waitMs(live: EntryList, limit: EntryLimit, cost: number, nowMs: number): number {
  if (cost > limit.capacity) return Number.POSITIVE_INFINITY;
  let excess = live.used + cost - limit.capacity;
  for (const entry of live) {
    excess -= entry.cost;
    if (excess <= 0) return entry.expiresAtMs - nowMs;
  }
  return Number.POSITIVE_INFINITY;
}

/** Log and permits as pure values. The mark of a charge is the instant at which it expires. */
export const entries: Algorithm<readonly ExpiringUnits[], EntryLimit> = {
  idle: [],
  charge: (state, limit, cost, nowMs) => {
    const live = liveAt(state, limit, nowMs);
    const answer = weigh(toList(live), limit, cost, nowMs);
    return { ...answer, state: answer.allowed ? insert(live, answer.mark, cost) : live };
  },
  force: (state, limit, cost, nowMs) => {
    const live = liveAt(state, limit, nowMs);
    return insert(live, nowMs + lifeMs(limit), forcedCost(toList(live), cost));
  },
  refund: (state, limit, settlement, nowMs) =>
    unitsBack(settlement) === 0 ? state : remove(liveAt(state, limit, nowMs), settlement),
  grant: (state, limit, cost, nowMs) => dropOldest(liveAt(state, limit, nowMs), cost),
  inUse: (state, limit, mark, nowMs) => costAt(toList(liveAt(state, limit, nowMs)), mark),
  measure: () => IN_UNITS,
  share: (state, limit, nowMs) => toList(liveAt(state, limit, nowMs)).used / limit.capacity,
  // An entry keeps the instant at which it was promised to expire. Running work is not clipped.
  carry: (state, from, to, { fromMs }) => {
    const live = liveAt(state, from, fromMs);
    return to.algorithm === "concurrency"
      ? live
      : dropOldest(live, toList(live).used - to.capacity);
  },
};

/**
 * The latest instant at which an entry of this limit can expire. Log entries beyond it were
 * written before the clock stepped back and expire then; a permit's time may start after a delay.
 */
export function expiresAtMsMax(limit: EntryLimit, nowMs: number): number {
  return limit.algorithm === "concurrency" ? Number.POSITIVE_INFINITY : nowMs + limit.windowMs;
}

/** The units among these entries that expire at exactly that instant. */
export function costAt(live: EntryList, expiresAtMs: number): number {
  // Nearly always it is the latest entry that is asked for, or one that is yet to come.
  if (live.lastExpiresAtMs === expiresAtMs) return live.lastCost;
  if (live.lastExpiresAtMs < expiresAtMs) return 0;
  for (const entry of live) if (entry.expiresAtMs === expiresAtMs) return entry.cost;
  return 0;
}

/** What of a list counts at `nowMs`: nothing that expired, nothing for longer than it may. */
export function liveAt(
  state: readonly ExpiringUnits[],
  limit: EntryLimit,
  nowMs: number,
): readonly ExpiringUnits[] {
  const live = state.filter((entry) => entry.expiresAtMs > nowMs);
  const latestMs = expiresAtMsMax(limit, nowMs);
  const late = live.filter((entry) => entry.expiresAtMs > latestMs);
  return late.reduce<readonly ExpiringUnits[]>(
    (list, entry) => insert(list, latestMs, entry.cost),
    live.slice(0, live.length - late.length),
  );
}

/** An array as a list. */
export function toList(live: readonly ExpiringUnits[]): EntryList {
  const used = live.reduce((sum, entry) => sum + entry.cost, 0);
  const last = live.at(-1) ?? { expiresAtMs: 0, cost: 0 };
  return {
    used,
    lastExpiresAtMs: last.expiresAtMs,
    lastCost: last.cost,
    [Symbol.iterator]: () => live[Symbol.iterator](),
  };
}

function insert(
  live: readonly ExpiringUnits[],
  expiresAtMs: number,
  cost: number,
): readonly ExpiringUnits[] {
  if (cost === 0) return live;
  const before = live.filter((entry) => entry.expiresAtMs < expiresAtMs);
  const same = live.find((entry) => entry.expiresAtMs === expiresAtMs);
  const after = live.filter((entry) => entry.expiresAtMs > expiresAtMs);
  return [...before, { expiresAtMs, cost: cost + (same?.cost ?? 0) }, ...after];
}

function remove(live: readonly ExpiringUnits[], settlement: Settlement): readonly ExpiringUnits[] {
  const { receipt } = settlement;
  const back = unitsBack(settlement);
  return live
    .map((entry) =>
      entry.expiresAtMs === receipt.mark ? { ...entry, cost: entry.cost - back } : entry,
    )
    .filter((entry) => entry.cost > 0);
}

function dropOldest(live: readonly ExpiringUnits[], cost: number): readonly ExpiringUnits[] {
  let left = cost;
  return live
    .map((entry) => {
      const dropped = Math.max(0, Math.min(left, entry.cost));
      left -= dropped;
      return { ...entry, cost: entry.cost - dropped };
    })
    .filter((entry) => entry.cost > 0);
}
