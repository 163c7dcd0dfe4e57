// Step tables: what every algorithm answers, request by request, as numbers that no code of the
// library computed (fractions, plain lists of timestamps and a zone database did, elsewhere). Any
// implementation can run them: the pure functions, the memory store, a script inside a server.

import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../limits/limits.js";

/**
 * One request and its answer. `remaining` is after the charge if it was allowed, as it stands if
 * not. `delayMs` is 0 where it is left out, and exact: a third of a millisecond is a third.
 */
export type StepRow = readonly [
  atMs: number,
  cost: number,
  allowed: boolean,
  remaining: number,
  retryAfterMs: number,
  resetMs: number,
  delayMs?: number,
];

/** A claim and the requests of one key that show it, in order of time, from an idle state on. */
export interface StepCase {
  /** What the steps show; no two cases have the same name. */
  readonly name: string;
  readonly limit: Limit;
  /** The key to use where the answers depend on it; any other key does elsewhere. */
  readonly key?: string;
  readonly steps: readonly StepRow[];
}

const NEVER = Number.POSITIVE_INFINITY;

// biome-ignore format: the columns line up.
const tokenBucketCases: readonly StepCase[] = [
  {
    name: "a token bucket admits a burst of its capacity, then its rate",
    limit: tokenBucket({ capacity: 5, refillPerSecond: 10 }),
    steps: [
      //  atMs  cost  allowed  remaining  retryAfterMs  resetMs   (capacity 5, 10 tokens/s)
      [      0,    1,    true,         4,            0,     100 ],
      [      0,    1,    true,         3,            0,     200 ],
      [      0,    3,    true,         0,            0,     500 ],
      [      0,    1,   false,         0,          100,     500 ],
      [     99,    1,   false,         0,            1,     401 ],
      [    100,    1,    true,         0,            0,     500 ],
      [    100,    1,   false,         0,          100,     500 ],
      [    250,    1,    true,         0,            0,     450 ],
      [    250,    1,   false,         0,           50,     450 ],
      [ 10_000,    5,    true,         0,            0,     500 ],
      [ 10_000,    1,   false,         0,          100,     500 ],
    ],
  },
  {
    name: "a token bucket keeps the part of a token that has flowed in",
    limit: tokenBucket({ capacity: 5, refillPerSecond: 10 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (capacity 5, 10 tokens/s)
      [  1000,    3,    true,         2,            0,     300 ],
      [  1000,    3,   false,         2,          100,     300 ],
      [  1050,    3,   false,         2,           50,     250 ],
      [  1099,    3,   false,         2,            1,     201 ],
      [  1100,    3,    true,         0,            0,     500 ],
      [  1150,    1,   false,         0,           50,     450 ],
      [  1200,    1,    true,         0,            0,     500 ],
      [  1299,    3,   false,         0,          201,     401 ],
      [  1300,    2,   false,         1,          100,     400 ],
      [  1301,    0,    true,         1,            0,     399 ],
    ],
  },
  {
    name: "a token bucket passes exactly at retryAfterMs and refuses one millisecond before",
    limit: tokenBucket({ capacity: 10, refill: { amount: 1, everyMs: 250 } }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (capacity 10, 1 token every 250 ms)
      [     0,   10,    true,         0,            0,    2500 ],
      [     0,    7,   false,         0,         1750,    2500 ],
      [     1,    7,   false,         0,         1749,    2499 ],
      [  1749,    7,   false,         6,            1,     751 ],
      [  1750,    7,    true,         0,            0,    2500 ],
      [  1750,   10,   false,         0,         2500,    2500 ],
      [  4249,   10,   false,         9,            1,       1 ],
      [  4250,   10,    true,         0,            0,    2500 ],
    ],
  },
  {
    name: "a token bucket of 100 per minute gives a token every 600 ms, not a rounded rate",
    limit: tokenBucket({ capacity: 100, refill: { amount: 100, everyMs: 60_000 } }),
    steps: [
      //   atMs  cost  allowed  remaining  retryAfterMs  resetMs   (capacity 100, 100 tokens every 60,000 ms)
      [       0,  100,    true,         0,            0,  60_000 ],
      [     599,    1,   false,         0,            1,  59_401 ],
      [     600,    1,    true,         0,            0,  60_000 ],
      [     600,    1,   false,         0,          600,  60_000 ],
      [    1200,    1,    true,         0,            0,  60_000 ],
      [  59_999,   98,   false,        97,            1,    1201 ],
      [  60_000,   98,    true,         0,            0,  60_000 ],
      [  60_000,    1,   false,         0,          600,  60_000 ],
      [ 119_999,  100,   false,        99,            1,       1 ],
      [ 120_000,  100,    true,         0,            0,  60_000 ],
    ],
  },
  {
    name: "a token bucket reads a rate per second as the fraction that was meant",
    limit: tokenBucket({ capacity: 100, refillPerSecond: 100 / 60 }),
    steps: [
      //  atMs  cost  allowed  remaining  retryAfterMs  resetMs   (capacity 100, 5/3 tokens/s)
      [      0,  100,    true,         0,            0,  60_000 ],
      [    599,    1,   false,         0,            1,  59_401 ],
      [    600,    1,    true,         0,            0,  60_000 ],
      [   1199,    1,   false,         0,            1,  59_401 ],
      [   1200,    1,    true,         0,            0,  60_000 ],
      [ 60_000,   98,    true,         0,            0,  60_000 ],
      [ 60_000,    1,   false,         0,          600,  60_000 ],
    ],
  },
  {
    name: "a token bucket of 7 in 3 seconds never drifts",
    limit: tokenBucket({ capacity: 7, refill: { amount: 7, everyMs: 3000 } }),
    steps: [
      //     atMs  cost  allowed  remaining  retryAfterMs  resetMs   (capacity 7, 7 tokens every 3,000 ms)
      [         0,    7,    true,         0,            0,    3000 ],
      [       428,    1,   false,         0,            1,    2572 ],
      [       429,    1,    true,         0,            0,    3000 ],
      [       857,    1,   false,         0,            1,    2572 ],
      [       858,    1,    true,         0,            0,    3000 ],
      [      1285,    1,   false,         0,            1,    2573 ],
      [      1286,    1,    true,         0,            0,    3000 ],
      [      1286,    4,   false,         0,         1714,    3000 ],
      [      2999,    4,   false,         3,            1,    1287 ],
      [      3000,    4,    true,         0,            0,    3000 ],
      [      3000,    1,   false,         0,          429,    3000 ],
      [ 3_000_000,    7,    true,         0,            0,    3000 ],
      [ 3_000_428,    1,   false,         0,            1,    2572 ],
      [ 3_000_429,    1,    true,         0,            0,    3000 ],
      [ 3_000_429,    7,   false,         0,         3000,    3000 ],
      [ 3_003_428,    7,   false,         6,            1,       1 ],
      [ 3_003_429,    7,    true,         0,            0,    3000 ],
    ],
  },
  {
    name: "a token bucket of a third per second gives a token every three seconds",
    limit: tokenBucket({ capacity: 2, refillPerSecond: 1 / 3 }),
    steps: [
      //  atMs  cost  allowed  remaining  retryAfterMs  resetMs   (capacity 2, 1/3 token/s)
      [      0,    2,    true,         0,            0,    6000 ],
      [   2999,    1,   false,         0,            1,    3001 ],
      [   3000,    1,    true,         0,            0,    6000 ],
      [   5999,    1,   false,         0,            1,    3001 ],
      [   6000,    1,    true,         0,            0,    6000 ],
      [   8000,    1,   false,         0,         1000,    4000 ],
      [ 12_000,    2,    true,         0,            0,    6000 ],
    ],
  },
  {
    name: "a token bucket of one in 30 days waits 30 days to the millisecond",
    limit: tokenBucket({ capacity: 1, refill: { amount: 1, everyMs: 2_592_000_000 } }),
    steps: [
      //             atMs  cost  allowed  remaining   retryAfterMs        resetMs   (capacity 1, 1 token every 30 days)
      [ 1_717_243_200_000,    1,    true,         0,             0, 2_592_000_000 ],
      [ 1_717_243_200_000,    1,   false,         0, 2_592_000_000, 2_592_000_000 ],
      [ 1_717_243_200_001,    1,   false,         0, 2_591_999_999, 2_591_999_999 ],
      [ 1_719_835_199_999,    1,   false,         0,             1,             1 ],
      [ 1_719_835_200_000,    1,    true,         0,             0, 2_592_000_000 ],
      [ 1_719_835_200_000,    1,   false,         0, 2_592_000_000, 2_592_000_000 ],
      [ 1_726_243_200_000,    1,    true,         0,             0, 2_592_000_000 ],
    ],
  },
  {
    name: "a token bucket of a million per second gives a thousand tokens each millisecond",
    limit: tokenBucket({ capacity: 1_000_000, refillPerSecond: 1_000_000 }),
    steps: [
      //             atMs       cost  allowed  remaining  retryAfterMs  resetMs   (capacity 1,000,000, 1,000,000 tokens/s)
      [ 1_717_243_200_000, 1_000_000,    true,         0,            0,    1000 ],
      [ 1_717_243_200_000,         1,   false,         0,            1,    1000 ],
      [ 1_717_243_200_000,      1001,   false,         0,            2,    1000 ],
      [ 1_717_243_200_001,      1001,   false,      1000,            1,     999 ],
      [ 1_717_243_200_001,      1000,    true,         0,            0,    1000 ],
      [ 1_717_243_200_001,         1,   false,         0,            1,    1000 ],
      [ 1_717_243_200_003,      1500,    true,       500,            0,    1000 ],
      [ 1_717_243_200_003,       501,   false,       500,            1,    1000 ],
      [ 1_717_243_200_004,      1500,    true,         0,            0,    1000 ],
      [ 1_717_243_201_003,   999_999,   false,   999_000,            1,       1 ],
      [ 1_717_243_201_004, 1_000_000,    true,         0,            0,    1000 ],
    ],
  },
  {
    name: "a cost of 0 asks a token bucket and takes nothing, even from an empty one",
    limit: tokenBucket({ capacity: 3, refillPerSecond: 1 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (capacity 3, 1 token/s)
      [     0,    0,    true,         3,            0,       0 ],
      [     0,    3,    true,         0,            0,    3000 ],
      [     0,    0,    true,         0,            0,    3000 ],
      [     0,    1,   false,         0,         1000,    3000 ],
      [   500,    0,    true,         0,            0,    2500 ],
      [  1000,    0,    true,         1,            0,    2000 ],
      [  1000,    1,    true,         0,            0,    3000 ],
      [  1000,    0,    true,         0,            0,    3000 ],
    ],
  },
  {
    name: "a cost above the capacity of a token bucket never passes and costs nothing",
    limit: tokenBucket({ capacity: 3, refillPerSecond: 1 }),
    steps: [
      // atMs                   cost  allowed  remaining  retryAfterMs  resetMs   (capacity 3, 1 token/s)
      [     0,                     4,   false,         3,        NEVER,       0 ],
      [     0, 9_007_199_254_740_991,   false,         3,        NEVER,       0 ],
      [     0,                     1,    true,         2,            0,    1000 ],
      [     0,                     4,   false,         2,        NEVER,    1000 ],
      [     0,                     3,   false,         2,         1000,    1000 ],
      [     0,                     2,    true,         0,            0,    3000 ],
      [  1000,                     3,   false,         1,         2000,    2000 ],
      [  9000,                     4,   false,         3,        NEVER,       0 ],
    ],
  },
  {
    name: "a token bucket whose ticks since 1970 fit no double is exact all the same",
    limit: tokenBucket({ capacity: 1_000_000_000_000, refillPerSecond: 123_456_789 }),
    steps: [
      //             atMs               cost  allowed        remaining  retryAfterMs    resetMs   (capacity 10^12, 123,456,789 tokens/s)
      [ 1_717_243_200_000, 1_000_000_000_000,    true,               0,            0, 8_100_001 ],
      [ 1_717_243_200_000,                 1,   false,               0,            1, 8_100_001 ],
      [ 1_717_243_200_001,           123_456,    true,               0,            0, 8_100_001 ],
      [ 1_717_243_200_001,                 1,   false,               0,            1, 8_100_001 ],
      [ 1_717_243_200_010,         1_111_112,   false,       1_111_111,            1, 8_099_992 ],
      [ 1_717_243_200_010,         1_111_111,    true,               0,            0, 8_100_001 ],
      [ 1_717_243_200_010, 1_000_000_000_000,   false,               0,    8_100_001, 8_100_001 ],
      [ 1_717_251_300_009, 1_000_000_000_000,   false, 999_999_867_444,            2,         2 ],
      [ 1_717_251_300_010,   999_999_999_999,   false, 999_999_990_900,            1,         1 ],
      [ 1_717_251_300_011,                 1,    true, 999_999_999_999,            0,         1 ],
    ],
  },
  {
    name: "a token bucket counts to the millisecond in the year 2100",
    limit: tokenBucket({ capacity: 5, refill: { amount: 7, everyMs: 3000 } }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs   (capacity 5, 7 tokens every 3,000 ms)
      [ 4_102_444_799_571,    5,    true,         0,            0,    2143 ],
      [ 4_102_444_799_999,    1,   false,         0,            1,    1715 ],
      [ 4_102_444_800_000,    1,    true,         0,            0,    2143 ],
      [ 4_102_444_800_000,    1,   false,         0,          429,    2143 ],
      [ 4_102_444_800_428,    1,   false,         0,            1,    1715 ],
      [ 4_102_444_800_429,    1,    true,         0,            0,    2142 ],
      [ 4_102_444_800_429,    5,   false,         0,         2142,    2142 ],
      [ 4_102_444_802_142,    5,   false,         3,          429,     429 ],
      [ 4_102_444_802_143,    5,   false,         4,          428,     428 ],
      [ 4_133_980_799_999,    5,    true,         0,            0,    2143 ],
      [ 4_133_980_799_999,    1,   false,         0,          429,    2143 ],
    ],
  },
];

// biome-ignore format: the columns line up.
const leakyBucketCases: readonly StepCase[] = [
  {
    name: "a shaper lets requests leave 1/rate apart and refuses when its queue is full",
    limit: leakyBucket({ ratePerSecond: 10, queueSize: 3 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs  delayMs   (10 per second, 3 may wait)
      [     0,    1,    true,         3,            0,     100,       0 ],
      [     0,    1,    true,         2,            0,     200,     100 ],
      [     0,    1,    true,         1,            0,     300,     200 ],
      [     0,    1,    true,         0,            0,     400,     300 ],
      [     0,    1,   false,         0,          100,     400,       0 ],
      [     1,    1,   false,         0,           99,     399,       0 ],
      [    99,    1,   false,         0,            1,     301,       0 ],
      [   100,    1,    true,         0,            0,     400,     300 ],
      [   150,    1,   false,         0,           50,     350,       0 ],
      [   200,    1,    true,         0,            0,     400,     300 ],
      [   250,    1,   false,         0,           50,     350,       0 ],
      [  1000,    1,    true,         3,            0,     100,       0 ],
    ],
  },
  {
    name: "a shaper delays by fractions of a millisecond where 1/rate is none",
    limit: leakyBucket({ ratePerSecond: 3, queueSize: 4 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   delayMs   (3 per second, 4 may wait)
      [     0,    1,    true,         4,            0,     334,        0 ],
      [     0,    1,    true,         3,            0,     667, 1000 / 3 ],
      [     0,    1,    true,         2,            0,    1000, 2000 / 3 ],
      [     0,    1,    true,         1,            0,    1334,     1000 ],
      [     0,    1,    true,         0,            0,    1667, 4000 / 3 ],
      [     0,    1,   false,         0,          334,    1667,        0 ],
      [   333,    1,   false,         0,            1,    1334,        0 ],
      [   334,    1,    true,         0,            0,    1666, 3998 / 3 ],
      [   334,    1,   false,         0,          333,    1666,        0 ],
      [   667,    1,    true,         0,            0,    1667,     1333 ],
      [  1000,    1,    true,         0,            0,    1667, 4000 / 3 ],
      [  1001,    1,   false,         0,          333,    1666,        0 ],
      [  3000,    1,    true,         4,            0,     334,        0 ],
      [  3100,    1,    true,         3,            0,     567,  700 / 3 ],
    ],
  },
  {
    name: "a shaper without a queue admits what leaves now",
    limit: leakyBucket({ ratePerSecond: 10, queueSize: 0 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs  delayMs   (10 per second, none may wait)
      [     0,    1,    true,         0,            0,     100,       0 ],
      [     0,    1,   false,         0,          100,     100,       0 ],
      [    99,    1,   false,         0,            1,       1,       0 ],
      [   100,    1,    true,         0,            0,     100,       0 ],
      [   100,    2,   false,         0,        NEVER,     100,       0 ],
      [   199,    1,   false,         0,            1,       1,       0 ],
      [   250,    1,    true,         0,            0,     100,       0 ],
      [   349,    1,   false,         0,            1,       1,       0 ],
      [   350,    1,    true,         0,            0,     100,       0 ],
    ],
  },
  {
    name: "a shaper gives a cost of n the next n places in its queue",
    limit: leakyBucket({ ratePerSecond: 2, queueSize: 5 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs  delayMs   (2 per second, 5 may wait)
      [     0,    3,    true,         3,            0,    1500,       0 ],
      [     0,    2,    true,         1,            0,    2500,    1500 ],
      [     0,    2,   false,         1,          500,    2500,       0 ],
      [     0,    1,    true,         0,            0,    3000,    2500 ],
      [     0,    1,   false,         0,          500,    3000,       0 ],
      [   500,    2,   false,         1,          500,    2500,       0 ],
      [   999,    2,   false,         1,            1,    2001,       0 ],
      [  1000,    2,    true,         0,            0,    3000,    2000 ],
      [  1000,    7,   false,         0,        NEVER,    3000,       0 ],
      [  3500,    6,   false,         5,          500,     500,       0 ],
      [  9000,    6,    true,         0,            0,    3000,       0 ],
    ],
  },
  {
    name: "a shaper of one in ten seconds keeps its departures apart",
    limit: leakyBucket({ ratePerSecond: 0.1, queueSize: 2 }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs  delayMs   (1 every 10 s, 2 may wait)
      [ 1_717_243_200_000,    1,    true,         2,            0,  10_000,       0 ],
      [ 1_717_243_200_001,    1,    true,         1,            0,  19_999,    9999 ],
      [ 1_717_243_209_999,    1,    true,         0,            0,  20_001,  10_001 ],
      [ 1_717_243_209_999,    1,   false,         0,            1,  20_001,       0 ],
      [ 1_717_243_210_000,    1,    true,         0,            0,  30_000,  20_000 ],
      [ 1_717_243_210_000,    1,   false,         0,       10_000,  30_000,       0 ],
      [ 1_717_243_260_000,    1,    true,         2,            0,  10_000,       0 ],
    ],
  },
  {
    name: "a meter refuses what a shaper refuses and delays nothing",
    limit: leakyBucket({ ratePerSecond: 10, queueSize: 3, mode: "meter" }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs  delayMs   (10 per second, 3 may wait)
      [     0,    1,    true,         3,            0,     100,       0 ],
      [     0,    1,    true,         2,            0,     200,       0 ],
      [     0,    1,    true,         1,            0,     300,       0 ],
      [     0,    1,    true,         0,            0,     400,       0 ],
      [     0,    1,   false,         0,          100,     400,       0 ],
      [     1,    1,   false,         0,           99,     399,       0 ],
      [    99,    1,   false,         0,            1,     301,       0 ],
      [   100,    1,    true,         0,            0,     400,       0 ],
      [   150,    1,   false,         0,           50,     350,       0 ],
      [   200,    1,    true,         0,            0,     400,       0 ],
      [   250,    1,   false,         0,           50,     350,       0 ],
      [   250,    5,   false,         0,        NEVER,     350,       0 ],
      [  1000,    4,    true,         0,            0,     400,       0 ],
      [  1000,    1,   false,         0,          100,     400,       0 ],
    ],
  },
  {
    name: "a meter of 3 per second is exact where 1/rate is not a whole millisecond",
    limit: leakyBucket({ ratePerSecond: 3, queueSize: 1, mode: "meter" }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs  delayMs   (3 per second, 1 may wait)
      [     0,    2,    true,         0,            0,     667,       0 ],
      [   333,    1,   false,         0,            1,     334,       0 ],
      [   334,    1,    true,         0,            0,     666,       0 ],
      [   666,    1,   false,         0,            1,     334,       0 ],
      [   667,    1,    true,         0,            0,     667,       0 ],
      [   999,    1,   false,         0,            1,     335,       0 ],
      [  1000,    1,    true,         0,            0,     667,       0 ],
      [  1000,    2,   false,         0,          667,     667,       0 ],
      [  1666,    2,   false,         1,            1,       1,       0 ],
      [  1667,    2,    true,         0,            0,     667,       0 ],
    ],
  },
  {
    name: "a shaper is exact to the fraction in the year 2100",
    limit: leakyBucket({ ratePerSecond: 7, queueSize: 2 }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs   delayMs   (7 per second, 2 may wait)
      [ 4_102_444_799_900,    1,    true,         2,            0,     143,        0 ],
      [ 4_102_444_799_900,    1,    true,         1,            0,     286, 1000 / 7 ],
      [ 4_102_444_800_000,    1,    true,         0,            0,     329, 1300 / 7 ],
      [ 4_102_444_800_000,    1,   false,         0,           43,     329,        0 ],
      [ 4_102_444_800_042,    1,   false,         0,            1,     287,        0 ],
      [ 4_102_444_800_043,    1,    true,         0,            0,     429, 1999 / 7 ],
      [ 4_102_444_801_000,    3,    true,         0,            0,     429,        0 ],
    ],
  },
];

// biome-ignore format: the columns line up.
const fixedWindowCases: readonly StepCase[] = [
  {
    name: "a fixed window fills, refuses until its border and starts again there",
    limit: fixedWindow({ limit: 3, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (3 per 1,000 ms)
      [     0,    1,    true,         2,            0,    1000 ],
      [     1,    2,    true,         0,            0,     999 ],
      [     1,    1,   false,         0,          999,     999 ],
      [   999,    1,   false,         0,            1,       1 ],
      [  1000,    1,    true,         2,            0,    1000 ],
      [  1999,    2,    true,         0,            0,       1 ],
      [  1999,    1,   false,         0,            1,       1 ],
      [  2000,    4,   false,         3,        NEVER,       0 ],
      [  2000,    3,    true,         0,            0,    1000 ],
      [  2000,    0,    true,         0,            0,    1000 ],
      [  5500,    0,    true,         3,            0,       0 ],
    ],
  },
  {
    name: "a fixed window begins at multiples of its length, not with its first request",
    limit: fixedWindow({ limit: 2, windowMs: 60_000 }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs   (2 per minute; the first row is at 12:00:59.999)
      [ 1_717_243_259_999,    2,    true,         0,            0,       1 ],
      [ 1_717_243_259_999,    1,   false,         0,            1,       1 ],
      [ 1_717_243_260_000,    2,    true,         0,            0,  60_000 ],
      [ 1_717_243_260_001,    1,   false,         0,       59_999,  59_999 ],
      [ 1_717_243_319_999,    1,   false,         0,            1,       1 ],
      [ 1_717_243_380_000,    1,    true,         1,            0,  60_000 ],
    ],
  },
  {
    name: "a cost above the limit of a fixed window never passes and costs nothing",
    limit: fixedWindow({ limit: 10, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (10 per 1,000 ms)
      [   100,   11,   false,        10,        NEVER,       0 ],
      [   100,   10,    true,         0,            0,     900 ],
      [   100,    0,    true,         0,            0,     900 ],
      [   100,   11,   false,         0,        NEVER,     900 ],
      [   100,    1,   false,         0,          900,     900 ],
      [  1099,   10,    true,         0,            0,     901 ],
      [  1100,   10,   false,         0,          900,     900 ],
    ],
  },
  {
    name: "a fixed window may be a year long",
    limit: fixedWindow({ limit: 1_000_000_000, windowMs: 31_536_000_000 }),
    steps: [
      //             atMs           cost  allowed  remaining    retryAfterMs         resetMs   (10^9 per 365 days)
      [ 1_702_944_000_000,   999_999_999,    true,         1,              0, 31_536_000_000 ],
      [ 1_717_243_200_000,             2,   false,         1, 17_236_800_000, 17_236_800_000 ],
      [ 1_717_243_200_000,             1,    true,         0,              0, 17_236_800_000 ],
      [ 1_717_243_200_000,             1,   false,         0, 17_236_800_000, 17_236_800_000 ],
      [ 1_734_479_999_999,             1,   false,         0,              1,              1 ],
      [ 1_734_480_000_000, 1_000_000_000,    true,         0,              0, 31_536_000_000 ],
      [ 1_734_480_000_000,             1,   false,         0, 31_536_000_000, 31_536_000_000 ],
    ],
  },
  {
    name: "a fixed window of an odd length has its borders at multiples of it",
    limit: fixedWindow({ limit: 1, windowMs: 7 }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs   (1 per 7 ms)
      [ 1_717_243_199_993,    1,    true,         0,            0,       1 ],
      [ 1_717_243_199_994,    1,    true,         0,            0,       7 ],
      [ 1_717_243_199_995,    1,   false,         0,            6,       6 ],
      [ 1_717_243_200_000,    1,   false,         0,            1,       1 ],
      [ 1_717_243_200_001,    1,    true,         0,            0,       7 ],
    ],
  },
  {
    name: "a fixed window of more units than fit beside its number is exact",
    limit: fixedWindow({ limit: 2_251_799_813_685_248, windowMs: 1000 }),
    steps: [
      //             atMs                   cost  allowed  remaining  retryAfterMs  resetMs   (2^51 per 1,000 ms)
      [ 1_717_243_200_001, 2_251_799_813_685_247,    true,         1,            0,     999 ],
      [ 1_717_243_200_002,                     2,   false,         1,          998,     998 ],
      [ 1_717_243_200_002,                     1,    true,         0,            0,     998 ],
      [ 1_717_243_200_999,                     1,   false,         0,            1,       1 ],
      [ 1_717_243_201_000, 2_251_799_813_685_248,    true,         0,            0,    1000 ],
      [ 1_717_243_201_000, 2_251_799_813_685_249,   false,         0,        NEVER,    1000 ],
    ],
  },
  {
    name: "a fixed window aligned by key has the borders of that key",
    limit: fixedWindow({ limit: 2, windowMs: 60_000, align: "key" }),
    key: "user:42",
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs   (2 per minute; "user:42" is 4,715 ms ahead)
      [ 1_717_243_200_000,    2,    true,         0,            0,  55_285 ],
      [ 1_717_243_200_000,    1,   false,         0,       55_285,  55_285 ],
      [ 1_717_243_255_284,    1,   false,         0,            1,       1 ],
      [ 1_717_243_255_285,    1,    true,         1,            0,  60_000 ],
      [ 1_717_243_255_285,    1,    true,         0,            0,  60_000 ],
      [ 1_717_243_255_285,    1,   false,         0,       60_000,  60_000 ],
      [ 1_717_243_315_284,    1,   false,         0,            1,       1 ],
      [ 1_717_243_315_285,    1,    true,         1,            0,  60_000 ],
    ],
  },
  {
    name: "a fixed window aligned to the first request starts with it, and again with the first after its end",
    limit: fixedWindow({ limit: 2, windowMs: 60_000, align: "first" }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs   (2 per minute)
      [ 1_717_243_212_345,    0,    true,         2,            0,       0 ],
      [ 1_717_243_212_345,    3,   false,         2,        NEVER,       0 ],
      [ 1_717_243_222_345,    1,    true,         1,            0,  60_000 ],
      [ 1_717_243_222_346,    2,   false,         1,       59_999,  59_999 ],
      [ 1_717_243_282_344,    1,    true,         0,            0,       1 ],
      [ 1_717_243_282_344,    1,   false,         0,            1,       1 ],
      [ 1_717_243_282_345,    0,    true,         2,            0,       0 ],
      [ 1_717_243_300_000,    2,    true,         0,            0,  60_000 ],
      [ 1_717_243_300_001,    1,   false,         0,       59_999,  59_999 ],
    ],
  },
  {
    name: "a window that starts with the first request is exact for more units than fit beside its end",
    limit: fixedWindow({ limit: 2_251_799_813_685_248, windowMs: 1000, align: "first" }),
    steps: [
      //             atMs                   cost  allowed  remaining  retryAfterMs  resetMs   (2^51 per 1,000 ms)
      [ 1_717_243_200_001, 2_251_799_813_685_247,    true,         1,            0,    1000 ],
      [ 1_717_243_200_002,                     2,   false,         1,          999,     999 ],
      [ 1_717_243_201_000,                     1,    true,         0,            0,       1 ],
      [ 1_717_243_201_001, 2_251_799_813_685_248,    true,         0,            0,    1000 ],
    ],
  },
  {
    name: "a window that starts with the first request reaches into the year 2100",
    limit: fixedWindow({ limit: 2, windowMs: 31_622_400_000, align: "first" }),
    steps: [
      //             atMs  cost  allowed  remaining    retryAfterMs         resetMs   (2 per leap year)
      [ 4_133_980_799_998,    2,    true,         0,              0, 31_622_400_000 ],
      [ 4_133_980_799_999,    1,   false,         0, 31_622_399_999, 31_622_399_999 ],
    ],
  },
  {
    name: "a fixed window reaches into the year 2100",
    limit: fixedWindow({ limit: 2, windowMs: 86_400_000 }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs     resetMs   (2 per day of 86,400,000 ms)
      [ 4_102_444_799_999,    2,    true,         0,            0,          1 ],
      [ 4_102_444_799_999,    1,   false,         0,            1,          1 ],
      [ 4_102_444_800_000,    2,    true,         0,            0, 86_400_000 ],
      [ 4_102_531_199_999,    1,   false,         0,            1,          1 ],
      [ 4_133_980_799_999,    1,    true,         1,            0,          1 ],
    ],
  },
];

// biome-ignore format: the columns line up.
const slidingWindowCounterCases: readonly StepCase[] = [
  {
    name: "a sliding counter weighs the window before by the share of it that still counts",
    limit: slidingWindowCounter({ limit: 10, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (10 per 1,000 ms)
      [     0,   10,    true,         0,            0,    2000 ],
      [   500,    1,   false,         0,          600,    1500 ],
      [  1000,    1,   false,         0,          100,    1000 ],
      [  1099,    1,   false,         0,            1,     901 ],
      [  1100,    1,    true,         0,            0,    1900 ],
      [  1100,    1,   false,         0,          100,    1900 ],
      [  1200,    1,    true,         0,            0,    1800 ],
      [  1500,    3,    true,         0,            0,    1500 ],
      [  1500,    1,   false,         0,          100,    1500 ],
      [  1550,    1,   false,         0,           50,    1450 ],
      [  1999,    3,    true,         1,            0,    1001 ],
      [  2000,    1,    true,         1,            0,    2000 ],
    ],
  },
  {
    name: "a sliding counter rounds the weighted part up: nine tenths of a unit is none",
    limit: slidingWindowCounter({ limit: 3, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (3 per 1,000 ms)
      [   999,    3,    true,         0,            0,    1001 ],
      [  1000,    1,   false,         0,          334,    1000 ],
      [  1333,    1,   false,         0,            1,     667 ],
      [  1334,    1,    true,         0,            0,    1666 ],
      [  1334,    1,   false,         0,          333,    1666 ],
      [  1666,    1,   false,         0,            1,    1334 ],
      [  1667,    1,    true,         0,            0,    1333 ],
      [  1667,    1,   false,         0,          333,    1333 ],
      [  2000,    1,    true,         0,            0,    2000 ],
      [  2000,    2,   false,         0,         1000,    2000 ],
      [  2499,    2,   false,         0,          501,    1501 ],
      [  2500,    2,   false,         1,          500,    1500 ],
    ],
  },
  {
    name: "a sliding counter waits for this window, for the next, or for the one after",
    limit: slidingWindowCounter({ limit: 10, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (10 per 1,000 ms)
      [     0,    5,    true,         5,            0,    2000 ],
      [  1000,    4,    true,         1,            0,    2000 ],
      [  1000,    2,   false,         1,          200,    2000 ],
      [  1200,    2,    true,         0,            0,    1800 ],
      [  1200,    6,   false,         0,         1134,    1800 ],
      [  1200,    7,   false,         0,         1300,    1800 ],
      [  1200,   10,   false,         0,         1800,    1800 ],
      [  1999,    6,   false,         3,          335,    1001 ],
      [  2000,    6,   false,         4,          334,    1000 ],
      [  2250,    7,   false,         5,          250,     750 ],
      [  2250,   10,   false,         5,          750,     750 ],
      [  3999,   10,    true,         0,            0,    1001 ],
    ],
  },
  {
    name: "a sliding counter has forgotten all in the window after next",
    limit: slidingWindowCounter({ limit: 4, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (4 per 1,000 ms)
      [   500,    4,    true,         0,            0,    1500 ],
      [   999,    1,   false,         0,          251,    1001 ],
      [  1999,    3,    true,         0,            0,    1001 ],
      [  2000,    0,    true,         1,            0,    1000 ],
      [  2499,    3,   false,         2,          168,     501 ],
      [  2500,    1,    true,         1,            0,    1500 ],
      [  3999,    4,   false,         3,            1,       1 ],
      [  5000,    4,    true,         0,            0,    2000 ],
      [  5001,    1,   false,         0,         1249,    1999 ],
      [  6999,    1,    true,         2,            0,    1001 ],
      [  7000,    4,   false,         3,         1000,    1000 ],
    ],
  },
  {
    name: "a cost above the limit of a sliding counter never passes; a cost of 0 always does",
    limit: slidingWindowCounter({ limit: 4, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (4 per 1,000 ms)
      [     0,    5,   false,         4,        NEVER,       0 ],
      [     0,    4,    true,         0,            0,    2000 ],
      [     0,    5,   false,         0,        NEVER,    2000 ],
      [     0,    0,    true,         0,            0,    2000 ],
      [  1500,    5,   false,         2,        NEVER,     500 ],
      [  1500,    0,    true,         2,            0,     500 ],
      [  1500,    2,    true,         0,            0,    1500 ],
    ],
  },
  {
    name: "a sliding counter of a huge limit over a year is exact beyond products of 2^53",
    limit: slidingWindowCounter({ limit: 1_125_899_906_842_624, windowMs: 31_536_000_000 }),
    steps: [
      //             atMs                   cost  allowed              remaining    retryAfterMs         resetMs   (2^50 per 365 days)
      [ 1_702_944_000_000, 1_125_899_906_842_623,    true,                     1,              0, 63_072_000_000 ],
      [ 1_702_944_000_001,                     2,   false,                     1, 31_536_000_000, 63_071_999_999 ],
      [ 1_702_944_000_001,                     1,    true,                     0,              0, 63_071_999_999 ],
      [ 1_734_480_000_000,                     1,   false,                     0,              1, 31_536_000_000 ],
      [ 1_734_480_000_001,                35_702,    true,                     0,              0, 63_071_999_999 ],
      [ 1_734_480_000_001,                35_701,   false,                     0,              1, 63_071_999_999 ],
      [ 1_734_480_000_001,                     1,   false,                     0,              1, 63_071_999_999 ],
      [ 1_734_480_000_002,                     1,    true,                35_701,              0, 63_071_999_998 ],
      [ 1_744_480_000_007,   375_299_968_947_541,   false,   357_020_518_619_406,    511_999_995, 53_071_999_993 ],
      [ 1_744_480_000_007,   562_949_953_421_312,   false,   357_020_518_619_406,  5_767_999_995, 53_071_999_993 ],
      [ 1_766_015_999_999,                     1,    true, 1_125_899_906_771_217,              0, 31_536_000_001 ],
    ],
  },
  {
    name: "a sliding counter is exact to the millisecond in the year 2100",
    limit: slidingWindowCounter({ limit: 7, windowMs: 60_000 }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs   (7 per minute)
      [ 4_102_444_799_999,    7,    true,         0,            0,  60_001 ],
      [ 4_102_444_800_000,    1,   false,         0,         8572,  60_000 ],
      [ 4_102_444_808_571,    1,   false,         0,            1,  51_429 ],
      [ 4_102_444_808_572,    1,    true,         0,            0, 111_428 ],
      [ 4_102_444_817_142,    1,   false,         0,            1, 102_858 ],
      [ 4_102_444_817_143,    1,    true,         0,            0, 102_857 ],
      [ 4_102_444_859_999,    4,    true,         0,            0,  60_001 ],
      [ 4_102_444_860_000,    4,   false,         1,       30_000,  60_000 ],
      [ 4_102_444_920_000,    0,    true,         7,            0,       0 ],
    ],
  },
];

// biome-ignore format: the columns line up.
const slidingWindowLogCases: readonly StepCase[] = [
  {
    name: "an entry of a sliding log that is exactly windowMs old is out",
    limit: slidingWindowLog({ limit: 3, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (3 per 1,000 ms)
      [     0,    1,    true,         2,            0,    1000 ],
      [   400,    1,    true,         1,            0,    1000 ],
      [   999,    1,    true,         0,            0,    1000 ],
      [   999,    1,   false,         0,            1,    1000 ],
      [  1000,    1,    true,         0,            0,    1000 ],
      [  1000,    1,   false,         0,          400,    1000 ],
      [  1399,    1,   false,         0,            1,     601 ],
      [  1400,    1,    true,         0,            0,    1000 ],
      [  1998,    1,   false,         0,            1,     402 ],
      [  1999,    1,    true,         0,            0,    1000 ],
      [  9000,    3,    true,         0,            0,    1000 ],
    ],
  },
  {
    name: "a sliding log admits no burst over a border where a fixed window would",
    limit: slidingWindowLog({ limit: 5, windowMs: 60_000 }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs   (5 per minute)
      [ 1_717_243_259_999,    5,    true,         0,            0,  60_000 ],
      [ 1_717_243_260_000,    1,   false,         0,       59_999,  59_999 ],
      [ 1_717_243_319_998,    1,   false,         0,            1,       1 ],
      [ 1_717_243_319_999,    5,    true,         0,            0,  60_000 ],
      [ 1_717_243_319_999,    1,   false,         0,       60_000,  60_000 ],
    ],
  },
  {
    name: "a sliding log waits for as many old entries as a cost needs",
    limit: slidingWindowLog({ limit: 10, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (10 per 1,000 ms)
      [     0,    3,    true,         7,            0,    1000 ],
      [   100,    3,    true,         4,            0,    1000 ],
      [   200,    4,    true,         0,            0,    1000 ],
      [   300,    1,   false,         0,          700,     900 ],
      [   300,    3,   false,         0,          700,     900 ],
      [   300,    4,   false,         0,          800,     900 ],
      [   300,    6,   false,         0,          800,     900 ],
      [   300,    7,   false,         0,          900,     900 ],
      [   300,   10,   false,         0,          900,     900 ],
      [   300,   11,   false,         0,        NEVER,     900 ],
      [  1000,    4,   false,         3,          100,     200 ],
      [  1000,    3,    true,         0,            0,    1000 ],
      [  1100,    4,   false,         3,          100,     900 ],
      [  1100,    3,    true,         0,            0,    1000 ],
      [  1199,    4,   false,         0,            1,     901 ],
      [  1200,    4,    true,         0,            0,    1000 ],
    ],
  },
  {
    name: "entries of a sliding log of the same millisecond leave together",
    limit: slidingWindowLog({ limit: 4, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (4 per 1,000 ms)
      [     5,    1,    true,         3,            0,    1000 ],
      [     5,    1,    true,         2,            0,    1000 ],
      [     5,    1,    true,         1,            0,    1000 ],
      [     6,    1,    true,         0,            0,    1000 ],
      [     6,    1,   false,         0,          999,    1000 ],
      [     6,    3,   false,         0,          999,    1000 ],
      [     6,    4,   false,         0,         1000,    1000 ],
      [  1004,    1,   false,         0,            1,       2 ],
      [  1005,    4,   false,         3,            1,       1 ],
      [  1005,    3,    true,         0,            0,    1000 ],
      [  1006,    1,    true,         0,            0,    1000 ],
      [  1006,    0,    true,         0,            0,    1000 ],
    ],
  },
  {
    name: "a cost of 0 leaves no entry in a sliding log",
    limit: slidingWindowLog({ limit: 2, windowMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (2 per 1,000 ms)
      [     0,    0,    true,         2,            0,       0 ],
      [     1,    2,    true,         0,            0,    1000 ],
      [   500,    0,    true,         0,            0,     501 ],
      [  1000,    1,   false,         0,            1,       1 ],
      [  1001,    0,    true,         2,            0,       0 ],
      [  1001,    2,    true,         0,            0,    1000 ],
    ],
  },
  {
    name: "a sliding log may reach back a year and lie in the year 2100",
    limit: slidingWindowLog({ limit: 2, windowMs: 31_536_000_000 }),
    steps: [
      //             atMs  cost  allowed  remaining    retryAfterMs         resetMs   (2 per 365 days)
      [ 4_070_908_800_000,    1,    true,         1,              0, 31_536_000_000 ],
      [ 4_102_444_799_999,    1,    true,         0,              0, 31_536_000_000 ],
      [ 4_102_444_799_999,    1,   false,         0,              1, 31_536_000_000 ],
      [ 4_102_444_800_000,    1,    true,         0,              0, 31_536_000_000 ],
      [ 4_102_444_800_000,    1,   false,         0, 31_535_999_999, 31_536_000_000 ],
      [ 4_133_980_799_998,    1,   false,         0,              1,              2 ],
      [ 4_133_980_799_999,    1,    true,         0,              0, 31_536_000_000 ],
    ],
  },
];

// biome-ignore format: the columns line up.
const concurrencyCases: readonly StepCase[] = [
  {
    name: "permits run out and expire after permitMs, at that instant",
    limit: concurrency({ limit: 2, permitMs: 1000 }),
    steps: [
      // atMs  cost  allowed  remaining  retryAfterMs  resetMs   (2 permits of 1,000 ms)
      [     0,    1,    true,         1,            0,    1000 ],
      [   300,    1,    true,         0,            0,    1000 ],
      [   300,    1,   false,         0,          700,    1000 ],
      [   999,    1,   false,         0,            1,     301 ],
      [  1000,    1,    true,         0,            0,    1000 ],
      [  1000,    1,   false,         0,          300,    1000 ],
      [  1299,    1,   false,         0,            1,     701 ],
      [  1300,    1,    true,         0,            0,    1000 ],
      [  5000,    2,    true,         0,            0,    1000 ],
    ],
  },
  {
    name: "a permit may take several places, and waits for the earliest expiries that suffice",
    limit: concurrency({ limit: 5, permitMs: 30_000 }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs   (5 permits of 30,000 ms)
      [ 1_717_243_200_000,    2,    true,         3,            0,  30_000 ],
      [ 1_717_243_200_010,    2,    true,         1,            0,  30_000 ],
      [ 1_717_243_200_020,    2,   false,         1,       29_980,  29_990 ],
      [ 1_717_243_200_020,    1,    true,         0,            0,  30_000 ],
      [ 1_717_243_200_020,    2,   false,         0,       29_980,  30_000 ],
      [ 1_717_243_200_020,    4,   false,         0,       29_990,  30_000 ],
      [ 1_717_243_200_020,    5,   false,         0,       30_000,  30_000 ],
      [ 1_717_243_200_020,    6,   false,         0,        NEVER,  30_000 ],
      [ 1_717_243_230_000,    3,   false,         2,           10,      20 ],
      [ 1_717_243_230_010,    4,    true,         0,            0,  30_000 ],
      [ 1_717_243_230_020,    5,   false,         1,       29_990,  29_990 ],
    ],
  },
  {
    name: "permits expire on time in the year 2100",
    limit: concurrency({ limit: 1, permitMs: 60_000 }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs  resetMs   (1 permit of 60,000 ms)
      [ 4_102_444_799_999,    1,    true,         0,            0,  60_000 ],
      [ 4_102_444_800_000,    1,   false,         0,       59_999,  59_999 ],
      [ 4_102_444_859_998,    1,   false,         0,            1,       1 ],
      [ 4_102_444_859_999,    1,    true,         0,            0,  60_000 ],
    ],
  },
];

// biome-ignore format: the columns line up.
const quotaCases: readonly StepCase[] = [
  {
    name: "a daily quota starts again at midnight UTC, on 29 February too",
    limit: quota({ limit: 3, period: "day" }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs     resetMs   (3 per day UTC; the first row is 2024-02-28T00:00Z)
      [ 1_709_078_400_000,    2,    true,         1,            0, 86_400_000 ],
      [ 1_709_164_799_999,    1,    true,         0,            0,          1 ],
      [ 1_709_164_799_999,    1,   false,         0,            1,          1 ],
      [ 1_709_164_800_000,    3,    true,         0,            0, 86_400_000 ],
      [ 1_709_164_800_000,    4,   false,         0,        NEVER, 86_400_000 ],
      [ 1_709_251_199_999,    1,   false,         0,            1,          1 ],
      [ 1_709_251_200_000,    0,    true,         3,            0,          0 ],
      [ 1_709_251_200_000,    1,    true,         2,            0, 86_400_000 ],
    ],
  },
  {
    name: "a monthly quota lasts as long as its month",
    limit: quota({ limit: 100, period: "month" }),
    steps: [
      //             atMs  cost  allowed  remaining   retryAfterMs        resetMs   (100 per month UTC; the first row is 2024-01-01T00:00:00.001Z)
      [ 1_704_067_200_001,  100,    true,         0,             0, 2_678_399_999 ],
      [ 1_704_067_200_001,    1,   false,         0, 2_678_399_999, 2_678_399_999 ],
      [ 1_706_745_599_999,    1,   false,         0,             1,             1 ],
      [ 1_706_745_600_000,   99,    true,         1,             0, 2_505_600_000 ],
      [ 1_706_745_600_000,    2,   false,         1, 2_505_600_000, 2_505_600_000 ],
      [ 1_709_251_199_999,    1,    true,         0,             0,             1 ],
      [ 1_709_251_200_000,  101,   false,       100,         NEVER,             0 ],
      [ 1_709_251_200_000,    1,    true,        99,             0, 2_678_400_000 ],
    ],
  },
  {
    name: "a weekly quota starts on Monday",
    limit: quota({ limit: 2, period: "week" }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs      resetMs   (2 per week UTC; the first row is Sunday 2024-06-30T23:59:59.999Z)
      [ 1_719_791_999_999,    2,    true,         0,            0,           1 ],
      [ 1_719_791_999_999,    1,   false,         0,            1,           1 ],
      [ 1_719_792_000_000,    1,    true,         1,            0, 604_800_000 ],
      [ 1_720_396_799_999,    1,    true,         0,            0,           1 ],
      [ 1_720_396_799_999,    1,   false,         0,            1,           1 ],
      [ 1_720_396_800_000,    2,    true,         0,            0, 604_800_000 ],
    ],
  },
  {
    name: "a daily quota in New York lasts 23 hours on the day the clocks go forward",
    limit: quota({ limit: 2, period: "day", timeZone: "America/New_York" }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs     resetMs   (2 per day; the second row is 2024-03-10T05:00Z)
      [ 1_710_046_799_999,    2,    true,         0,            0,          1 ],
      [ 1_710_046_800_000,    2,    true,         0,            0, 82_800_000 ],
      [ 1_710_046_800_000,    1,   false,         0,   82_800_000, 82_800_000 ],
      [ 1_710_129_599_999,    1,   false,         0,            1,          1 ],
      [ 1_710_129_600_000,    1,    true,         1,            0, 86_400_000 ],
      [ 1_710_129_600_001,    2,   false,         1,   86_399_999, 86_399_999 ],
    ],
  },
  {
    name: "a daily quota in New York lasts 25 hours on the day the clocks go back",
    limit: quota({ limit: 2, period: "day", timeZone: "America/New_York" }),
    steps: [
      //             atMs  cost  allowed  remaining  retryAfterMs     resetMs   (2 per day; the second row is 2024-11-03T04:00Z)
      [ 1_730_606_399_999,    2,    true,         0,            0,          1 ],
      [ 1_730_606_400_000,    1,    true,         1,            0, 90_000_000 ],
      [ 1_730_692_800_000,    1,    true,         0,            0,  3_600_000 ],
      [ 1_730_692_800_000,    1,   false,         0,    3_600_000,  3_600_000 ],
      [ 1_730_696_399_999,    1,   false,         0,            1,          1 ],
      [ 1_730_696_400_000,    1,    true,         1,            0, 86_400_000 ],
    ],
  },
  {
    name: "a monthly quota from the 31st starts on the last day of shorter months",
    limit: quota({ limit: 5, period: "month", anchor: 31 }),
    steps: [
      //             atMs  cost  allowed  remaining   retryAfterMs        resetMs   (5 per month; the second row is 2024-01-31T00:00Z)
      [ 1_706_659_199_999,    5,    true,         0,             0,             1 ],
      [ 1_706_659_200_000,    5,    true,         0,             0, 2_505_600_000 ],
      [ 1_706_659_200_000,    1,   false,         0, 2_505_600_000, 2_505_600_000 ],
      [ 1_709_164_799_999,    1,   false,         0,             1,             1 ],
      [ 1_709_164_800_000,    5,    true,         0,             0, 2_678_400_000 ],
      [ 1_711_843_199_999,    1,   false,         0,             1,             1 ],
      [ 1_711_843_200_000,    4,    true,         1,             0, 2_592_000_000 ],
      [ 1_714_435_199_999,    2,   false,         1,             1,             1 ],
      [ 1_714_435_199_999,    1,    true,         0,             0,             1 ],
      [ 1_714_435_200_000,    5,    true,         0,             0, 2_678_400_000 ],
    ],
  },
  {
    name: "a monthly quota from the 31st knows that 2100 has no 29 February",
    limit: quota({ limit: 1, period: "month", anchor: 31 }),
    steps: [
      //             atMs  cost  allowed  remaining   retryAfterMs        resetMs   (1 per month; the first row is 2100-01-31T00:00Z)
      [ 4_105_036_800_000,    1,    true,         0,             0, 2_419_200_000 ],
      [ 4_107_455_999_999,    1,   false,         0,             1,             1 ],
      [ 4_107_456_000_000,    1,    true,         0,             0, 2_678_400_000 ],
      [ 4_107_456_000_000,    1,   false,         0, 2_678_400_000, 2_678_400_000 ],
      [ 4_110_134_399_999,    1,   false,         0,             1,             1 ],
    ],
  },
];

/** All step tables. Concurrency limits are charged by `acquire`, all others by `check`. */
export const stepCases: readonly StepCase[] = [
  ...tokenBucketCases,
  ...leakyBucketCases,
  ...fixedWindowCases,
  ...slidingWindowCounterCases,
  ...slidingWindowLogCases,
  ...concurrencyCases,
  ...quotaCases,
];
