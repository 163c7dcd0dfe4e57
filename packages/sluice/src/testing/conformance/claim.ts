// What the conformance kit checks: claims, each on a stand of its own.

import type { Limit } from "../../limits/limits.js";
import type { Store } from "../../stores/store.js";
import type { ManualClock } from "../manual-clock.js";

/** Where a claim is checked. The store is its own and empty, the clock shows a noon of 2024. */
export interface Stand {
  readonly store: Store;
  readonly clock: ManualClock;
  /** The seed of all randomness. */
  readonly seed: number;
  /** How many random traces a claim about them runs. */
  readonly traces: number;
  /** The algorithms whose limits the store holds. */
  readonly algorithms: ReadonlySet<AlgorithmName>;
}

/** The name of an algorithm. */
export type AlgorithmName = Limit["algorithm"];

/** One promise of a store, and the check that it is kept: it throws if not. */
export interface Claim {
  /** A claim about several titles. */
  readonly group: string;
  /** What of the group is checked; no two of a group are the same. */
  readonly title: string;
  /** The algorithms that it is about: a store that does not hold all of them is not checked. Default: any will do. */
  readonly about?: readonly AlgorithmName[];
  check(stand: Stand): Promise<void>;
}
