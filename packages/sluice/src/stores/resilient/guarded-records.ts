// Records of a resilient store: under the same deadline and circuit breaker as its counters. Nothing stands in for an
// answer that does not come.

import type { MaybePromise } from "../../base/maybe-promise.js";
import type { RecordAnswer, RecordChange, RecordStore } from "../record-store.js";
import { type AskGuarded, PlainRequest } from "./plain-request.js";

/** Records that fail in time. */
export class GuardedRecords implements RecordStore {
  readonly #inner: RecordStore;
  readonly #ask: AskGuarded;

  constructor(inner: RecordStore, ask: AskGuarded) {
    this.#inner = inner;
    this.#ask = ask;
  }

  read(name: string, nowMs: number): MaybePromise<RecordAnswer> {
    return this.#ask(new PlainRequest(name, () => this.#inner.read(name, nowMs)));
  }

  change(change: RecordChange): MaybePromise<boolean> {
    return this.#ask(new PlainRequest(change.name, () => this.#inner.change(change)));
  }
}
