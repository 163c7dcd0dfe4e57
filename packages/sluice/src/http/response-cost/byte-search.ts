// Finds a few bytes among many: the searches of a stream of events. Each looks at one place in almost as many bytes as it
// searches for. Here instead of the native search of `Buffer`, whose call alone takes longer than to search a short piece.

/** A name that JSON can write in one way besides escapes of ASCII characters, by their number. */
const PLAIN_NAME = /^[A-Za-z0-9_-]{1,250}$/;

/** Finds bytes. */
export interface ByteSearch {
  /** Where they begin between `from` and `to`, the first time; Infinity if they don't. */
  find(bytes: Uint8Array, from: number, to: number): number;
}

/** Pairs of bytes share this many entries. Two that share one only make the needle move less far than it could. */
const PAIRS = 4_096;

function pairOf(first: number, second: number): number {
  return ((first & 63) << 6) | (second & 63);
}

/** Searches for a name: Horspool's search by pairs of bytes, most of which are not in the name. */
export class NameSearch implements ByteSearch {
  readonly #needle: Uint8Array;
  /** By pair of bytes: how far the needle moves if it ends with them; 0 if it may be there. */
  readonly #steps: Uint8Array;

  /** @param needle - 2 to 255 bytes. */
  constructor(needle: Uint8Array) {
    const end = needle.length - 1;
    this.#needle = needle;
    this.#steps = new Uint8Array(PAIRS).fill(end);
    for (let i = 1; i <= end; i++) this.#steps[pairOf(needle[i - 1], needle[i])] = end - i;
  }

  find(bytes: Uint8Array, from: number, to: number): number {
    const steps = this.#steps;
    const end = this.#needle.length - 1;
    for (let i = from + end; i < to; ) {
      const step = steps[pairOf(bytes[i - 1], bytes[i])];
      if (step > 0) i += step;
      else if (isAt(this.#needle, bytes, i - end)) return i - end;
      else i++;
    }
    return Number.POSITIVE_INFINITY;
  }
}

const BACKSLASH = 0x5c;
/** How an escape of an ASCII character begins: `\u00`. */
const ESCAPE = new Uint8Array([BACKSLASH, 0x75, 0x30, 0x30]);
/** By byte: how far the escape moves if it ends there. */
const STEPS = new Uint8Array(256).fill(4);
for (let i = 0; i < 3; i++) STEPS[ESCAPE[i]] = 3 - i;
/** From this many bytes on a native search is worth its call: backslashes are rare. */
const LONG_BYTES = 2_048;

/** Searches for an escape of an ASCII character. */
export const escapeSearch: ByteSearch = {
  find: (bytes, from, to) => {
    if (to - from >= LONG_BYTES) return findEscapeNatively(bytes, from, to);
    for (let i = from + 3; i < to; i += STEPS[bytes[i]]) {
      if (bytes[i] === ESCAPE[3] && isAt(ESCAPE, bytes, i - 3)) return i - 3;
    }
    return Number.POSITIVE_INFINITY;
  },
};

function findEscapeNatively(bytes: Uint8Array, from: number, to: number): number {
  const last = to - ESCAPE.length;
  let i = bytes.indexOf(BACKSLASH, from);
  while (i >= 0 && i <= last && !isAt(ESCAPE, bytes, i)) i = bytes.indexOf(BACKSLASH, i + 1);
  return i >= 0 && i <= last ? i : Number.POSITIVE_INFINITY;
}

/** Whether a needle is at a place. */
export function isAt(needle: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < needle.length; i++) if (bytes[at + i] !== needle[i]) return false;
  return true;
}

/** The searches for some names, which all streams with these names share; undefined if one can't be searched for. */
export function toSearches(names: readonly string[]): readonly ByteSearch[] | undefined {
  if (!names.every((name) => PLAIN_NAME.test(name))) return undefined;
  const encoder = new TextEncoder();
  const byName = names.map((name) => new NameSearch(encoder.encode(`"${name}"`)));
  return [...byName, escapeSearch];
}
