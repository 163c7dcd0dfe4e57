// The byte order mark that a body in UTF-8 may begin with, and that no reader of its text gets to see.

const MARK = [0xef, 0xbb, 0xbf];

/** Reads the mark off the start of a body that arrives in pieces. */
export class ByteOrderMark {
  #length = 0;
  #isBroken = false;

  /** Whether the mark is read, or there is none. */
  get isPast(): boolean {
    return this.#isBroken || this.#length === MARK.length;
  }

  /** Whether the body began with a part of the mark and went on with something else. */
  get isBroken(): boolean {
    return this.#isBroken && this.#length > 0;
  }

  /** Reads on; returns where the body continues after the mark, or `to`. */
  read(bytes: Uint8Array, from: number, to: number): number {
    let i = from;
    while (i < to && !this.isPast) {
      if (bytes[i] === MARK[this.#length]) {
        this.#length++;
        i++;
      } else this.#isBroken = true;
    }
    return i;
  }
}
