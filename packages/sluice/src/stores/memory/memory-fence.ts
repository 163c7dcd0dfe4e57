// The record of the home region in the memory of this process: the twin of stores/redis/lua/fence.

import {
  type FenceReading,
  type FenceStore,
  type FenceSwap,
  fencedError,
  isHomeAt,
  readRecord,
} from "../fence-store.js";
import type { Settling } from "../store.js";

/** The record of one memory store. */
export class MemoryFence implements FenceStore {
  #text = "";
  #refusals = 0;

  get refusals(): number {
    return this.#refusals;
  }

  read(nowMs: number): FenceReading {
    return { nowMs, text: this.#text };
  }

  swap({ expected, next, nowMs }: FenceSwap): FenceReading & { isSwapped: boolean } {
    const isSwapped = this.#text === expected;
    if (isSwapped) this.#text = next;
    return { nowMs, text: this.#text, isSwapped };
  }

  /** The same for all that have an epoch, before any of them is settled. */
  mustSettle(settlings: readonly Settling[]): void {
    for (const { receipt, nowMs } of settlings) {
      const { epoch } = receipt.counter;
      if (epoch !== undefined) this.mustBeHome(epoch, nowMs);
    }
  }

  /** @throws SluiceError `SLUICE_HOME_FENCED` unless this store is home under the epoch. */
  mustBeHome(epoch: number, nowMs: number): void {
    if (isHomeAt(readRecord(this.#text), epoch, nowMs)) return;
    this.#refusals++;
    throw fencedError(this.#text);
  }
}
