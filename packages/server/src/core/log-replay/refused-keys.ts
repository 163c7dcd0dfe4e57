// The keys with most refusals, in bounded memory: the space-saving sketch, as for hot keys. While fewer keys were refused
// than it watches, it counts exactly.

import { SpaceSavingSketch, type WatchedCount } from "sluice/internals";
import { TimeSeries } from "./time-series.js";

/** A key under a rule, and what was refused. */
export interface RefusedKey {
  readonly rule: string | null;
  /** As it is counted; null if it was not refused by a limit. */
  readonly key: string | null;
  /** By the new rules. */
  refused: number;
  /** By the old rules. */
  refusedBefore: number;
  newlyRefused: number;
  newlyAllowed: number;
  /** Of refusals by the new rules, or by the old ones if there are none. */
  firstMs: number;
  lastMs: number;
  /** Refusals by the new rules. */
  readonly series: TimeSeries;
}

interface Watched extends RefusedKey, WatchedCount {
  readonly id: string;
}

/** Keys that are watched. */
export const KEYS_WATCHED_MAX = 5_000;
/** Steps of the series of one key. */
export const KEY_STEPS = 60;

/** The refused keys of a replay. */
export class RefusedKeys {
  readonly #startMs: number;
  readonly #byId = new Map<string, Watched>();
  readonly #sketch = new SpaceSavingSketch<Watched>(KEYS_WATCHED_MAX);
  #replaced = 0;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** Whether no key had to make room for another: then all refused keys are here, with exact counts. */
  get isExact(): boolean {
    return this.#replaced === 0;
  }

  /** Counts a refusal by the new rules. Returns the key, for counting what else is known of the request. */
  refuse(rule: string | null, key: string | null, atMs: number): RefusedKey {
    const watched = this.#at(rule, key, atMs);
    // Until then, the times are those of the old rules.
    if (watched.refused === 0) watched.firstMs = atMs;
    watched.refused++;
    watched.lastMs = atMs;
    watched.series.add(atMs);
    return watched;
  }

  /** Counts a refusal by the old rules. */
  refuseBefore(rule: string | null, key: string | null, atMs: number): RefusedKey {
    const watched = this.#at(rule, key, atMs);
    watched.refusedBefore++;
    if (watched.refused === 0) watched.lastMs = atMs;
    return watched;
  }

  /** Those with most refusals first. */
  toSorted(): readonly RefusedKey[] {
    return [...this.#sketch].sort((a, b) => b.count - b.error - (a.count - a.error));
  }

  #at(rule: string | null, key: string | null, atMs: number): Watched {
    const id = `${rule ?? ""}\n${key ?? ""}`;
    const watched = this.#byId.get(id) ?? this.#watch(id, rule, key, atMs);
    watched.count++;
    return watched;
  }

  #watch(id: string, rule: string | null, key: string | null, atMs: number): Watched {
    const watched: Watched = {
      id,
      rule,
      key,
      refused: 0,
      refusedBefore: 0,
      newlyRefused: 0,
      newlyAllowed: 0,
      firstMs: atMs,
      lastMs: atMs,
      series: new TimeSeries(this.#startMs, KEY_STEPS),
      count: 0,
      error: 0,
      rank: 0,
      hits: 0,
      hitsBefore: 0,
    };
    if (this.#sketch.isFull) {
      this.#byId.delete(this.#sketch.replaceLightest(watched).id);
      this.#replaced++;
    } else this.#sketch.add(watched);
    this.#byId.set(id, watched);
    return watched;
  }
}
