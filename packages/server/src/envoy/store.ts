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

/** The core's store: its owner closes it. */
class BorrowedStore extends ForwardingStore {
  override close(): void {}
}
