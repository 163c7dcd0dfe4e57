// Records: short strings that processes of a store's users agree on, such as how a limit is shared between regions. They
// are beside the store's counters. A change says what was read, so that no change is lost or made twice.

import type { MaybePromise } from "../base/maybe-promise.js";

/** What a record says. */
export interface RecordAnswer {
  /** Undefined if there is no such record. */
  readonly value: string | undefined;
  /** The time by the store's clock. */
  readonly nowMs: number;
}

/** A change of a record. */
export interface RecordChange {
  readonly name: string;
  /** What it said when it was read; undefined: there was none. */
  readonly before: string | undefined;
  readonly value: string;
  /** By the store's clock: a change that arrives later is not made. */
  readonly untilMs: number;
  /** The time, for a store without a clock of its own. */
  readonly nowMs: number;
}

/** Records that all users of a store share. Each call is atomic. */
export interface RecordStore {
  read(name: string, nowMs: number): MaybePromise<RecordAnswer>;
  /** Returns whether the record was changed: only if it said `before`, and in time. */
  change(change: RecordChange): MaybePromise<boolean>;
}

/** A record that is not changed for so long is forgotten. The same in record.lua. */
export const RECORD_MS: number = 30 * 86_400_000;
