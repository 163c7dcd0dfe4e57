// What a memory store reports about itself.

import type { SketchStats } from "./sketch/sketches.js";

/** Statistics of a memory store. */
export interface MemoryStoreStats {
  /** Slots in use, keys at rest that were not yet overwritten included. */
  readonly keys: number;
  /** Live keys that were evicted because the table was full. */
  readonly evictions: number;
  /** The shares of their limits that evicted keys had in use, added up: 1 is one full limit. */
  readonly usageEvicted: number;
  /** Entries of logs, and permits, in use. */
  readonly entries: number;
  /** Charges, taken or only peeked at, that were refused because an arena was full. */
  readonly arenaRefusals: number;
  /** Keys blocked, blocks that ended but were not yet looked at included. */
  readonly blocks: number;
  /** Blocks that were evicted before they ended because their table was full. */
  readonly blocksEvicted: number;
  /** The sketches of this store, each with its error; see {@link SketchStats}. */
  readonly sketches: readonly SketchStats[];
  /** Memory set aside for all of this, apart from open receipts and request ids. */
  readonly bytes: number;
}
