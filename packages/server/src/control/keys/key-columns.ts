// The columns of the table of API keys: 84 bytes for each row.

/** Characters of an id, each a byte. */
export const ID_LENGTH = 12;
/** Bytes of a SHA-256. */
export const HASH_BYTES = 32;

/** One array for each property of a key. */
export interface Columns {
  readonly ids: Uint8Array;
  readonly hashes: Uint8Array;
  readonly tenants: Uint32Array;
  readonly scopes: Uint32Array;
  readonly countedAs: Uint32Array;
  readonly expiries: Float64Array;
  readonly sequences: Float64Array;
  readonly lows: Uint32Array;
  readonly highs: Uint32Array;
  readonly lastUses: Uint32Array;
}

/** Columns of so many rows, with what the earlier ones had. */
export function toColumns(rows: number, before?: Columns): Columns {
  const columns: Columns = {
    ids: new Uint8Array(rows * ID_LENGTH),
    hashes: new Uint8Array(rows * HASH_BYTES),
    tenants: new Uint32Array(rows),
    scopes: new Uint32Array(rows),
    countedAs: new Uint32Array(rows),
    expiries: new Float64Array(rows),
    sequences: new Float64Array(rows),
    lows: new Uint32Array(rows),
    highs: new Uint32Array(rows),
    lastUses: new Uint32Array(rows),
  };
  if (before === undefined) return columns;
  for (const name of Object.keys(columns) as (keyof Columns)[]) columns[name].set(before[name]);
  return columns;
}

/** Copies a row over another. */
export function moveRow(columns: Columns, from: number, to: number): void {
  for (const column of Object.values(columns) as (Uint8Array | Uint32Array | Float64Array)[]) {
    const width = column.length / columns.sequences.length;
    column.copyWithin(to * width, from * width, (from + 1) * width);
  }
}
