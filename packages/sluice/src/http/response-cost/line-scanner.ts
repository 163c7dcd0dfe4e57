// Finds numbers in a stream of JSON documents, one on each line (NDJSON, JSON Lines): each is read while it passes
// through. A line that is not JSON says nothing.

import { ByteOrderMark } from "./byte-order-mark.js";
import type { JsonScanner } from "./json-scanner.js";

const LF = 0x0a;
const NOT_JSON = new Uint8Array([0xef]);

/** The media types of such streams. */
const LINE_TYPES: ReadonlySet<string> = new Set([
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
  "application/x-jsonl",
  "application/jsonlines",
  "application/x-jsonlines",
  "application/stream+json",
  "application/x-json-stream",
]);

/** Whether a body of a media type is a stream of documents on lines. */
export function isLineType(type: string): boolean {
  return LINE_TYPES.has(type);
}

/** Splits a stream into lines. */
export class LineScanner {
  readonly #json: JsonScanner;
  readonly #onLine: () => void;
  readonly #mark = new ByteOrderMark();
  #isEmpty = true;

  /** @param onLine - Called when a line that is not empty has been read. */
  constructor(json: JsonScanner, onLine: () => void) {
    this.#json = json;
    this.#onLine = onLine;
  }

  /** Reads the bytes from `from` up to `to`. */
  read(bytes: Uint8Array, from: number, to: number): void {
    let at = this.#mark.isPast ? from : this.#readMark(bytes, from, to);
    while (at < to) {
      const found = bytes.subarray(at, to).indexOf(LF);
      const end = found === -1 ? to : at + found;
      if (end > at) {
        this.#isEmpty = false;
        this.#json.read(bytes, at, end);
      }
      if (end < to) this.#endLine();
      at = end + 1;
    }
  }

  /** The stream has ended. A line without a line feed after it counts. */
  end(): void {
    this.#endLine();
  }

  /** What only looks like the start of a byte order mark is not JSON. */
  #readMark(bytes: Uint8Array, from: number, to: number): number {
    const at = this.#mark.read(bytes, from, to);
    if (this.#mark.isBroken) {
      this.#isEmpty = false;
      this.#json.read(NOT_JSON, 0, 1);
    }
    return at;
  }

  #endLine(): void {
    if (this.#isEmpty) return;
    this.#isEmpty = true;
    this.#onLine();
  }
}
