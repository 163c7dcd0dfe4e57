// The store as this listener asks it: within a deadline that is shorter than Envoy's own of 20 ms, so that Envoy
// gets an answer and not a time-out, and with refusals remembered, so that a flood does not reach the store.

import { denyCache, leased, resilient, type Store } from "sluice";
import { BorrowedStore } from "sluice/internals";
import type { Core } from "../core/core.js";

/** How long a store behind a network may take by default. */
export const TIMEOUT_MS = 15;

/**
 * The store of a core, guarded if it is remote. Closing it returns what is leased and closes the guard, not the
 * core's store.
 */
export function toEnvoyStore(core: Core, timeoutMs: number): Store {
  const { config, store, clock, telemetry } = core;
  const borrowed = new BorrowedStore(store);
  if (config.workers > 1) return toCached(toLeased(borrowed, core), core);
  // Its guard has a deadline already.
  if (store.isGuarded === true) return toCached(borrowed, core);
  if (store.isRemote !== true) return borrowed;
  const guarded = resilient(borrowed, {
    clock,
    timeoutMs,
    onEvent: (event) => telemetry.fallbackEvent(event),
  });
  return toCached(guarded, core);
}

function toCached(store: Store, { clock, telemetry }: Core): Store {
  const cache = denyCache(store, { clock });
  telemetry.watch(cache);
  return cache;
}

/**
 * A worker's store is the primary, a message away: limits are leased, as those of rules in a worker are. Sliding logs
 * are not: a service of one process that shares them over Redis would not know that leased entries count for longer.
 */
function toLeased(store: Store, { config, clock, telemetry }: Core): Store {
  const leases = leased(store, { holders: config.workers, logs: "strict", clock });
  telemetry.watch(leases);
  return leases;
}

/**
 * How long a store that is guarded already may take for a limit of this listener; undefined: as long as its guard
 * says. In several processes it is the primary, which must not count as failed because Redis was slow.
 */
export function deadlineOf({ config }: Core, timeoutMs: number): number | undefined {
  const { store, workers } = config;
  return store.kind === "memory" || workers > 1 ? undefined : Math.min(timeoutMs, store.timeoutMs);
}
