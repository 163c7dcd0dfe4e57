// Charges that are made to one key after the other, as in a replay of a log: where their counters are is found once, and
// so is the fingerprint of a key. Only the usual case is handled, that of keys which may pass; all else is left to the
// store's `decide`, as if nothing had been tried (bench replay/speed).

import type { Charge } from "../store.js";
import type { Blocks } from "./blocked-keys.js";
import type { AnyStep } from "./cells/cells.js";
import { isAligned, timeFor } from "./locator.js";
import type { Placement, Placements } from "./placements.js";
import { STATE_DOUBLES_MAX } from "./table/table.js";

/** A key with its fingerprint in one store, or in stores with the same seed. Few charges look at the key itself. */
export interface PrintedKey {
  readonly key: string;
  readonly low: number;
  readonly high: number;
}

/** A charge to a key, or to the caller if the key is undefined. */
export type UnkeyedCharge = Omit<Charge, "key"> & { readonly key: string | undefined };

/** A charge on a counter whose placement is known. */
interface PreparedCharge {
  readonly placement: Placement;
  readonly cost: number;
  /** Whether each key has a time of its own. */
  readonly isAlignedByKey: boolean;
  /** The key that is charged; undefined if it is that of the caller. */
  readonly printed: PrintedKey | undefined;
}

/** The charges of one request, of which no two are on the same counter. */
export class PreparedCharges {
  readonly #charges: readonly PreparedCharge[];
  readonly #blocks: Blocks;
  /** -1 for a key that has none yet. */
  readonly #slots: Int32Array;
  #isAnyNew = false;
  /** The steps of keys without a slot, which are kept once all charges have passed. */
  readonly #steps: (AnyStep | undefined)[];
  /** The states of slots as they were before the trial. */
  readonly #saved: Float64Array;

  /** Undefined if a charge needs more than a slot. */
  static of(
    charges: readonly UnkeyedCharge[],
    placements: Placements,
    blocks: Blocks,
    print: (key: string) => PrintedKey,
  ): PreparedCharges | undefined {
    const prepared = charges.map(({ counter, cost, key, nowMs }) => {
      const placement = placements.of(counter, nowMs);
      const isAlignedByKey = isAligned(placement.cells);
      const printed = key === undefined ? undefined : print(key);
      return { placement, cost, isAlignedByKey, printed };
    });
    const isPlain = prepared.every(
      ({ placement: { cells, isKept } }) => isKept && cells.isAllInSlot,
    );
    return isPlain ? new PreparedCharges(prepared, blocks) : undefined;
  }

  private constructor(charges: readonly PreparedCharge[], blocks: Blocks) {
    this.#charges = charges;
    this.#blocks = blocks;
    this.#slots = new Int32Array(charges.length);
    this.#steps = charges.map(() => undefined);
    this.#saved = new Float64Array(charges.length * STATE_DOUBLES_MAX);
  }

  /** Takes all charges. Returns false, and nothing has changed, if one is refused or needs the store's `decide`. */
  take(caller: PrintedKey, nowMs: number): boolean {
    if (!this.#blocks.isEmpty || !this.#findSlots(caller)) return false;
    const charges = this.#charges;
    const last = charges.length - 1;
    for (let i = 0; i <= last; i++) {
      const { placement, cost, isAlignedByKey, printed } = charges[i];
      const { cells } = placement;
      const slot = this.#slots[i];
      const atMs = isAlignedByKey ? timeFor(cells, (printed ?? caller).key, nowMs) : nowMs;
      if (slot < 0) {
        const step = cells.weigh(slot, cost, atMs, 1);
        this.#steps[i] = step;
        if (step.allowed) continue;
      } else {
        // What is refused changes nothing, so the last one never has to be restored.
        if (i < last) cells.table.copyOut(slot, this.#saved, i * STATE_DOUBLES_MAX);
        if (cells.decide(slot, cost, atMs).allowed) continue;
      }
      this.#restore(i);
      return false;
    }
    if (this.#isAnyNew) this.#keepNew(caller, nowMs);
    return true;
  }

  #findSlots(caller: PrintedKey): boolean {
    this.#isAnyNew = false;
    for (let i = 0; i < this.#charges.length; i++) {
      const { placement, printed } = this.#charges[i];
      const { low, high } = printed ?? caller;
      const { cells, saltLow, saltHigh } = placement;
      const slot = cells.table.find(low ^ saltLow, high ^ saltHigh);
      this.#slots[i] = slot;
      if (slot < 0) {
        // It may have been counted under other numbers, in another table.
        if (placement.tables.length > 1) return false;
        this.#isAnyNew = true;
      } else if (cells.table.idOf(slot) !== cells.id) return false;
    }
    return true;
  }

  /** Claims slots for keys without one. All charges have passed by then: a claim may evict a key, or move its slot. */
  #keepNew(caller: PrintedKey, nowMs: number): void {
    for (let i = 0; i < this.#charges.length; i++) {
      const { placement, cost, printed } = this.#charges[i];
      if (this.#slots[i] >= 0 || cost === 0) continue;
      const { low, high } = printed ?? caller;
      const { cells, saltLow, saltHigh } = placement;
      const slot = cells.table.claim(low ^ saltLow, high ^ saltHigh, cells.id, nowMs);
      cells.keep(slot, this.#steps[i] as AnyStep, cost, true, nowMs, false);
    }
  }

  /** Gives back what charges before this one have taken. */
  #restore(refused: number): void {
    for (let i = refused - 1; i >= 0; i--) {
      if (this.#slots[i] < 0) continue;
      const { table } = this.#charges[i].placement.cells;
      table.copyIn(this.#slots[i], this.#saved, i * STATE_DOUBLES_MAX);
    }
  }
}
