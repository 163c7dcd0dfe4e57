// Takes the framing off the bodies of one connection, by their length or chunk by chunk, one body after the
// other.

import { ChunkReader, type OnPiece } from "../message/chunks.js";
import { copyApart } from "../message/kept-bytes.js";
import type { RequestBody } from "./request-body.js";
import type { RequestFields } from "./request-fields.js";

/** Reads the bodies of one connection. */
export class BodyUnframer {
  readonly #chunks = new ChunkReader();
  #isChunked = false;
  /** Of a body with a length, what has not arrived. */
  #left = 0;
  /** Where the bytes of chunks that have arrived together end, once they are moved together. */
  #chunkEnd = 0;
  readonly #onChunk: OnPiece = (bytes, from, to) => {
    if (from > this.#chunkEnd) bytes.copyWithin(this.#chunkEnd, from, to);
    this.#chunkEnd += to - from;
  };

  /** Whether all of the body has arrived. */
  get isDone(): boolean {
    return this.#isChunked ? this.#chunks.isDone : this.#left === 0;
  }

  /** Begins with the body that these fields announce. */
  begin({ framing, length }: RequestFields): void {
    this.#isChunked = framing === "chunked";
    this.#left = length;
    if (this.#isChunked) this.#chunks.reset();
  }

  /** Begins a body without an end: the connection belongs to another protocol from now on. */
  beginEndless(): void {
    this.#isChunked = false;
    this.#left = Number.POSITIVE_INFINITY;
  }

  /**
   * Passes on a copy of what is the body's of the bytes from `from` on, which may be moved within them. Returns where
   * it ends.
   *
   * @throws MalformedMessage on what is no chunked body.
   */
  push(bytes: Buffer, from: number, body: RequestBody): number {
    if (this.#isChunked) {
      this.#chunkEnd = from;
      const end = this.#chunks.push(bytes, from, this.#onChunk);
      if (this.#chunkEnd > from) body.push(this.#toCopy(bytes.subarray(from, this.#chunkEnd)));
      return end;
    }
    const end = Math.min(bytes.length, from + this.#left);
    this.#left -= end - from;
    body.push(this.#toCopy(bytes.subarray(from, end)));
    return end;
  }

  /** The last piece of a body, mostly the only one, may be in the pool; those before it are kept and may be many. */
  #toCopy(piece: Buffer): Buffer {
    return this.isDone ? Buffer.from(piece) : copyApart(piece);
  }
}
