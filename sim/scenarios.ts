// The situations that a fleet is put into, and the list of all of them.

import { fixedWindow, tokenBucket } from "sluice";
import { dies, isReplaced, network, randomFault } from "./faults.js";
import { OVER_REGIONS, overRegions, REGIONAL } from "./regional-scenarios.js";
import { MINUTE_MS, type Scenario, SECOND_MS } from "./scenario.js";
import type { RetryBehaviour } from "./world/world.js";

/** Waits as long as it was asked to, and a little longer than others. */
const polite: RetryBehaviour = {
  delayMs: ({ retryAfterMs }, attempt, random) =>
    attempt >= 5 || retryAfterMs === Number.POSITIVE_INFINITY
      ? undefined
      : retryAfterMs + random.between(0, SECOND_MS),
};

/** Asks again almost immediately, many times. */
const rude: RetryBehaviour = {
  delayMs: (_, attempt, random) => (attempt >= 20 ? undefined : random.between(5, 50)),
};

/** Scenarios of one region. */
const ONE_REGION: readonly Scenario[] = [
  {
    name: "steady",
    about: "steady traffic of many callers, of whom the busiest are above their limit",
    options: {},
    durationMs: 20 * SECOND_MS,
    ratePerSecond: () => 20_000,
  },
  {
    name: "windows",
    about: "steady traffic under a fixed window of ten seconds together with a bucket",
    options: {
      limits: [
        fixedWindow({ limit: 300, windowMs: 10 * SECOND_MS }),
        tokenBucket({ capacity: 100, refillPerSecond: 50 }),
      ],
    },
    durationMs: 30 * SECOND_MS,
    ratePerSecond: () => 20_000,
  },
  {
    name: "flash-crowd",
    about: "ten times the traffic for five seconds",
    options: {},
    durationMs: 20 * SECOND_MS,
    ratePerSecond: (sinceMs) => (sinceMs >= 5_000 && sinceMs < 10_000 ? 100_000 : 10_000),
  },
  {
    name: "hot-key",
    about: "all requests come from one caller, at a hundred times its limit",
    options: { callers: 1, limits: [tokenBucket({ capacity: 1_000, refillPerSecond: 500 })] },
    durationMs: 20 * SECOND_MS,
    ratePerSecond: () => 50_000,
    ask: (world) => world.ask(0),
  },
  {
    name: "retry-storm",
    about: "half of the callers retry after Retry-After, the others almost immediately",
    options: {},
    durationMs: 20 * SECOND_MS,
    ratePerSecond: () => 10_000,
    ask: (world) => world.askRandomly((caller) => (caller % 2 === 0 ? polite : rude)),
  },
  {
    name: "rolling-deploy",
    about: "each process is replaced in turn, and one in ten dies instead of stopping",
    options: {},
    durationMs: 20 * SECOND_MS,
    ratePerSecond: () => 20_000,
    faults: ({ nodes }) =>
      Array.from({ length: nodes }, (_, i) => {
        const atMs = SECOND_MS + (i * 15 * SECOND_MS) / nodes;
        return i % 10 === 0 ? dies(atMs, i) : isReplaced(atMs, i);
      }),
  },
  {
    name: "clock-skew",
    about: "the clocks of processes are wrong by up to a minute",
    options: {
      skewMsMax: MINUTE_MS,
      limits: [fixedWindow({ limit: 300, windowMs: 10 * SECOND_MS })],
    },
    durationMs: 30 * SECOND_MS,
    ratePerSecond: () => 20_000,
  },
  {
    name: "bad-network",
    about: "two in a hundred messages are lost once, and latency varies by 20 ms",
    options: {
      network: { latencyMs: 1, jitterMs: 20, loss: 0.02, isCutThere: false, isCutBack: false },
    },
    durationMs: 20 * SECOND_MS,
    ratePerSecond: () => 10_000,
  },
  {
    name: "partition",
    about:
      "no process reaches the store for five seconds, and then only its answers are lost for two",
    options: {},
    durationMs: 30 * SECOND_MS,
    ratePerSecond: () => 10_000,
    faults: () => [
      network(5 * SECOND_MS, "requests don't reach the store", { isCutThere: true }),
      network(10 * SECOND_MS, "only answers are lost", { isCutThere: false, isCutBack: true }),
      network(12 * SECOND_MS, "the network is back", { isCutBack: false }),
    ],
  },
  {
    name: "store-restart",
    about: "the store is gone for two seconds and has forgotten everything when it returns",
    options: {},
    durationMs: 20 * SECOND_MS,
    ratePerSecond: () => 10_000,
    isStoreFaulty: true,
    faults: () => [
      { atMs: 8 * SECOND_MS, what: "the store fails", apply: ({ server }) => server.fail() },
      {
        atMs: 10 * SECOND_MS,
        what: "the store is back, empty",
        apply: ({ server }) => server.restartEmpty(),
      },
    ],
  },
  {
    name: "fleet",
    about:
      "a thousand processes; 2,000 tenants ask 500 times a second on average, each at four of them",
    options: {
      nodes: 1_000,
      callers: 2_000,
      exponent: 0.5,
      reach: 4,
      shards: 8,
      keysMax: 1_024,
      limits: [tokenBucket({ capacity: 10_000, refillPerSecond: 5_000 })],
    },
    durationMs: 3 * SECOND_MS,
    ratePerSecond: () => 1_000_000,
  },
  {
    name: "crowd",
    about: "two million callers at a thousand processes, most of whom ask once",
    options: {
      nodes: 1_000,
      callers: 2_000_000,
      exponent: 0.9,
      shards: 8,
      limits: [tokenBucket({ capacity: 10, refillPerSecond: 1 })],
    },
    durationMs: 3 * SECOND_MS,
    ratePerSecond: () => 500_000,
  },
  {
    name: "chaos",
    about: "processes die and are replaced, and the network is slow, lossy or cut, at random",
    options: {
      nodes: 12,
      callers: 200,
      limits: [
        fixedWindow({ limit: 120, windowMs: 5 * SECOND_MS }),
        fixedWindow({ limit: 40, windowMs: SECOND_MS }),
      ],
      skewMsMax: MINUTE_MS,
    },
    durationMs: 15 * SECOND_MS,
    ratePerSecond: () => 3_000,
    faults: (options, random) =>
      Array.from({ length: 40 }, () => randomFault(random.below(15 * SECOND_MS), options, random)),
  },
];

/** All scenarios. */
export const scenarios: readonly Scenario[] = [
  ...ONE_REGION,
  ...REGIONAL,
  ...ONE_REGION.filter(({ name }) => OVER_REGIONS.includes(name)).map(overRegions),
];

/** The scenario of that name. */
export function scenarioOf(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found !== undefined) return found;
  const names = scenarios.map((scenario) => scenario.name).join(", ");
  throw new RangeError(`unknown scenario ${JSON.stringify(name)}; there are ${names}`);
}
