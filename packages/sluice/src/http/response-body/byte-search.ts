// Finds a few bytes among many: Boyer, Moore and Horspool's search, which looks at one byte in as many as it searches for.
// Here instead of the native search of `Buffer`, whose call alone takes longer than to search a short piece. In long
// pieces the native search for a single byte, if that one is rare, finds where to look.

/** From so many bytes on a native search is worth its call. */
const LONG_BYTES = 2_048;

/** Searches for the same bytes again and again. */
export class ByteSearch {
  readonly #needle: Uint8Array;
  /** By byte: how far the needle moves if it ends there. */
  readonly #steps: Uint8Array;

  readonly #isRare: boolean;

  /**
   * @param needle - 1 to 255 bytes.
   * @param isRare - Whether its first byte is rare.
   */
  constructor(needle: Uint8Array, isRare: boolean) {
    this.#isRare = isRare;
    const { length } = needle;
    this.#needle = needle;
    this.#steps = new Uint8Array(256).fill(length);
    for (let i = 0; i < length - 1; i++) this.#steps[needle[i]] = length - 1 - i;
  }

  /** Where the needle begins between `from` and `to`, the first time; Infinity if it does not. */
  find(bytes: Uint8Array, from: number, to: number): number {
    if (this.#isRare && to - from >= LONG_BYTES) return this.#findByFirst(bytes, from, to);
    const needle = this.#needle;
    const steps = this.#steps;
    const end = needle.length - 1;
    const last = needle[end];
    for (let i = from + end; i < to; i += steps[bytes[i]]) {
      if (bytes[i] === last && isAt(needle, bytes, i - end)) return i - end;
    }
    return Number.POSITIVE_INFINITY;
  }

  #findByFirst(bytes: Uint8Array, from: number, to: number): number {
    const needle = this.#needle;
    let i = bytes.indexOf(needle[0], from);
    while (i >= 0 && i + needle.length <= to && !isAt(needle, bytes, i)) {
      i = bytes.indexOf(needle[0], i + 1);
    }
    return i >= 0 && i + needle.length <= to ? i : Number.POSITIVE_INFINITY;
  }
}

/** Whether a needle is at a place. */
export function isAt(needle: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < needle.length; i++) if (bytes[at + i] !== needle[i]) return false;
  return true;
}
