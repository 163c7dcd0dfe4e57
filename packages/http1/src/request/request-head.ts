// Reads the heads of requests: bytes are collected until the empty line has arrived, and bytes that can't become a valid
// head are refused before that. However few bytes arrive at a time, each is examined once.

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

/** A complete head. */
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
  /** Its last byte. */
  #last = 0;
  /** The length of its last line so far. */
  #lineBytes = 0;
  #hasLine = false;
  /** The latest head that arrived in one piece, and its text: many clients send the same one repeatedly. */
  #known: RequestHead | undefined = undefined;
  #knownText = "";
  /**
   * The request target of the latest head, even if the rest of that head is refused; empty if it could not be read.
   */
  target = "";

  constructor(bytesMax: number, fieldsMax: number) {
    this.#bytesMax = bytesMax;
    this.#fieldsMax = fieldsMax;
  }

  /**
   * Reads bytes from `from` on. Undefined if they are only the beginning of a head; then all of them are consumed.
   *
   * @throws MalformedMessage if they are not a valid head.
   */
  push(bytes: Buffer, from: number): RequestHead | undefined {
    return this.#begunBytes === 0 ? this.#glance(bytes, from) : this.#gather(bytes, from);
  }

  /** Reads a head that arrives in one piece, as nearly all do. */
  #glance(bytes: Buffer, from: number): RequestHead | undefined {
    this.target = "";
    const start = skipEmptyLines(bytes, from);
    const text = bytes.toString("latin1", start, Math.min(bytes.length, start + GLANCE_BYTES));
    const known = this.#known;
    if (known !== undefined && text === this.#knownText) {
      this.target = known.line.target;
      const end = start + text.length;
      return end === known.end ? known : { line: known.line, fields: known.fields, end };
    }
    const near = text.indexOf(HEAD_END);
    if (near >= 0) {
      const length = near + HEAD_END.length;
      const head = this.#read(text, near, start + length);
      if (text.length === length) {
        this.#known = head;
        this.#knownText = text;
      }
      return head;
    }
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
      // An empty line before the request line, which arrived in two pieces.
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
    // They may include the end of the last line and most of the empty line.
    this.#mustFit(this.#begunBytes - (HEAD_END.length - 1));
  }

  /** Checks a byte; returns whether a line ends with it. */
  #look(byte: number): boolean {
    const isEnd = byte === LF;
    this.#lineBytes++;
    // The rest is checked when the head is complete.
    if (isEnd !== (this.#last === CR) || byte === 0) {
      throw new MalformedMessage("the head has a control character");
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
    if (bytes > this.#bytesMax) throw new MalformedMessage("the head is too long", 431);
  }
}

/** Some clients send an empty line after a body, which is not part of it. */
function skipEmptyLines(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
  return at;
}
