// The situations that a fleet is put into. Each says what the world is like and what happens to it; how processes agree
// is chosen apart, so that every scenario runs under each consistency.

import { fixedWindow, tokenBucket } from "sluice";
import type { Random } from "./kernel/random.js";
import type { LinkState } from "./world/link.js";
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

/** Something that goes wrong, or recovers. */
export interface Fault {
  /** From the start of the run. */
  readonly atMs: number;
  /** What happens, for a schedule that people read: `process 3 dies`. */
  readonly what: string;
  apply(world: World): void;
}

/** A world without a fault. */
export const USUAL: WorldOptions = {
  limits: [tokenBucket({ capacity: 100, refillPerSecond: 50 })],
  consistency: "leased",
  nodes: 50,
  onStoreFailure: "closed",
  timeoutMs: 200,
  leaseMs: 1_000,
  syncMs: 100,
  keysMax: 4_096,
  callers: 10_000,
  exponent: 1.1,
  network: { latencyMs: 0.25, jitterMs: 0.25, loss: 0, isCutThere: false, isCutBack: false },
  chargeMs: 0.005,
  skewMsMax: 0,
};

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

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

function dies(atMs: number, index: number): Fault {
  return { atMs, what: `process ${index} dies`, apply: (world) => world.crash(index) };
}

function isReplaced(atMs: number, index: number): Fault {
  return { atMs, what: `process ${index} is replaced`, apply: (world) => world.replace(index) };
}

function network(atMs: number, what: string, changes: Partial<LinkState>): Fault {
  return { atMs, what, apply: (world) => Object.assign(world.network, changes) };
}

function randomFault(atMs: number, nodes: number, random: Random): Fault {
  const index = random.below(nodes);
  switch (random.below(7)) {
    case 0:
      return dies(atMs, index);
    case 1:
      return isReplaced(atMs, index);
    case 2:
      return network(atMs, "requests don't reach the store", { isCutThere: true });
    case 3:
      return network(atMs, "answers are lost", { isCutBack: true });
    case 4: {
      const latencyMs = random.between(0.1, 150);
      return network(atMs, `latency ${latencyMs.toFixed(1)} ms`, { latencyMs });
    }
    case 5:
      return network(atMs, "a tenth of the packets is lost", { loss: 0.1 });
    default:
      return network(atMs, "the network is back", USUAL.network);
  }
}

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
    faults: ({ nodes }, random) =>
      Array.from({ length: 40 }, () => randomFault(random.below(15 * SECOND_MS), nodes, random)),
  },
];

/** The scenario of that name. */
export function scenarioOf(name: string): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found !== undefined) return found;
  const names = scenarios.map((scenario) => scenario.name).join(", ");
  throw new RangeError(`unknown scenario ${JSON.stringify(name)}; there are ${names}`);
}
