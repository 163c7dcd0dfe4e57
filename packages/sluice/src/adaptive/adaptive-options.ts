// The options of an adaptive limit, with their defaults and bounds.

import { type Clock, toClock } from "../base/clock.js";
import { readOptions, refuse } from "../base/shapes/code-options.js";
import {
  anyNumber,
  anything,
  choice,
  object,
  optional,
  wholeNumber,
  withDefault,
} from "../base/shapes/shapes.js";
import { ALGORITHMS, type LimitBounds } from "./limit-state.js";
import type { AdaptiveAlgorithm } from "./limit-step.js";
import { DEFAULT_SHARES, type PriorityShares } from "./priority.js";

/** Options of `adaptiveConcurrency`. */
export interface AdaptiveOptions {
  /**
   * How the limit moves; default `"gradient"`. `"gradient"` follows the ratio of latencies and suits most backends,
   * `"vegas"` keeps a short queue at the backend, `"aimd"` moves by small steps and reacts the slowest.
   */
  algorithm?: AdaptiveAlgorithm;
  /** The lowest limit, from 1; default 1. The limit never goes below it, however slow the backend is. */
  min?: number;
  /** The highest limit, up to 1,000,000; default 1,000. */
  max?: number;
  /** The limit at the start, from `min` to `max`; default 20, or the nearer of the two if 20 is outside. */
  initial?: number;
  /** How long requests are observed before the limit moves, 10 to 60,000; default 100. Never less than twice their latency. */
  windowMs?: number;
  /** How long a permit may be held before it counts as lost, 1 to 86,400,000; default 300,000. */
  permitMs?: number;
  /**
   * The share of the limit that may be in flight before a request of each priority is shed; default `high` 0.9,
   * `normal` 0.8, `low` 0.5. `critical` always has the whole limit. No priority may have more than one above it.
   */
  shares?: { high?: number; normal?: number; low?: number };
  /** Default: monotonic time. */
  clock?: Clock;
}

/** All options, filled in. */
export interface AdaptiveSettings {
  readonly algorithm: AdaptiveAlgorithm;
  readonly bounds: LimitBounds;
  readonly initial: number;
  readonly windowMs: number;
  readonly permitMs: number;
  readonly shares: PriorityShares;
  readonly clock: Clock;
}

const SITE = { name: "adaptiveConcurrency", code: "SLUICE_OPTION_INVALID" } as const;

/** The highest limit that can be asked for. */
export const LIMIT_MAX = 1_000_000;
/** What a window may last. */
export const WINDOW_BOUNDS = { min: 10, max: 60_000 };
const DAY_MS = 86_400_000;
const INITIAL = 20;

const limit = wholeNumber({ min: 1, max: LIMIT_MAX });
const share = anyNumber({ min: 0.01, max: 1 });

const OPTIONS = object({
  algorithm: withDefault(choice(ALGORITHMS), "gradient"),
  min: withDefault(limit, 1),
  max: withDefault(limit, 1_000),
  initial: optional(limit),
  windowMs: withDefault(wholeNumber(WINDOW_BOUNDS), 100),
  permitMs: withDefault(wholeNumber({ min: 1, max: DAY_MS }), 300_000),
  shares: withDefault(
    object({
      high: withDefault(share, DEFAULT_SHARES.high),
      normal: withDefault(share, DEFAULT_SHARES.normal),
      low: withDefault(share, DEFAULT_SHARES.low),
    }),
    {},
  ),
  clock: optional(anything()),
} satisfies Record<keyof AdaptiveOptions, unknown>);

/** Validates options and fills in defaults. */
export function toAdaptiveSettings(options: AdaptiveOptions): AdaptiveSettings {
  const { min, max, initial, shares, clock, ...given } = readOptions(SITE, OPTIONS, options);
  if (min > max) refuse(SITE, `min must be at most max, got ${min} and ${max}`);
  if (initial !== undefined && (initial < min || initial > max)) {
    refuse(SITE, `initial must be from min (${min}) to max (${max}), got ${initial}`);
  }
  const { high, normal, low } = shares;
  if (low > normal || normal > high) {
    refuse(
      SITE,
      `shares must not rise from high to normal to low, got ${high}, ${normal} and ${low}`,
    );
  }
  return {
    algorithm: given.algorithm,
    bounds: { min, max },
    initial: initial ?? Math.min(max, Math.max(min, INITIAL)),
    windowMs: given.windowMs,
    permitMs: given.permitMs,
    shares: { critical: 1, high, normal, low },
    clock: toClock(SITE, clock),
  };
}
