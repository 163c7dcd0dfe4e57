// Chunked bodies: written, and decoded piece by piece as they arrive. Sizes, extensions and trailers are read strictly;
// extensions and trailers are dropped.

import { LINE_END, readFields } from "./fields.js";
import { MalformedMessage } from "./malformed-message.js";

/** Called with each piece of the body, as a range of the bytes that were pushed. */
export type OnPiece = (bytes: Buffer, from: number, to: number) => void;

/** Where chunks are written to. */
export interface ChunkSink {
  cork(): void;
  /** False: wait before writing more. */
  write(piece: string | Buffer): boolean;
  uncork(): void;
}

/** The end of a chunked body. */
export const LAST_CHUNK = "0\r\n\r\n";

/** Writes a piece of a body, which must not be empty, as one chunk. False: wait before the next. */
export function writeChunk(sink: ChunkSink, piece: Buffer): boolean {
  sink.cork();
  sink.write(`${piece.length.toString(16)}\r\n`);
  sink.write(piece);
  const isReady = sink.write(LINE_END);
  sink.uncork();
  return isReady;
}

/** The most bytes of one chunk's extensions. */
const EXTENSION_BYTES_MAX = 1_024;
/** The most bytes of all trailers together. */
const TRAILER_BYTES_MAX = 16_384;
/** The most hexadecimal digits of a size: a double can't count exactly beyond that. */
const SIZE_DIGITS_MAX = 13;

/** Extensions are not used, but an invalid one may be a line end, or more, to another parser. */
const EXTENSIONS =
  /^(?:;[!#$%&'*+\-.^_`|~\w]+(?:=(?:[!#$%&'*+\-.^_`|~\w]+|"(?:[\t !#-[\]-~]|\\[\t -~])*"))?)+$/;

const CR = 0x0d;
const LF = 0x0a;
const TAB = 0x09;
const SPACE = 0x20;
const DELETE = 0x7f;
const SEMICOLON = 0x3b;

type State =
  | "size"
  | "extension"
  | "size-end"
  | "data"
  | "data-cr"
  | "data-lf"
  | "trailer-start"
  | "trailer"
  | "trailer-lf"
  | "end-lf"
  | "done";

/** Reads one chunked body. */
export class ChunkReader {
  #state: State = "size";
  /** The size of the current chunk, and later what is left of it. */
  #left = 0;
  #digits = 0;
  /** Bytes of the extensions of a chunk, or of all trailers. */
  #extraBytes = 0;
  /** The extensions or the trailer that is being read. */
  #line = "";

  get isDone(): boolean {
    return this.#state === "done";
  }

  /** Prepares for another body. */
  reset(): void {
    this.#state = "size";
    this.#left = 0;
    this.#digits = 0;
    this.#extraBytes = 0;
    this.#line = "";
  }

  /**
   * Reads the bytes from `from` on. Returns where it stopped: at the end of the bytes, or of the body.
   *
   * @throws MalformedMessage if the body is not chunked correctly.
   */
  push(bytes: Buffer, from: number, onPiece: OnPiece): number {
    let at = from;
    while (at < bytes.length && this.#state !== "done") {
      if (this.#state !== "data") this.#take(bytes[at++]);
      else {
        const end = Math.min(at + this.#left, bytes.length);
        onPiece(bytes, at, end);
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#state = "data-cr";
      }
    }
    return at;
  }

  #take(byte: number): void {
    switch (this.#state) {
      case "size":
        this.#takeSize(byte);
        break;
      case "extension":
        this.#takeExtra(byte, EXTENSION_BYTES_MAX, "size-end");
        break;
      case "size-end":
        this.#takeSizeEnd(byte);
        break;
      case "data-cr":
        this.#expect(byte, CR, "data-lf");
        break;
      case "data-lf":
        this.#expect(byte, LF, "size");
        break;
      case "end-lf":
        this.#expect(byte, LF, "done");
        break;
      default:
        this.#takeTrailer(byte);
    }
  }

  #takeTrailer(byte: number): void {
    if (this.#state === "trailer-lf") {
      this.#expect(byte, LF, "trailer-start");
      readFields(`${this.#line}${LINE_END}`, 0);
      this.#line = "";
    } else if (this.#state === "trailer-start" && byte === CR) this.#state = "end-lf";
    else this.#takeExtra(byte, TRAILER_BYTES_MAX, "trailer-lf", "trailer");
  }

  #takeSize(byte: number): void {
    const digit = toDigit(byte);
    if (digit >= 0) {
      this.#digits++;
      if (this.#digits > SIZE_DIGITS_MAX) throw new MalformedMessage("a chunk is too large");
      this.#left = this.#left * 16 + digit;
      return;
    }
    if (this.#digits === 0) throw new MalformedMessage("a chunk has no size");
    if (byte === CR) this.#state = "size-end";
    else if (byte === SEMICOLON) {
      this.#line = ";";
      this.#state = "extension";
    } else throw new MalformedMessage("a chunk size is not a number");
  }

  #takeSizeEnd(byte: number): void {
    this.#expect(byte, LF, this.#left === 0 ? "trailer-start" : "data");
    this.#digits = 0;
    this.#extraBytes = 0;
    if (this.#line === "") return;
    if (!EXTENSIONS.test(this.#line)) throw new MalformedMessage("chunk extensions are malformed");
    this.#line = "";
  }

  /** Collects an extension or a trailer, up to the end of its line. */
  #takeExtra(byte: number, bytesMax: number, atEnd: State, otherwise: State = this.#state): void {
    this.#extraBytes++;
    if (this.#extraBytes > bytesMax) {
      throw new MalformedMessage("chunk extensions or trailers are too long", 431);
    }
    if (byte === CR) this.#state = atEnd;
    else if ((byte < SPACE && byte !== TAB) || byte === DELETE) {
      throw new MalformedMessage("there is a control character between chunks");
    } else {
      this.#line += String.fromCharCode(byte);
      this.#state = otherwise;
    }
  }

  #expect(byte: number, wanted: number, next: State): void {
    if (byte !== wanted) throw new MalformedMessage("a chunk does not end where its size says");
    this.#state = next;
  }
}

/** The value of a hexadecimal digit; −1 if it is not one. */
function toDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lowerCase = byte | 0x20;
  return lowerCase >= 0x61 && lowerCase <= 0x66 ? lowerCase - 0x61 + 10 : -1;
}
