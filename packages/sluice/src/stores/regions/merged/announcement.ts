// What a process announces to another region of one key: what it admitted in the region's current window, and, where the
// limit may soon be exhausted, what it will have admitted by the time of the next announcement. Without the second part
// every region would spend all that is left before it hears of the others. The next announcement corrects it.

import type { MergedKey } from "./merged-key.js";
import type { Register } from "./register.js";

/** Room for this many times what all could spend until the next announcement is plenty: nothing is announced ahead. */
const PLENTY = 4;

/** When and between how many something is announced. */
export interface AnnouncementTime {
  /** By the clock of the own region's store. */
  readonly ownMs: number;
  /** By the clock of the other region's store, when it arrives there. */
  readonly peerMs: number;
  /** Until the announcement after it arrives. */
  readonly horizonMs: number;
  readonly regions: number;
  /** How many processes of a region share what is left there. */
  readonly nodes: number;
}

/** Units that a register should have, and how many of them are announced ahead. */
export interface Announcement {
  readonly units: number;
  readonly aheadUnits: number;
}

/** What a region's register of this process should have. */
export function announcementOf(
  key: MergedKey,
  register: Register,
  time: AnnouncementTime,
): Announcement {
  if (!key.hasWindows) {
    // What is admitted too much is debt, which is paid back: nothing has to be announced ahead.
    const units = key.unitsIn(Number.POSITIVE_INFINITY) - register.doneUnits;
    return { units: Math.max(0, units), aheadUnits: 0 };
  }
  const endMs = key.endMsAt(time.peerMs);
  const aheadUnits = aheadOf(key, register, { ...time, endMs });
  return { units: key.unitsIn(endMs) + aheadUnits, aheadUnits };
}

function aheadOf(
  key: MergedKey,
  register: Register,
  { ownMs, endMs, horizonMs, regions, nodes }: AnnouncementTime & { readonly endMs: number },
): number {
  const ownEndMs = key.endMsAt(ownMs);
  if (ownEndMs > endMs) return 0;
  const spendMs = horizonMs - (ownEndMs === endMs ? 0 : key.untilMs(endMs, ownMs));
  const wanted = Math.floor(key.demandPerMs * spendMs);
  const room = key.roomEndMs === endMs ? key.roomUnits : key.counter.limit.capacity;
  if (wanted <= 0 || PLENTY * regions * nodes * key.demandPerMs * horizonMs < room) return 0;
  // With what was announced before, each region ends with an equal part of what is left, or all if it alone needs it.
  const before = register.endMs === endMs ? register.aheadUnits : 0;
  return Math.min(wanted, Math.floor((room / nodes + (regions - 1) * before) / regions));
}
