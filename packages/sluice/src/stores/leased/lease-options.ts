// The options of leases, checked once and filled in.

import { type Clock, toClock } from "../../base/clock.js";
import {
  asOptions,
  type OptionSite,
  oneOf,
  orDefault,
  whole,
} from "../../base/shapes/code-options.js";

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
  /** A key is strict until it was asked so many times within `leaseMs`: 1 to 10,000, default 8. */
  warmAfter?: number;
  /** The most keys that are leased at the same time; default 10,000. Beyond it keys stay strict. */
  keysMax?: number;
  /**
   * `"strict"`: sliding window logs are never leased, so an entry never counts for longer than its window. For
   * processes that share a log with others that don't lease it. Default `"leased"`.
   */
  logs?: "leased" | "strict";
  /** What a lease's life is counted by; default: monotonic time of this process. */
  clock?: Clock;
}

/** Options, validated and filled in. */
export type LeasedSettings = Readonly<Required<LeasedOptions>>;

const LEASE_MS = { min: 1, max: 1000 };
const HOLDERS = { min: 1, max: 1_000_000 };
const WARM_AFTER = { min: 1, max: 10_000 };
const KEYS = { min: 1, max: 10_000_000 };

/** Validates options; `site` is the function that they were given to. */
export function toLeasedSettings(site: OptionSite, options: unknown): LeasedSettings {
  const known = ["leaseMs", "holders", "warmAfter", "keysMax", "logs", "clock"] as const;
  const given = asOptions(site, options, known);
  return {
    leaseMs: whole(site, "leaseMs", orDefault(given.leaseMs, 1000), LEASE_MS),
    holders: whole(site, "holders", orDefault(given.holders, 4), HOLDERS),
    warmAfter: whole(site, "warmAfter", orDefault(given.warmAfter, 8), WARM_AFTER),
    keysMax: whole(site, "keysMax", orDefault(given.keysMax, 10_000), KEYS),
    logs: oneOf(site, "logs", orDefault(given.logs, "leased"), ["leased", "strict"]),
    clock: toClock(site, given.clock),
  };
}
