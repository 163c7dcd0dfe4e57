// The store as this door asks it: within a deadline that is shorter than Envoy's own of 20 ms, so that Envoy
// gets an answer and not a time-out, and with refusals remembered, so that a flood does not reach the store.

import { denyCache, ForwardingStore, resilient, type Store } from "sluice";
import type { Core } from "../core.js";

/** How long a store behind a network may take by default. */
export const TIMEOUT_MS = 15;

/** The store of a core, guarded if it is remote. Closing it closes the guard, not the core's store. */
export function toEnvoyStore({ store, clock, telemetry }: Core, timeoutMs: number): Store {
  const borrowed = new BorrowedStore(store);
  // Who guarded it knows how long it may take: that of a worker is the primary, on the same machine.
  if (store.isGuarded === true) return denyCache(borrowed, { clock });
  if (store.isRemote !== true) return borrowed;
  const guarded = resilient(borrowed, {
    clock,
    timeoutMs,
    onEvent: (event) => telemetry.fallbackEvent(event),
  });
  return denyCache(guarded, { clock });
}

/**
 * How long a store that is guarded already may take for a limit of this door; undefined: as long as its guard
 * says. In several processes it is the primary, which must not count as failed because Redis was slow.
 */
export function deadlineOf({ config }: Core, timeoutMs: number): number | undefined {
  const { store, workers } = config;
  return store.kind === "memory" || workers > 1 ? undefined : Math.min(timeoutMs, store.timeoutMs);
}

/** The core's store: its owner closes it. */
class BorrowedStore extends ForwardingStore {
  override close(): void {}
}
