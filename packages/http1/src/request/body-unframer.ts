// Removes the framing of the bodies of one connection, by their length or chunk by chunk, one body after the other.

import { ChunkReader, type OnPiece } from "../message/chunks.js";
import { copyApart } from "../message/kept-bytes.js";
import type { RequestBody } from "./request-body.js";
import type { RequestFields } from "./request-fields.js";

/** Reads the bodies of one connection. */
export class BodyUnframer {
  readonly #chunks = new ChunkReader();
  #isChunked = false;
  /** Bytes of a body with a length that have not arrived. */
  #left = 0;
  /** Where the data of chunks that arrived together ends, after it was moved together. */
  #chunkEnd = 0;
  readonly #onChunk: OnPiece = (bytes, from, to) => {
    if (from > this.#chunkEnd) bytes.copyWithin(this.#chunkEnd, from, to);
    this.#chunkEnd += to - from;
  };

  /** Whether all of the body has arrived. */
  get isDone(): boolean {
    return this.#isChunked ? this.#chunks.isDone : this.#left === 0;
  }

  /** Begins the body that these fields announce. */
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
   * Passes on a copy of the body's part of the bytes from `from` on; data may be moved within them. Returns where that
   * part ends.
   *
   * @throws MalformedMessage if the body is not chunked correctly.
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

  /** The last piece, mostly the only one, may be in Node's pool; earlier pieces are kept and may be many. */
  #toCopy(piece: Buffer): Buffer {
    return this.isDone ? Buffer.from(piece) : copyApart(piece);
  }
}
