// Levels of keys that were blocked, in a bounded table of their own. When it is full, the lowest level goes first, so that a
// flood of keys that are blocked for the first time pushes out no caller that was blocked again and again.

import type { EscalationState, EscalationTerms } from "../../algorithms/escalation.js";
import { Table } from "./table/table.js";

/** Refusals and the level share a double: `refusals × span + level`. */
const LEVEL_SPAN = 32;

/** Levels by the fingerprint of scope and key. */
export class RaisedLevels {
  readonly #table: Table;

  /** @param keysMax - The most keys. */
  constructor(keysMax: number) {
    const share = (slot: number, id: number, nowMs: number) => this.#loss(slot, id, nowMs);
    this.#table = new Table({ keysMax, stateDoubles: 3 }, { share, forget: () => {} });
  }

  /** Memory that is set aside. */
  get bytes(): number {
    return this.#table.stats.bytes;
  }

  get(low: number, high: number): EscalationState | undefined {
    const slot = this.#table.find(low, high);
    if (slot < 0) return undefined;
    const { doubles } = this.#table;
    const at = this.#table.stateAt(slot);
    const [fromMs, counted, untilMs] = doubles.subarray(at, at + 3);
    const level = counted % LEVEL_SPAN;
    return { fromMs, refusals: (counted - level) / LEVEL_SPAN, level, untilMs };
  }

  set(
    low: number,
    high: number,
    { fromMs, refusals, level, untilMs }: EscalationState,
    { terms, nowMs }: { readonly terms: EscalationTerms; readonly nowMs: number },
  ): void {
    const table = this.#table;
    const id = toId(terms);
    const found = table.find(low, high);
    const slot = found >= 0 ? found : table.claim(low, high, id, nowMs);
    if (found >= 0) table.setId(found, id);
    table.doubles.set([fromMs, refusals * LEVEL_SPAN + level, untilMs], table.stateAt(slot));
  }

  delete(low: number, high: number): void {
    const slot = this.#table.find(low, high);
    if (slot >= 0) this.#table.free(slot);
  }

  /** What is lost with a key: nothing if its level is forgotten in any case. */
  #loss(slot: number, id: number, nowMs: number): number {
    const { doubles } = this.#table;
    const at = this.#table.stateAt(slot);
    const isForgotten = nowMs >= doubles[at + 2] + 2 ** id;
    return isForgotten ? 0 : doubles[at + 1] % LEVEL_SPAN;
  }
}

/** For how long a level is remembered, up to the next power of two. */
function toId({ forgetMs }: EscalationTerms): number {
  return Math.max(1, Math.ceil(Math.log2(forgetMs)));
}
