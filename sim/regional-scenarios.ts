// The situations of fleets in several regions: some of their own, and those of one region over three.

import { fixedWindow } from "sluice";
import { dies, distance, home, promotion, randomDistanceFault } from "./faults.js";
import { MINUTE_MS, type Scenario, SECOND_MS } from "./scenario.js";

/** A caller that asks in all regions; not one of the busiest. */
const ATTACKER = 299;

/** Where requests arrive in turn: nine in ten in the second region, one in twenty in each other. */
const UNEVENLY = Array.from({ length: 20 }, (_, i) => (i === 0 ? 0 : i === 10 ? 2 : 1));

/** Three regions, 80 ms there and back from the first, where every caller has a tenth of its requests elsewhere. */
const THREE_REGIONS = {
  regions: ["eu", "us", "ap"],
  nodes: 12,
  callers: 300,
  limits: [fixedWindow({ limit: 300, windowMs: 10 * SECOND_MS })],
};

/** The same with a second rule. A run is within one window: what both rules have counted in it can be compared. */
const TWO_RULES = {
  ...THREE_REGIONS,
  limits: [fixedWindow({ limit: 90, windowMs: 20 * SECOND_MS })],
  homeLimits: [fixedWindow({ limit: 30, windowMs: 20 * SECOND_MS })],
};

/** Agreements under which a rule shows what it has counted. */
const COMPARED = ["each", "central", "split", "leased", "merged"] as const;

/** Scenarios of several regions. */
export const REGIONAL: readonly Scenario[] = [
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
      "besides ordinary callers, one asks a thousand times a second, in each of three regions in turn",
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
    name: "regions-uneven",
    about: "one caller asks for exactly its limit, nine times out of ten in the same region",
    options: {
      ...THREE_REGIONS,
      nodes: 3,
      callers: 1,
      limits: [fixedWindow({ limit: 2_000, windowMs: 2 * SECOND_MS })],
    },
    durationMs: MINUTE_MS,
    ratePerSecond: () => 1_000,
    ask: (world) => world.askIn(UNEVENLY[world.decisions % UNEVENLY.length], 0),
  },
  {
    name: "regions-rules",
    about: "callers under two rules, of which the home region decides the tighter one",
    options: TWO_RULES,
    across: COMPARED,
    durationMs: 15 * SECOND_MS,
    ratePerSecond: () => 2_000,
  },
  {
    name: "regions-rules-chaos",
    about:
      "callers under the same two rules, while links between regions are slow, lossy or cut, at random",
    options: TWO_RULES,
    across: COMPARED,
    durationMs: 15 * SECOND_MS,
    ratePerSecond: () => 2_000,
    faults: (options, random) =>
      Array.from({ length: 20 }, () =>
        randomDistanceFault(random.below(15 * SECOND_MS), options, random),
      ),
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
    name: "home-lost",
    about:
      "the home region's store is lost, its standby is promoted, and the old one comes back with all that it had",
    options: { ...THREE_REGIONS, standby: "us" },
    across: ["central", "leased"],
    durationMs: 60 * SECOND_MS,
    ratePerSecond: () => 2_000,
    faults: () => [
      home(10 * SECOND_MS, "lost"),
      promotion(12 * SECOND_MS, "us"),
      home(30 * SECOND_MS, "back"),
    ],
  },
  {
    name: "regions-chaos",
    about: "the links between three regions are slow, lossy or cut, and processes die, at random",
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
];

/** Scenarios of one region that also run over three, with a tenth of the traffic. */
export const OVER_REGIONS: readonly string[] = [
  "flash-crowd",
  "hot-key",
  "retry-storm",
  "rolling-deploy",
  "clock-skew",
  "store-restart",
];

/** A scenario of one region over three, with a tenth of its traffic. */
export function overRegions(scenario: Scenario): Scenario {
  return {
    ...scenario,
    name: `regions-${scenario.name}`,
    about: `over three regions: ${scenario.about}`,
    options: { ...THREE_REGIONS, ...scenario.options },
    ratePerSecond: (sinceMs) => scenario.ratePerSecond(sinceMs) / 10,
  };
}
