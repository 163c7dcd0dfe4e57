// What a scenario is: a world, its traffic, and what goes wrong in it. How processes and regions agree is chosen apart, so that
// every scenario runs under each agreement.

import { tokenBucket } from "sluice";
import type { Fault } from "./faults.js";
import type { Random } from "./kernel/random.js";
import type { Across } from "./world/regional-policy.js";
import type { World, WorldOptions } from "./world/world.js";

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;

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
  /** The ways of agreeing across regions that it is about. Default: all. */
  readonly across?: readonly Across[];
}

/** A world without a fault. */
export const USUAL: WorldOptions = {
  limits: [tokenBucket({ capacity: 100, refillPerSecond: 50 })],
  consistency: "leased",
  across: "each",
  regions: [],
  homeLimits: [],
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
