// Splits chunks of bytes into lines, where they are: a line is a place in its chunk, and only one that goes on in the
// next chunk is copied.

import { afterMark } from "../formats/bytes.js";

/** What is done with lines. Blank ones are left out, and so are the ends of lines. */
export interface LineSink {
  line(bytes: Buffer, from: number, to: number, number: number): void;
  /** A line that is longer than {@link LINE_BYTES_MAX}: how it starts. */
  tooLong(start: Buffer, number: number, why: string): void;
}

/**
 * The longest line that is read: what is kept of a line that has no end is bounded. A client can make nginx write 128 KB, by
 * 32 KB of headers in which every byte is escaped, and would not be counted if that were too long.
 */
export const LINE_BYTES_MAX = 256 * 1024;
const WHY = `longer than ${LINE_BYTES_MAX} bytes`;
/** What is kept of a line that is too long. */
const START_BYTES = 256;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const NOTHING = Buffer.alloc(0);

/** Splits one log. */
export class LineSplitter {
  readonly #sink: LineSink;
  #number = 0;
  /** The start of a line that goes on in the next chunk. */
  #rest: Buffer | undefined;
  /** Whether that line is too long. */
  #isSkipping = false;

  constructor(sink: LineSink) {
    this.#sink = sink;
  }

  split(chunk: Buffer): void {
    let from = 0;
    if (this.#rest !== undefined) {
      const end = chunk.indexOf(NEWLINE);
      if (end < 0) {
        this.#keep(this.#rest, chunk);
        return;
      }
      this.#endRest(this.#rest, chunk.subarray(0, end));
      from = end + 1;
    }
    for (let end = chunk.indexOf(NEWLINE, from); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#add(chunk, from, end);
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(NOTHING, chunk.subarray(from));
  }

  /** The last line may have no end. */
  end(): void {
    if (this.#rest !== undefined) this.#endRest(this.#rest, NOTHING);
  }

  /** Copied, so that the start of a line does not keep its chunk alive. */
  #keep(rest: Buffer, part: Buffer): void {
    if (this.#isSkipping) return;
    const joined = Buffer.concat([rest, part]);
    this.#isSkipping = joined.length > LINE_BYTES_MAX;
    this.#rest = this.#isSkipping ? Buffer.from(joined.subarray(0, START_BYTES)) : joined;
  }

  #endRest(rest: Buffer, part: Buffer): void {
    this.#rest = undefined;
    if (this.#isSkipping) {
      this.#isSkipping = false;
      this.#sink.tooLong(rest, ++this.#number, WHY);
      return;
    }
    const line = Buffer.concat([rest, part]);
    this.#add(line, 0, line.length);
  }

  #add(bytes: Buffer, start: number, end: number): void {
    const number = ++this.#number;
    const from = number === 1 ? afterMark(bytes, start, end) : start;
    const to = end > from && bytes[end - 1] === RETURN ? end - 1 : end;
    if (to === from) return;
    if (to - from <= LINE_BYTES_MAX) this.#sink.line(bytes, from, to, number);
    else this.#sink.tooLong(bytes.subarray(from, from + START_BYTES), number, WHY);
  }
}
