// The options of leases, checked once and filled in.

import { type Clock, toClock } from "../../base/clock.js";
import { type OptionSite, readOptions } from "../../base/shapes/code-options.js";
import {
  anything,
  choice,
  object,
  optional,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";

/** Options of `leased`. */
export interface LeasedOptions {
  /**
   * How long a lease lives, in milliseconds from sending its request: 1 to 1,000, default 1,000.
   * Blocks, resets and changed limits reach leased keys of other processes within it. Processes
   * that share a sliding window log must have the same.
   */
  leaseMs?: number;
  /**
   * How many processes share the budget of a key; default 4. A lease takes at most what remains
   * ÷ (2 × holders), so a wrong number makes leases too small or refusals too early, never more.
   */
  holders?: number;
  /** How many requests within `leaseMs` it takes until a key is leased: 1 to 10,000, default 8. */
  warmAfter?: number;
  /** The most keys that are leased at the same time; default 10,000. Beyond it keys stay strict. */
  keysMax?: number;
  /**
   * `"strict"`: sliding window logs are never leased, so an entry never counts for longer than its window. For
   * processes that share a log with others that don't lease it. Default `"leased"`.
   */
  logs?: "leased" | "strict";
  /** The clock that measures the life of a lease; default: monotonic time of this process. */
  clock?: Clock;
}

/** Options of the leases of hot keys. */
export type HotLeaseOptions = Omit<LeasedOptions, "clock" | "logs">;

/** Options, validated and filled in. */
export type LeasedSettings = Readonly<Required<LeasedOptions>>;

/** The longest life of a lease, and the default. */
export const LEASE_MS_MAX = 1_000;
const WARM_AFTER = wholeNumber({ min: 1, max: 10_000 });
const FIELDS = {
  leaseMs: withDefault(wholeNumber({ min: 1, max: LEASE_MS_MAX }), LEASE_MS_MAX),
  holders: withDefault(wholeNumber({ min: 1, max: 1_000_000 }), 4),
  warmAfter: withDefault(WARM_AFTER, 8),
  keysMax: withDefault(wholeNumber({ min: 1, max: 10_000_000 }), 10_000),
} as const;
const OPTIONS = object({
  ...FIELDS,
  logs: withDefault(choice(["leased", "strict"]), "leased"),
  clock: optional(anything()),
} satisfies Record<keyof LeasedOptions, unknown>);

/** The leases of hot keys. A hot key is warm already, and a log is never hot. */
export const hotLease: Shape<HotLeaseOptions> = object({
  ...FIELDS,
  warmAfter: withDefault(WARM_AFTER, 1),
} satisfies Record<keyof HotLeaseOptions, unknown>);

/** Validates options; `site` is the function that they were given to. */
export function toLeasedSettings(site: OptionSite, options: unknown): LeasedSettings {
  const { leaseMs, holders, warmAfter, keysMax, logs, clock } = readOptions(site, OPTIONS, options);
  return { leaseMs, holders, warmAfter, keysMax, logs, clock: toClock(site, clock) };
}
