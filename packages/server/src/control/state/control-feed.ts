// Where a node gets its state from: a snapshot, and the changes after it. The sources are a database, a control node
// over HTTP, and the primary of a worker.

import type { Unsubscribe } from "../../database/database.js";
import type { LastUses } from "../keys/key-uses.js";
import type { NodeChange, Snapshot, StatePosition } from "./state.js";

/** A source of state. */
export interface ControlFeed {
  /** Everything, as of some change. */
  snapshot(): Promise<Snapshot>;
  /**
   * The next changes after one, in order; empty if there are none.
   *
   * @throws ServerError `SLUICE_CONTROL_GAP` if that change is not there or no longer at hand: a snapshot is needed.
   */
  changesAfter(position: StatePosition): Promise<readonly NodeChange[]>;
  /** Calls back when there may be changes. */
  subscribe(onChange: () => void): Unsubscribe;
}

/** A feed of a process that also uses API keys. */
export interface ResolvingFeed extends ControlFeed {
  /** Stores the hours in which keys were used. Rejects if the control plane does not take them. */
  storeUses(uses: LastUses): Promise<void>;
}
