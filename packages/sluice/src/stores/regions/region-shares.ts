// How a limit is shared between regions: whole units by weight, which always add up to the limit, and the same part of
// its rate. Every region computes the shares of all regions from the same names and weights, so that none has to be asked.

import { SluiceError } from "../../base/errors.js";
import type { Limit } from "../../limits/limits.js";
import { partOfLimit } from "../sharded/split-limit.js";

/**
 * The units of each region: its part by weight, rounded down, and one unit more for the regions that lost most by
 * rounding, in the order of their names where they lost the same. A region with a small weight may get none.
 */
export function shareUnits(
  units: number,
  weights: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const total = BigInt(totalOf(weights));
  const parts = [...weights].map(([name, weight]) => {
    const product = BigInt(units) * BigInt(weight);
    return { name, units: Number(product / total), lost: product % total };
  });
  let left = units - parts.reduce((sum, part) => sum + part.units, 0);
  const shares = new Map<string, number>();
  for (const part of parts.toSorted(byLoss)) {
    shares.set(part.name, part.units + (left > 0 ? 1 : 0));
    left--;
  }
  return shares;
}

/**
 * The share of one region of a limit.
 *
 * @throws SluiceError `SLUICE_LIMIT_INVALID` if the share has no units, or its rate can't be counted exactly.
 */
export function shareOfLimit(
  limit: Limit,
  weights: ReadonlyMap<string, number>,
  region: string,
): Limit {
  const units = shareUnits(limit.capacity, weights).get(region) ?? 0;
  if (units === 0) {
    const seen = `${limit.capacity} units of a ${limit.algorithm} leave none for the region ${region}`;
    throw new SluiceError("SLUICE_LIMIT_INVALID", seen);
  }
  return partOfLimit(limit, units, { part: weights.get(region) ?? 1, of: totalOf(weights) });
}

interface Part {
  readonly name: string;
  readonly lost: bigint;
}

function byLoss(a: Part, b: Part): number {
  if (a.lost !== b.lost) return a.lost > b.lost ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

function totalOf(weights: ReadonlyMap<string, number>): number {
  return [...weights.values()].reduce((sum, weight) => sum + weight, 0);
}
