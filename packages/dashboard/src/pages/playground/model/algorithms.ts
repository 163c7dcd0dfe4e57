// The algorithms that run side by side, and the limits that the settings make of them: those of the library.

import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "sluice";
import { algorithmName } from "../../../ui/formats/algorithm-name.js";
import type { Settings } from "./settings.js";

/** The algorithms, in the order in which they are shown. */
export const ALGORITHMS = [
  "fixedWindow",
  "slidingWindowLog",
  "slidingWindowCounter",
  "tokenBucket",
  "leakyBucket",
  "concurrency",
  "quota",
] as const;

/** One of {@link ALGORITHMS}. */
export type Algorithm = (typeof ALGORITHMS)[number];

/** The names for people, as headings have them. */
export const NAMES = Object.fromEntries(
  ALGORITHMS.map((algorithm) => [algorithm, toHeading(algorithmName(algorithm))]),
) as Readonly<Record<Algorithm, string>>;

function toHeading(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The options of an algorithm's constructor, which are those of a rule too. */
export type LimitOptions = Readonly<Record<string, unknown>>;

/** The options that the settings make. */
export function optionsOf(algorithm: Algorithm, settings: Settings): LimitOptions {
  const { limit, windowMs, burst, queue } = settings;
  switch (algorithm) {
    case "tokenBucket":
      return { capacity: burst, refill: { amount: limit, everyMs: windowMs } };
    case "leakyBucket":
      return { ratePerSecond: (limit * 1_000) / windowMs, queueSize: queue };
    case "concurrency":
      return { limit, permitMs: permitMsOf(settings) };
    case "quota":
      return { limit: settings.quota, period: "day" };
    default:
      return { limit, windowMs };
  }
}

/** A permit that is never released expires well after a usual request has ended. */
function permitMsOf({ windowMs, holdMs }: Settings): number {
  return Math.max(windowMs, 10 * holdMs);
}

const CONSTRUCTORS = {
  fixedWindow,
  slidingWindowLog,
  slidingWindowCounter,
  tokenBucket,
  leakyBucket,
  concurrency,
  quota,
} as unknown as Readonly<Record<Algorithm, (options: LimitOptions) => Limit>>;

/** The limit that the settings make. */
export function toLimit(algorithm: Algorithm, settings: Settings): Limit {
  return CONSTRUCTORS[algorithm](optionsOf(algorithm, settings));
}

/** Whether a request fits into the limit at all: the parser refuses rules that never admit. */
export function isPossible(algorithm: Algorithm, settings: Settings): boolean {
  return algorithm === "concurrency" || settings.cost <= toLimit(algorithm, settings).capacity;
}
