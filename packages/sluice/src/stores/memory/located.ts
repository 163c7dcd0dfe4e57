// Where a charge was found in the tables of the memory store.

import type { Charge } from "../store.js";
import type { Placement } from "./placements.js";

/** A charge found in its table: where, and when by its limit's time. */
export interface Located {
  readonly charge: Charge;
  readonly placement: Placement;
  readonly low: number;
  readonly high: number;
  /** -1 if the key has none. */
  readonly slot: number;
  readonly nowMs: number;
}
