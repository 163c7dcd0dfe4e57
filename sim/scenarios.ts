// The situations that a fleet is put into. Each says what the world is like and what happens to it; how processes agree
// is chosen apart, so that every scenario runs under each consistency.

import { fixedWindow, tokenBucket } from "sluice";
import {
  dies,
  distance,
  type Fault,
  isReplaced,
  network,
  randomDistanceFault,
  randomFault,
} from "./faults.js";
import type { Random } from "./kernel/random.js";
import type { RetryBehaviour, World, WorldOptions } from "./world/world.js";

/** A situation. */
export interface Scenario {
  readonly name: string;
  /** What happens, in a sentence. */
  readonly about: string;
  /** What differs from {@link USUAL}. */
  readonly options: Partial<WorldOptions>;
  readonly durationMs: number;
  /** Requests a second of all callers together, by the time since the start. */
  ratePerSecond(sinceMs: number): number;
  /** One request; default: of a random caller, who does not retry. */
  ask?(world: World): void;
  /** What goes wrong, in any order; `random` yields the same numbers for the same seed. Default: nothing does. */
  faults?(options: WorldOptions, random: Random): readonly Fault[];
  /** Whether the shared store forgets or fails, so that its own promises don't hold. Default: it does neither. */
  readonly isStoreFaulty?: boolean;
}

/** A world without a fault. */
export const USUAL: WorldOptions = {
  limits: [tokenBucket({ capacity: 100, refillPerSecond: 50 })],
  consistency: "leased",
  across: "each",
  regions: [],
  nodes: 50,
  onStoreFailure: "closed",
  timeoutMs: 200,
  leaseMs: 1_000,
  syncMs: 100,
  keysMax: 4_096,
  callers: 10_000,
  reach: Number.POSITIVE_INFINITY,
  exponent: 1.1,
  network: { latencyMs: 0.25, jitterMs: 0.25, loss: 0, isCutThere: false, isCutBack: false },
  distance: { latencyMs: 40, jitterMs: 2, loss: 0, isCutThere: false, isCutBack: false },
  roaming: 0.1,
  shards: 1,
  chargeMs: 0.005,
  skewMsMax: 0,
};

/** A caller that asks in all regions; not one of the busiest. */
const ATTACKER = 299;

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** Three regions, 80 ms there and back from the first, where every caller has a tenth of its requests elsewhere. */
const THREE_REGIONS = {
  regions: ["eu", "us", "ap"],
  nodes: 12,
  callers: 300,
  limits: [fixedWindow({ limit: 300, windowMs: 10 * SECOND_MS })],
};

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

/** All scenarios. */
export const scenarios: readonly Scenario[] = [
  {
    name: "steady",
    about: "steady traffic of many callers, of whom the busiest are above their limit",
    options: {},
    durationMs: 20 * SECOND_MS,
    ratePerSecond: () => 20_000,
  },
  {
    name: "windows",
    about: "the same under a fixed window of ten seconds and a bucket together",
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
    about: "all requests are of one caller, a hundred times above its limit",
    options: { callers: 1, limits: [tokenBucket({ capacity: 1_000, refillPerSecond: 500 })] },
    durationMs: 20 * SECOND_MS,
    ratePerSecond: () => 50_000,
    ask: (world) => world.ask(0),
  },
  {
    name: "retry-storm",
    about: "every second caller retries after Retry-After, the others almost immediately",
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
    name: "regions",
    about: "callers of three regions, of whom the busiest are above their limit",
    options: THREE_REGIONS,
    durationMs: 30 * SECOND_MS,
    ratePerSecond: () => 5_000,
  },
  {
    name: "rotating-attacker",
    about:
      "beside usual callers, one asks a thousand times a second, in each of three regions in turn",
    options: THREE_REGIONS,
    durationMs: 30 * SECOND_MS,
    ratePerSecond: () => 3_000,
    ask: (world) => {
      if (world.decisions % 3 !== 0) world.askRandomly();
      else world.askIn(Math.floor(world.decisions / 3) % world.options.regions.length, ATTACKER);
    },
  },
  {
    name: "regions-overload",
    about: "one caller asks for three times its limit, in three regions that are 200 ms apart",
    options: {
      ...THREE_REGIONS,
      nodes: 3,
      callers: 1,
      roaming: 1,
      limits: [fixedWindow({ limit: 10_000, windowMs: 10 * SECOND_MS })],
      distance: { latencyMs: 100, jitterMs: 2, loss: 0, isCutThere: false, isCutBack: false },
    },
    durationMs: 30 * SECOND_MS,
    ratePerSecond: () => 3_000,
  },
  {
    name: "region-partition",
    about: "one of three regions does not reach the home region for a minute",
    options: THREE_REGIONS,
    durationMs: 90 * SECOND_MS,
    ratePerSecond: () => 2_000,
    faults: () => [
      distance(15 * SECOND_MS, 2, "is cut off", { isCutThere: true, isCutBack: true }),
      distance(75 * SECOND_MS, 2, "is back", { isCutThere: false, isCutBack: false }),
    ],
  },
  {
    name: "regions-chaos",
    about: "the ways between three regions are slow, lossy or cut, and processes die, at random",
    options: { ...THREE_REGIONS, skewMsMax: MINUTE_MS },
    durationMs: 15 * SECOND_MS,
    ratePerSecond: () => 3_000,
    faults: (options, random) =>
      Array.from({ length: 40 }, (_, i) =>
        i % 4 === 0
          ? dies(random.below(15 * SECOND_MS), random.below(options.nodes))
          : randomDistanceFault(random.below(15 * SECOND_MS), options, random),
      ),
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

/** The scenario of that name. */
export function scenarioOf(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found !== undefined) return found;
  const names = scenarios.map((scenario) => scenario.name).join(", ");
  throw new RangeError(`unknown scenario ${JSON.stringify(name)}; there are ${names}`);
}
