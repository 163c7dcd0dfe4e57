// How a limit is cut into shards: parts that together hold exactly its units, each with an even part
// of its rate. Windows, periods and permits last as long as before.

import { WINDOW_MS_MAX } from "../../algorithms/numbers.js";
import { SluiceError } from "../../base/errors.js";
import {
  type Limit,
  leakyBucket,
  scaleLimit,
  type TokenBucketLimit,
  tokenBucket,
} from "../../limits/limits.js";

/**
 * The limits of `shards` counters that add up to `limit`; the first ones have a unit more where it
 * does not divide evenly. A limit of fewer units than shards is an error, since some could admit
 * nothing, and so is a fixed window that is not aligned to the epoch: its shards would not begin and end together.
 */
export function splitLimit(limit: Limit, shards: number): readonly Limit[] {
  if (shards === 1) return [limit];
  if (limit.capacity < shards) cannotSplit(limit, shards, "each needs a unit");
  if (limit.algorithm === "fixedWindow" && limit.align !== "epoch") {
    const why = `with align: "${limit.align}" each has windows of its own; use align: "epoch"`;
    cannotSplit(limit, shards, why);
  }
  if (limit.algorithm === "sketch") {
    cannotSplit(
      limit,
      shards,
      "which would each need its memory; a sketch takes any number of keys",
    );
  }
  const units = Math.floor(limit.capacity / shards);
  const more = limit.capacity - units * shards;
  const rate = { part: 1, of: shards };
  const small = partOfLimit(limit, units, rate);
  const large = more > 0 ? partOfLimit(limit, units + 1, rate) : small;
  return Array.from({ length: shards }, (_, i) => (i < more ? large : small));
}

function cannotSplit({ capacity: limit, algorithm }: Limit, shards: number, why: string): never {
  const seen = `sharded: ${limit} units of a ${algorithm} can't be split into ${shards} shards, ${why}`;
  throw new SluiceError("SLUICE_LIMIT_INVALID", seen);
}

/** A part of a rate: `part` of `of`, both whole numbers. */
export interface RatePart {
  readonly part: number;
  readonly of: number;
}

/**
 * A limit of that many units and of a part of the rate. Windows, periods and permits last as long as before.
 *
 * @throws SluiceError `SLUICE_LIMIT_INVALID` if the rate can't be counted exactly.
 */
export function partOfLimit(limit: Limit, units: number, rate: RatePart): Limit {
  switch (limit.algorithm) {
    case "tokenBucket":
      return partOfTokenBucket(limit, units, rate);
    case "leakyBucket": {
      const ratePerSecond = (limit.ratePerSecond * rate.part) / rate.of;
      return leakyBucket({ ratePerSecond, queueSize: units - 1, mode: limit.mode });
    }
    default:
      // Half a unit more, so that no rounding of the quotient can cost a whole one.
      return scaleLimit(limit, Math.min(1, (units + 0.5) / limit.capacity));
  }
}

/** Exact where it can be: a part of the amount in the same time, or the same amount in a longer time. */
function partOfTokenBucket(
  limit: TokenBucketLimit,
  capacity: number,
  { part, of }: RatePart,
): TokenBucketLimit {
  const { amount, everyMs } = limit.refill;
  const product = amount * part;
  if (product % of === 0) {
    return tokenBucket({ capacity, refill: { amount: product / of, everyMs } });
  }
  if (everyMs * of <= WINDOW_MS_MAX) {
    return tokenBucket({ capacity, refill: { amount: product, everyMs: everyMs * of } });
  }
  return tokenBucket({ capacity, refillPerSecond: (product * 1000) / everyMs / of });
}
