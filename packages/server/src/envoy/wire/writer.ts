// Writes the wire form of protocol buffers into one piece of memory that is reused. Fields with
// their default value are not written, as in proto3.

import { WIRE } from "./reader.js";

const BYTES_AT_FIRST = 4_096;
/** A varint of 64 bits, and the tag before it. */
const NUMBER_BYTES_MAX = 15;

/** A message that is being written. Only one at a time: `start` forgets what was written before. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(BYTES_AT_FIRST);
  #at = 0;

  /** Begins a message. */
  start(): void {
    this.#at = 0;
  }

  /** The message, in memory of its own. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }

  /** A whole number from 0. 0 is not written unless `always`. */
  number(field: number, value: number, always = false): void {
    if (value === 0 && !always) return;
    this.#reserve(NUMBER_BYTES_MAX);
    this.#varint((field << 3) | WIRE.varint);
    this.#varint(value);
  }

  /** A double, also if it is 0. */
  double(field: number, value: number): void {
    this.#reserve(NUMBER_BYTES_MAX);
    this.#varint((field << 3) | WIRE.fixed64);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** A string. An empty one is not written unless `always`. */
  text(field: number, value: string, always = false): void {
    if (value === "" && !always) return;
    const inner = this.open(field);
    const bytes = Buffer.byteLength(value);
    this.#reserve(bytes);
    this.#at += this.#bytes.write(value, this.#at, "utf8");
    this.close(inner);
  }

  /** Begins a message inside this one. Hand what it returns to {@link close}. */
  open(field: number): number {
    this.#reserve(NUMBER_BYTES_MAX);
    this.#varint((field << 3) | WIRE.bytes);
    // Room for a length below 128, which nearly all have.
    return ++this.#at;
  }

  /** Ends a message inside this one. */
  close(inner: number): void {
    const length = this.#at - inner;
    if (length < 128) {
      this.#bytes[inner - 1] = length;
      return;
    }
    const more = Math.ceil((32 - Math.clz32(length)) / 7) - 1;
    this.#reserve(more);
    this.#bytes.copyWithin(inner + more, inner, this.#at);
    this.#at = inner - 1;
    this.#varint(length);
    this.#at += length;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest > 127) {
      this.#bytes[this.#at++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#at++] = rest;
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + count));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
