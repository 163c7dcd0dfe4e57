// Where the table of API keys keeps its rows: 88 bytes for each. What every request reads of a key lies together, so that
// a key among hundreds of thousands costs one or two misses of the processor's cache and not one for each property.

// Taken off its prototype, as in the memory store's hash and for the same reason: once a Redis client is loaded,
// `text.charCodeAt` takes several times as long. Each file that needs it has this line.
const { charCodeAt } = String.prototype;

/** Characters of an id. */
export const ID_LENGTH = 12;
/** Bytes of a SHA-256. */
export const HASH_BYTES = 32;

/** Words of a row in `hot`, and what each of them is. */
export const WIDTH = 10;
/** Three words with four characters each. */
export const ID = 0;
/** Both 0 if the key was not verified yet. */
export const PRINT_LOW = 3;
export const PRINT_HIGH = 4;
export const TENANT = 5;
export const SCOPES = 6;
export const COUNTED_AS = 7;
export const LAST_USE = 8;
/** 1 if the key expires. */
export const EXPIRES = 9;

/** The rows of a table. */
export interface Columns {
  /** `WIDTH` words for each row. */
  readonly hot: Uint32Array;
  readonly hashes: Uint8Array;
  readonly expiries: Float64Array;
  readonly sequences: Float64Array;
}

/** Columns of so many rows, with what the earlier ones had. */
export function toColumns(rows: number, before?: Columns): Columns {
  const columns: Columns = {
    hot: new Uint32Array(rows * WIDTH),
    hashes: new Uint8Array(rows * HASH_BYTES),
    expiries: new Float64Array(rows),
    sequences: new Float64Array(rows),
  };
  if (before === undefined) return columns;
  columns.hot.set(before.hot);
  columns.hashes.set(before.hashes);
  columns.expiries.set(before.expiries);
  columns.sequences.set(before.sequences);
  return columns;
}

/** Copies a row over another. */
export function moveRow(
  { hot, hashes, expiries, sequences }: Columns,
  from: number,
  to: number,
): void {
  hot.copyWithin(to * WIDTH, from * WIDTH, (from + 1) * WIDTH);
  hashes.copyWithin(to * HASH_BYTES, from * HASH_BYTES, (from + 1) * HASH_BYTES);
  expiries[to] = expiries[from] as number;
  sequences[to] = sequences[from] as number;
}

/** Four characters of a string as a word. */
export function wordAt(text: string, at: number): number {
  return (
    (charCodeAt.call(text, at) |
      (charCodeAt.call(text, at + 1) << 8) |
      (charCodeAt.call(text, at + 2) << 16) |
      (charCodeAt.call(text, at + 3) << 24)) >>>
    0
  );
}

/** Spreads the words of an id over all slots. Ids are random, so there is nothing to defend against. */
export function hashOfWords(a: number, b: number, c: number): number {
  const mixed = Math.imul(a, 0x2c1b3c6d) ^ Math.imul(b, 0x297a2d39) ^ Math.imul(c, 0x85ebca6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
