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
  const units = Math.floor(limit.capacity / shards);
  const more = limit.capacity - units * shards;
  const small = cut(limit, units, shards);
  const large = more > 0 ? cut(limit, units + 1, shards) : small;
  return Array.from({ length: shards }, (_, i) => (i < more ? large : small));
}

function cannotSplit({ capacity: limit, algorithm }: Limit, shards: number, why: string): never {
  const seen = `sharded: ${limit} units of a ${algorithm} can't be split into ${shards} shards, ${why}`;
  throw new SluiceError("SLUICE_LIMIT_INVALID", seen);
}

/** A limit of that many units and of one part in `shards` of the rate. */
function cut(limit: Limit, units: number, shards: number): Limit {
  switch (limit.algorithm) {
    case "tokenBucket":
      return cutTokenBucket(limit, units, shards);
    case "leakyBucket": {
      const { ratePerSecond, mode } = limit;
      return leakyBucket({ ratePerSecond: ratePerSecond / shards, queueSize: units - 1, mode });
    }
    default:
      // Half a unit more, so that no rounding of the quotient can cost a whole one.
      return scaleLimit(limit, (units + 0.5) / limit.capacity);
  }
}

/** Exact where it can be: the same amount in a longer time, or a part of it in the same. */
function cutTokenBucket(limit: TokenBucketLimit, units: number, shards: number): TokenBucketLimit {
  const { amount, everyMs } = limit.refill;
  if (amount % shards === 0) {
    return tokenBucket({ capacity: units, refill: { amount: amount / shards, everyMs } });
  }
  if (everyMs * shards <= WINDOW_MS_MAX) {
    return tokenBucket({ capacity: units, refill: { amount, everyMs: everyMs * shards } });
  }
  const refillPerSecond = (amount * 1000) / everyMs / shards;
  return tokenBucket({ capacity: units, refillPerSecond });
}
