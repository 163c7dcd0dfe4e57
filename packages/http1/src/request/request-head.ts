// Heads off a connection: bytes are gathered until the empty line is there, and what can't become a head any
// more is refused before that. However few bytes come at a time, each is looked at once.

import { LINE_END } from "../message/fields.js";
import { copyApart, PIECES_MAX } from "../message/kept-bytes.js";
import { MalformedMessage } from "../message/malformed-message.js";
import { FieldsReader, type RequestFields } from "./request-fields.js";
import { type RequestLine, readRequestLine } from "./request-line.js";

const HEAD_END = "\r\n\r\n";
const HEAD_END_BYTES = Buffer.from(HEAD_END);
/** Most heads are shorter. */
const GLANCE_BYTES = 2_048;
const CR = 0x0d;
const LF = 0x0a;

/** A head that is whole. */
export interface RequestHead {
  readonly line: RequestLine;
  readonly fields: RequestFields;
  /** Where it ended in the bytes that were pushed. */
  readonly end: number;
}

/** Reads the heads of one connection. */
export class RequestHeadReader {
  readonly #bytesMax: number;
  readonly #fieldsMax: number;
  readonly #fields = new FieldsReader();
  /** The beginning of a head whose end has not arrived. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  /** The last byte of it. */
  #last = 0;
  /** Bytes of its last line. */
  #lineBytes = 0;
  #hasLine = false;
  /**
   * The target in the first line of the latest head, even if the rest of that head is refused; empty if it
   * could not be read.
   */
  target = "";

  constructor(bytesMax: number, fieldsMax: number) {
    this.#bytesMax = bytesMax;
    this.#fieldsMax = fieldsMax;
  }

  /**
   * Takes bytes from `from` on. Undefined if they are only the beginning of a head: all of them are taken.
   *
   * @throws MalformedMessage if they are none.
   */
  push(bytes: Buffer, from: number): RequestHead | undefined {
    return this.#begunBytes === 0 ? this.#glance(bytes, from) : this.#gather(bytes, from);
  }

  /** All of it at once, which is how nearly all heads come. */
  #glance(bytes: Buffer, from: number): RequestHead | undefined {
    this.target = "";
    const start = skipEmptyLines(bytes, from);
    const text = bytes.toString("latin1", start, Math.min(bytes.length, start + GLANCE_BYTES));
    const near = text.indexOf(HEAD_END);
    if (near >= 0) return this.#read(text, near, start + near + HEAD_END.length);
    const far = bytes.indexOf(HEAD_END_BYTES, start);
    if (far < 0) return start < bytes.length ? this.#gather(bytes, start) : undefined;
    const end = far + HEAD_END.length;
    return this.#read(bytes.toString("latin1", start, end), far - start, end);
  }

  #gather(bytes: Buffer, from: number): RequestHead | undefined {
    for (let at = from; at < bytes.length; at++) {
      if (!this.#look(bytes[at])) continue;
      const isEmpty = this.#lineBytes === LINE_END.length;
      this.#lineBytes = 0;
      // An empty line before the first one that came in two pieces.
      if (isEmpty && !this.#hasLine) {
        this.#forget();
        return this.#glance(bytes, at + 1);
      }
      if (!isEmpty && this.#hasLine) continue;
      const text = this.#textWith(bytes.subarray(from, at + 1));
      if (isEmpty) {
        this.#forget();
        return this.#read(text, text.length - HEAD_END.length, at + 1);
      }
      this.#hasLine = true;
      this.target = readRequestLine(text, text.length - LINE_END.length).target;
    }
    this.#hold(copyApart(bytes.subarray(from)));
    return undefined;
  }

  #hold(bytes: Buffer): void {
    this.#begun.push(bytes);
    this.#begunBytes += bytes.length;
    if (this.#begun.length > PIECES_MAX) this.#begun = [Buffer.concat(this.#begun)];
    // The end of its last line may be among them, and most of the empty one.
    this.#mustFit(this.#begunBytes - (HEAD_END.length - 1));
  }

  /** Whether a line ends with this byte. */
  #look(byte: number): boolean {
    const isEnd = byte === LF;
    this.#lineBytes++;
    // The rest is looked at when it is whole.
    if (isEnd !== (this.#last === CR) || byte === 0) {
      throw new MalformedMessage("a control character in the head");
    }
    this.#last = byte;
    return isEnd;
  }

  #textWith(rest: Buffer): string {
    return Buffer.concat([...this.#begun, rest]).toString("latin1");
  }

  #forget(): void {
    this.#begun = [];
    this.#begunBytes = 0;
    this.#last = 0;
    this.#lineBytes = 0;
    this.#hasLine = false;
  }

  /** @param end - Where the last line ends in the text. */
  #read(text: string, end: number, pushedEnd: number): RequestHead {
    const lineEnd = text.indexOf(LINE_END);
    const line = readRequestLine(text, lineEnd);
    this.target = line.target;
    this.#mustFit(end);
    const rest = text.slice(lineEnd + LINE_END.length, end + LINE_END.length);
    return { line, fields: this.#fields.read(rest, line.minor, this.#fieldsMax), end: pushedEnd };
  }

  #mustFit(bytes: number): void {
    if (bytes > this.#bytesMax) throw new MalformedMessage("a head that is too long", 431);
  }
}

/** Some clients end a body with a line that is not part of it. */
function skipEmptyLines(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
  return at;
}
