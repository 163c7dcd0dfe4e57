// Bytes that arrive piece by piece, joined as they come: kept apart, a piece of a single byte takes more than a
// hundred bytes of memory, and the sender chooses the size of the pieces.

/** Enough for most bodies, and small enough to be allocated from Node's buffer pool. */
const START_BYTES = 512;

/** Gathers bytes in one piece of memory, which doubles when it is full. */
export class GrowingBuffer {
  #memory: Buffer = Buffer.alloc(0);
  #length = 0;

  /** Bytes that were added. */
  get length(): number {
    return this.#length;
  }

  /** Bytes of memory that it takes. */
  get capacity(): number {
    return this.#memory.length;
  }

  /** All that was added. A view, which the next {@link add} may invalidate. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  /** Adds a copy of a piece. */
  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#memory.length) this.#grow(length);
    this.#memory.set(piece, this.#length);
    this.#length = length;
  }

  #grow(length: number): void {
    const memory = Buffer.allocUnsafe(Math.max(START_BYTES, 2 * this.#memory.length, length));
    memory.set(this.bytes);
    this.#memory = memory;
  }
}
