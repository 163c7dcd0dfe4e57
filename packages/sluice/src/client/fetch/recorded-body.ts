// The body of a Request, kept so that it can be sent again. A Request does not say whether its body is in memory or a
// stream without an end, so it is read beside the first attempt, and kept only if it is short.

import { drop } from "../../base/maybe-promise.js";

/** Longer bodies are not kept, and so not sent again. */
export const RECORDED_BYTES_MAX = 1_048_576;

/** Reads one branch of a body whose other branch is sent. */
export class RecordedBody {
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isWhole = false;

  constructor(branch: ReadableStream<Uint8Array>) {
    drop(this.#read(branch.getReader()));
  }

  /** Whether the whole body is here. False if it is too long, or has not ended yet. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** The body, if it is whole. */
  toBytes(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#bytes);
    let end = 0;
    for (const chunk of this.#chunks) {
      bytes.set(chunk, end);
      end += chunk.byteLength;
    }
    return bytes;
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      this.#bytes += value.byteLength;
      if (this.#bytes > RECORDED_BYTES_MAX) {
        this.#chunks = [];
        // Not awaited: it ends when the other branch does. What that one has not sent yet is no longer read ahead.
        drop(reader.cancel());
        return;
      }
      this.#chunks.push(value);
    }
    this.#isWhole = true;
  }
}
