// The store that limiters and decorators really ask. A store that answers over a network is put behind a deadline and
// a circuit breaker by whichever wraps it first. All users share these, so what one learns about the store, all know.

import { type Clock, systemClock } from "../base/clock.js";
import { type ResilientStore, resilient } from "./resilient/resilient.js";
import type { FailurePolicy, Store } from "./store.js";

/** Options for a store that may fail. */
export interface StoreCare {
  readonly onStoreFailure?: FailurePolicy | undefined;
  readonly timeoutMs?: number | undefined;
  readonly clock: Clock;
}

// By store, then by clock. Policies and deadlines of their own come with the counters.
const shared = new WeakMap<Store, WeakMap<Clock, ResilientStore>>();

/**
 * The store, guarded if it is remote. With `"throw"` and no deadline there is nothing to guard: its
 * own answers and errors are what the caller wants to see.
 */
export function toGuarded(store: Store, care: StoreCare): Store {
  if (store.isRemote !== true) return store;
  if (care.onStoreFailure === "throw" && care.timeoutMs === undefined) return store;
  const { clock } = care;
  const byClock = fill(shared, store, () => new WeakMap<Clock, ResilientStore>());
  return fill(byClock, clock, () => resilient(store, { clock }));
}

/** Whether other processes may share the store: one with a guard in front is behind a network too. */
export function isShared({ isRemote, isGuarded }: Store): boolean {
  return isRemote === true || isGuarded === true;
}

/** The store that a decorator with these options asks: guarded by its clock if it is remote. */
export function guardedFor(store: Store, options: { clock?: Clock } | undefined): Store {
  const clock = options?.clock ?? systemClock;
  // The decorator that got an invalid clock rejects it, and names itself in the error.
  return typeof clock.now === "function" ? toGuarded(store, { clock }) : store;
}

interface Shelf<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

function fill<K, V>(shelf: Shelf<K, V>, key: K, make: () => V): V {
  const found = shelf.get(key);
  if (found !== undefined) return found;
  const made = make();
  shelf.set(key, made);
  return made;
}
