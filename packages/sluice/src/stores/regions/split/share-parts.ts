// Shares of limits that regions learn from their demand: whole hundredths, so that a region's part of any rate is exact.
// A limit whose smallest share would be too small to use, or that remembers for too long, keeps its share by weights.

import { SluiceError } from "../../../base/errors.js";
import type { Limit } from "../../../limits/limits.js";
import { partOfLimit } from "../../sharded/split-limit.js";
import { shareUnits } from "../region-shares.js";

/** All parts of a limit. */
export const PARTS = 100;
/** A region keeps at least one in so many of its parts by weight, whatever others ask for: its first requests need some. */
const KEPT_OF = 10;
/** The fewest units of a share: a request may cost more than one. */
const UNITS_MIN = 5;
/** Limits that remember for longer follow demand too slowly: their shares stay as the weights say. */
const MEMORY_MS_MAX = 3_600_000;

/** The parts of each region by its weight. They add up to {@link PARTS}; a region with a small weight may have none. */
export function partsByWeight(weights: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return shareUnits(PARTS, weights);
}

/** The parts that a region never gives up, of those that it has by its weight. */
export function keptParts(byWeight: number): number {
  return Math.max(1, Math.floor(byWeight / KEPT_OF));
}

/**
 * The shares of a limit by their parts, from `fewest` on; undefined if regions can't learn its shares. Units are rounded
 * down, so shares never add up to more than the limit.
 */
export function sharesByParts(
  limit: Limit,
  fewest: number,
): ReadonlyMap<number, Limit> | undefined {
  if (Math.floor((limit.capacity * fewest) / PARTS) < UNITS_MIN) return undefined;
  if (memoryMs(limit, { from: 2, to: 1 }) > MEMORY_MS_MAX) return undefined;
  const shares = new Map<number, Limit>();
  try {
    for (let parts = fewest; parts <= PARTS; parts++) {
      const units = Math.floor((limit.capacity * parts) / PARTS);
      shares.set(
        parts,
        parts === PARTS ? limit : partOfLimit(limit, units, { part: parts, of: PARTS }),
      );
    }
  } catch (error) {
    // A rate that can't be divided exactly, in any region.
    if (error instanceof SluiceError) return undefined;
    throw error;
  }
  return shares;
}

/**
 * How long after a share was changed counters that start with nothing then say the same as if they had counted from the
 * beginning: a window until the next one begins, a bucket until it has refilled. Infinity if that is not known.
 */
export function memoryMs(limit: Limit, { from, to }: { from: number; to: number }): number {
  switch (limit.algorithm) {
    case "fixedWindow":
    case "slidingWindowLog":
      return limit.windowMs;
    case "slidingWindowCounter":
      // The window before counts too.
      return 2 * limit.windowMs;
    case "concurrency":
      return limit.permitMs;
    case "quota":
    case "sketch":
      return Number.POSITIVE_INFINITY;
    default: {
      // What was in use before refills as fast as the new share does; a unit more, for what was rounded.
      const unitsPerMs = limit.ticksPerMs / limit.ticksPerUnit;
      return Math.ceil((limit.capacity * from + PARTS) / to / unitsPerMs);
    }
  }
}
