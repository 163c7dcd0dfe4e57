// The options of the resilient decorator, with their defaults and bounds.

import { type Clock, systemClock, toClock } from "../../base/clock.js";
import { anyFunction, readOptions } from "../../base/shapes/code-options.js";
import {
  anything,
  choice,
  object,
  optional,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";
import type { FailurePolicy } from "../store.js";
import type { FallbackEvent } from "./fallback/fallback-events.js";

/** Options of `resilient`. */
export interface ResilientOptions {
  /** How long a decision may take before the policy answers, 1 to 60,000; default 50. */
  timeoutMs?: number;
  /** The failure policy of limits that don't set their own; default `"local"`. */
  onStoreFailure?: FailurePolicy;
  /**
   * The share of each limit that this process may admit on its own under `"local"`: above 0, at
   * most 1; default 0.5. One divided by the number of processes keeps their sum within the limit.
   */
  localShare?: number;
  /** The most keys of the limits under `"local"`, as in a memory store; default 100,000. */
  keysMax?: number;
  /** When the circuit breaker opens. */
  breaker?: {
    /** Failures in a row that open it; default 5. */
    failuresMax?: number;
    /**
     * How long until one request tries the store again; default 1,000. Doubled by each trial that
     * fails, up to 10,000.
     */
    openMs?: number;
  };
  /** How often an event says that the fallback lasts; default 300,000. The policy stays. */
  fallbackMsMax?: number;
  /** The most settlings kept for a store that does not take them; default 1,000. */
  settlingsMax?: number;
  /** Notified when the circuit breaker opens, while it is open, and when it is back. Exceptions that it throws are ignored. */
  onEvent?: (event: FallbackEvent) => void;
  /** For deadlines and waits. Default: the system's, also for a clock that has no timers. */
  clock?: Clock;
}

/** All options, filled in. */
export interface ResilientSettings {
  readonly timeoutMs: number;
  readonly onStoreFailure: FailurePolicy;
  readonly localShare: number;
  readonly keysMax: number;
  readonly failuresMax: number;
  readonly openMs: number;
  readonly fallbackMsMax: number;
  readonly settlingsMax: number;
  readonly onEvent: ((event: FallbackEvent) => unknown) | undefined;
  readonly clock: Clock;
}

/** The deadline of a decision by default, in milliseconds. */
export const TIMEOUT_MS = 50;
/** Every policy by its name. */
export const POLICIES = ["open", "closed", "local", "throw"] as const satisfies FailurePolicy[];
/** What a deadline may be. */
export const TIMEOUT_BOUNDS = { min: 1, max: 60_000 };

const SITE = { name: "resilient", code: "SLUICE_OPTION_INVALID" } as const;
const DAY_MS = 86_400_000;
const share: Shape<number> = {
  what: "a number above 0 and at most 1",
  schema: { type: "number", exclusiveMinimum: 0, maximum: 1 },
  read: (value, spot) =>
    typeof value === "number" && value > 0 && value <= 1 ? value : spot.refuse(share.what, value),
};
const upTo = (max: number) => wholeNumber({ min: 1, max });
const BREAKER = object({
  failuresMax: withDefault(upTo(1_000_000), 5),
  openMs: withDefault(upTo(DAY_MS), 1_000),
});
const OPTIONS = object({
  timeoutMs: withDefault(wholeNumber(TIMEOUT_BOUNDS), TIMEOUT_MS),
  onStoreFailure: withDefault(choice(POLICIES), "local"),
  localShare: withDefault(share, 0.5),
  keysMax: withDefault(upTo(100_000_000), 100_000),
  breaker: withDefault(BREAKER, {}),
  fallbackMsMax: withDefault(upTo(DAY_MS), 300_000),
  settlingsMax: withDefault(upTo(100_000), 1_000),
  onEvent: optional(anyFunction),
  clock: optional(anything()),
} satisfies Record<keyof ResilientOptions, unknown>);

/** Validates options and fills in defaults. */
export function toSettings(options: ResilientOptions): ResilientSettings {
  const given = readOptions(SITE, OPTIONS, options);
  return {
    timeoutMs: given.timeoutMs,
    onStoreFailure: given.onStoreFailure,
    localShare: given.localShare,
    keysMax: given.keysMax,
    failuresMax: given.breaker.failuresMax,
    openMs: given.breaker.openMs,
    fallbackMsMax: given.fallbackMsMax,
    settlingsMax: given.settlingsMax,
    onEvent: given.onEvent,
    clock: withTimers(toClock(SITE, given.clock)),
  };
}

/** Time and timers have to be of one make: a deadline by one clock never comes by the other. */
function withTimers(clock: Clock): Clock {
  return clock.after === undefined ? systemClock : clock;
}
