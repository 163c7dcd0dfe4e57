// Finds numbers in a stream of server-sent events (the HTML standard, section 9.2): each event's data is read as JSON
// while it passes through. Data that is not JSON, such as `[DONE]`, says nothing.

import { ByteOrderMark } from "./byte-order-mark.js";
import type { JsonScanner } from "./json-scanner.js";

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = [0x64, 0x61, 0x74, 0x61];
const NEWLINE = new Uint8Array([LF]);

// Where in a line the scanner is.
const NAME = 0;
const BEFORE_VALUE = 1;
const VALUE = 2;
const OTHER = 3;

/** Splits a stream into events. */
export class EventScanner {
  readonly #json: JsonScanner;
  readonly #onEvent: () => void;
  #part = NAME;
  /** Characters of the line's name so far, all of them as in `data`. */
  #nameLength = 0;
  #isAfterCr = false;
  /** Lines of data that the event has so far. */
  #dataLines = 0;
  readonly #mark = new ByteOrderMark();

  /** @param onEvent - Called when the data of an event has been read. */
  constructor(json: JsonScanner, onEvent: () => void) {
    this.#json = json;
    this.#onEvent = onEvent;
  }

  /** Whether the next byte begins an event, so that whole events can be skipped. */
  get isBetweenEvents(): boolean {
    return this.#isLineEmpty && this.#dataLines === 0 && this.#mark.isPast;
  }

  /** The bytes that follow begin an event: those before them were skipped. */
  skip(): void {
    this.#isAfterCr = false;
  }

  /** Reads the bytes from `from` up to `to`; up to the end of the first event if `isOne`. Returns where it stopped. */
  read(bytes: Uint8Array, from: number, to: number, isOne = false): number {
    let i = this.#mark.isPast ? from : this.#readMark(bytes, from, to);
    while (i < to) {
      const byte = bytes[i];
      if (byte === LF && this.#isAfterCr) {
        this.#isAfterCr = false;
        i++;
      } else if (byte === LF || byte === CR) {
        this.#isAfterCr = byte === CR;
        const isEvent = this.#isLineEmpty && this.#dataLines > 0;
        this.#endLine();
        i++;
        if (isEvent && isOne) return i;
      } else {
        this.#isAfterCr = false;
        i = this.#readLine(bytes, i, to);
      }
    }
    return i;
  }

  /** The stream has ended. An event without the empty line after it counts: what it says was spent. */
  end(): void {
    if (!this.#isLineEmpty) this.#endLine();
    this.#endEvent();
  }

  get #isLineEmpty(): boolean {
    return this.#part === NAME && this.#nameLength === 0;
  }

  /** What only looks like the start of a byte order mark is the name of an unknown field. */
  #readMark(bytes: Uint8Array, from: number, to: number): number {
    const i = this.#mark.read(bytes, from, to);
    if (this.#mark.isBroken) this.#part = OTHER;
    return i;
  }

  /** Reads on in a line, up to its end at most. */
  #readLine(bytes: Uint8Array, from: number, to: number): number {
    if (this.#part === NAME) return this.#readName(bytes[from], from);
    if (this.#part === BEFORE_VALUE) {
      this.#part = VALUE;
      this.#beginData();
      if (bytes[from] === SPACE) return from + 1;
    }
    let i = from;
    while (i < to && bytes[i] !== LF && bytes[i] !== CR) i++;
    if (this.#part === VALUE) this.#json.read(bytes, from, i);
    return i;
  }

  #readName(byte: number, at: number): number {
    if (this.#nameLength === DATA.length && byte === COLON) this.#part = BEFORE_VALUE;
    else if (byte === DATA[this.#nameLength]) this.#nameLength++;
    else this.#part = OTHER;
    return at + 1;
  }

  /** Several lines of data are one, with line feeds between them. */
  #beginData(): void {
    if (this.#dataLines > 0) this.#json.read(NEWLINE, 0, 1);
    this.#dataLines++;
  }

  #endLine(): void {
    if (this.#isLineEmpty) {
      this.#endEvent();
      return;
    }
    // A line `data` or `data:` is an empty line of data.
    const isBare = this.#part === NAME && this.#nameLength === DATA.length;
    if (isBare || this.#part === BEFORE_VALUE) this.#beginData();
    this.#part = NAME;
    this.#nameLength = 0;
  }

  #endEvent(): void {
    if (this.#dataLines === 0) return;
    this.#dataLines = 0;
    this.#onEvent();
  }
}
