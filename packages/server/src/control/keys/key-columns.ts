// The memory layout of the table of API keys. Everything that a request needs to know about a key is in one slot of
// 16 bytes, whose position follows from the key, so that finding one key among hundreds of thousands costs one cache
// miss instead of one for each property. Small slots fill fewer pages, which also saves address translations.
// Everything else is in rows of 64 bytes.

// Taken off its prototype, as in the memory store's hash and for the same reason: once a Redis client is loaded,
// `text.charCodeAt` takes several times as long. Each file that needs it has this line.
const { charCodeAt } = String.prototype;

/** Characters of an id. */
export const ID_LENGTH = 12;
/** Words of an id: four characters each. */
export const ID_WORDS = 3;
/** Bytes of a SHA-256. */
export const HASH_BYTES = 32;

/** Words of a slot, and what each of them is. */
export const WIDTH = 4;
/** The row of the key plus one, above its flags; 0 if the slot is empty. */
export const ROW = 0;
/** Both 0 if the key was not verified yet. */
export const PRINT_LOW = 1;
export const PRINT_HIGH = 2;
/** The number of its tenant and scopes, which many keys have in common. */
export const RIGHTS = 3;

/** How many bits of the word `ROW` are flags, and what each of them says. */
export const FLAG_BITS = 3;
export const EXPIRES = 1;
/** The key is counted as another one. */
export const ROTATED = 2;
/** It was noted as used. */
export const USED = 4;

/** The word `ROW` of a slot. */
export function toRowWord(row: number, flags: number): number {
  return ((row + 1) << FLAG_BITS) | flags;
}

/** The rows of a table. */
export interface KeyColumns {
  /** `ID_WORDS` words for each row. */
  readonly ids: Uint32Array;
  readonly hashes: Uint8Array;
  readonly expiries: Float64Array;
  readonly sequences: Float64Array;
  /** The number of the id that a key is counted by; 0 if that is its own. */
  readonly countedAs: Uint32Array;
}

/** Columns of this many rows, with what the earlier ones had. */
export function toColumns(rows: number, before?: KeyColumns): KeyColumns {
  const columns: KeyColumns = {
    ids: new Uint32Array(rows * ID_WORDS),
    hashes: new Uint8Array(rows * HASH_BYTES),
    expiries: new Float64Array(rows),
    sequences: new Float64Array(rows),
    countedAs: new Uint32Array(rows),
  };
  if (before === undefined) return columns;
  columns.ids.set(before.ids);
  columns.hashes.set(before.hashes);
  columns.expiries.set(before.expiries);
  columns.sequences.set(before.sequences);
  columns.countedAs.set(before.countedAs);
  return columns;
}

/** Copies a row over another. */
export function moveRow(
  { ids, hashes, expiries, sequences, countedAs }: KeyColumns,
  from: number,
  to: number,
): void {
  ids.copyWithin(to * ID_WORDS, from * ID_WORDS, (from + 1) * ID_WORDS);
  hashes.copyWithin(to * HASH_BYTES, from * HASH_BYTES, (from + 1) * HASH_BYTES);
  expiries[to] = expiries[from] as number;
  sequences[to] = sequences[from] as number;
  countedAs[to] = countedAs[from] as number;
}

/** Whether the id of a row has these words. */
export function isIdOf({ ids }: KeyColumns, row: number, a: number, b: number, c: number): boolean {
  const at = row * ID_WORDS;
  return ids[at] === a && ids[at + 1] === b && ids[at + 2] === c;
}

/** The hash of a row's id. */
export function hashOfRow({ ids }: KeyColumns, row: number): number {
  const at = row * ID_WORDS;
  return hashOfWords(ids[at] as number, ids[at + 1] as number, ids[at + 2] as number);
}

/** The id of a row. */
export function idOfRow({ ids }: KeyColumns, row: number): string {
  const words = ids.subarray(row * ID_WORDS, (row + 1) * ID_WORDS);
  return String.fromCharCode(...[...words].flatMap(charsOf));
}

function charsOf(word: number): readonly number[] {
  return [word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff, word >>> 24];
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
