// Records in the memory of this process, the twin of stores/redis/lua/record.lua.

import { BoundedMap } from "../../base/bounded-map.js";
import {
  RECORD_MS,
  type RecordAnswer,
  type RecordChange,
  type RecordStore,
} from "../record-store.js";

/** Beyond so many the oldest are forgotten. */
const RECORDS_MAX = 10_000;

interface KeptRecord {
  readonly value: string;
  readonly endsAtMs: number;
}

/** Records of one store. */
export class MemoryRecords implements RecordStore {
  readonly #records = new BoundedMap<string, KeptRecord>(RECORDS_MAX);

  read(name: string, nowMs: number): RecordAnswer {
    const kept = this.#records.get(name);
    const isKept = kept !== undefined && kept.endsAtMs > nowMs;
    return { value: isKept ? kept.value : undefined, nowMs };
  }

  change({ name, before, value, untilMs, nowMs }: RecordChange): boolean {
    if (nowMs > untilMs || this.read(name, nowMs).value !== before) return false;
    this.#records.set(name, { value, endsAtMs: nowMs + RECORD_MS });
    return true;
  }
}
