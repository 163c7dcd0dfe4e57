// The options of the resilient decorator, with their defaults and bounds.

import { type Clock, systemClock, toClock } from "../../base/clock.js";
import { show } from "../../base/errors.js";
import { asOptions, oneOf, orDefault, refuse, whole } from "../../base/shapes/code-options.js";
import type { FailurePolicy } from "../store.js";
import type { FallbackEvent } from "./fallback-events.js";

/** Options of `resilient`. */
export interface ResilientOptions {
  /** How long a decision may take before the policy answers, 1 to 60,000; default 50. */
  timeoutMs?: number;
  /** What answers for limits that don't say it themselves; default `"local"`. */
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
  /** Notified when the circuit breaker opens, while it is open, and when it is back. What it throws is lost. */
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
const BREAKER_SITE = { ...SITE, name: "resilient.breaker" } as const;
const DAY_MS = 86_400_000;
const KNOWN = [
  "timeoutMs",
  "onStoreFailure",
  "localShare",
  "keysMax",
  "breaker",
  "fallbackMsMax",
  "settlingsMax",
  "onEvent",
  "clock",
] as const satisfies readonly (keyof ResilientOptions)[];

/** Validates options and fills in defaults. */
export function toSettings(options: ResilientOptions): ResilientSettings {
  const given = asOptions(SITE, options, KNOWN);
  const count = (field: (typeof KNOWN)[number], byDefault: number, max: number) =>
    whole(SITE, field, orDefault(given[field], byDefault), { min: 1, max });
  const policy = orDefault(given.onStoreFailure, "local");
  return {
    timeoutMs: count("timeoutMs", TIMEOUT_MS, TIMEOUT_BOUNDS.max),
    onStoreFailure: oneOf(SITE, "onStoreFailure", policy, POLICIES),
    localShare: toShare(orDefault(given.localShare, 0.5)),
    keysMax: count("keysMax", 100_000, 100_000_000),
    ...toBreaker(orDefault(given.breaker, {})),
    fallbackMsMax: count("fallbackMsMax", 300_000, DAY_MS),
    settlingsMax: count("settlingsMax", 1_000, 100_000),
    onEvent: toListener(given.onEvent),
    clock: withTimers(toClock(SITE, given.clock)),
  };
}

function toBreaker(breaker: unknown): { failuresMax: number; openMs: number } {
  const given = asOptions(BREAKER_SITE, breaker, ["failuresMax", "openMs"]);
  const failuresMax = orDefault(given.failuresMax, 5);
  const openMs = orDefault(given.openMs, 1_000);
  return {
    failuresMax: whole(BREAKER_SITE, "failuresMax", failuresMax, { min: 1, max: 1_000_000 }),
    openMs: whole(BREAKER_SITE, "openMs", openMs, { min: 1, max: DAY_MS }),
  };
}

function toShare(share: unknown): number {
  if (typeof share === "number" && share > 0 && share <= 1) return share;
  refuse(SITE, `localShare must be a number above 0 and at most 1, got ${show(share)}`);
}

function toListener(onEvent: unknown): ResilientSettings["onEvent"] {
  if (onEvent === undefined || typeof onEvent === "function") {
    return onEvent as ResilientSettings["onEvent"];
  }
  refuse(SITE, `onEvent must be a function, got ${show(onEvent)}`);
}

/** Time and timers have to be of one make: a deadline by one clock never comes by the other. */
function withTimers(clock: Clock): Clock {
  return clock.after === undefined ? systemClock : clock;
}
