// A limit as JSON, wherever the service shows one.

import type { Limit } from "sluice";

/**
 * The numbers that its user wrote, by their names in a file, without those that are derived from them; of a
 * quota all but the anchor.
 */
export function numbersOf(limit: Limit): Record<string, unknown> {
  switch (limit.algorithm) {
    case "tokenBucket":
      return { capacity: limit.capacity, refill: limit.refill };
    case "leakyBucket": {
      const { ratePerSecond, queueSize, mode } = limit;
      return { ratePerSecond, queueSize, mode };
    }
    case "fixedWindow":
      return { limit: limit.capacity, windowMs: limit.windowMs, align: limit.align };
    case "quota":
      return { limit: limit.capacity, period: limit.period, timeZone: limit.calendar.timeZone };
    case "sketch": {
      const { capacity, windowMs, errorShare, confidence, exactKeysMax } = limit;
      return { limit: capacity, windowMs, errorShare, confidence, exactKeysMax };
    }
    case "concurrency":
      return { limit: limit.capacity, permitMs: limit.permitMs };
    default:
      return { limit: limit.capacity, windowMs: limit.windowMs };
  }
}
