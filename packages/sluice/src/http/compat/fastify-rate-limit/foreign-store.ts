// Store classes that were written for @fastify/rate-limit.

import type { RefusalContext } from "../../response/refusal.js";

/** Hits in a window, and how long it lasts. */
export interface ForeignHits {
  current: number;
  /** In milliseconds. */
  ttl: RefusalContext["retryAfterMs"];
}

export type HitsCallback = (error: Error | null, hits?: ForeignHits) => void;

export type CountHits = (key: string, done: HitsCallback, windowMs: number, max: number) => void;

/** An instance of a store class for @fastify/rate-limit. */
export interface ForeignStore {
  incr: CountHits;
  /** Needed for `{ increment: false }`. */
  read?: CountHits;
  /** The store of a route. */
  child(options: object): ForeignStore;
}

/** A store class for @fastify/rate-limit. */
export type ForeignStoreClass = new (options: object) => ForeignStore;
