// What the store asks of the slots of a counter, whether a table holds them or a sketch stands for them.

/** Slots by fingerprint. {@link Table} describes each. */
export interface SlotTable {
  find(low: number, high: number): number;
  claim(low: number, high: number, id: number, nowMs: number): number;
  free(slot: number): void;
  idOf(slot: number): number;
  setId(slot: number, id: number): void;
  tagOf(slot: number): { low: number; high: number };
  copyOut(slot: number, doubles: Float64Array, at: number): void;
  copyIn(slot: number, doubles: Float64Array, at: number): void;
}
