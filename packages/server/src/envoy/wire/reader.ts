// Reads the wire form of protocol buffers, field by field, and trusts nothing: what ends too early, is
// longer than what is around it or not UTF-8 is malformed. Fields that are not asked for are skipped.

import { isUtf8 } from "node:buffer";

/** The bytes are not a message. */
export class MalformedError extends Error {
  override readonly name = "MalformedError";
}

/** How a field is written. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, group: 3, groupEnd: 4, fixed32: 5 } as const;

const VARINT_BYTES_MAX = 10;
const GROUPS_MAX = 16;
const REPLACEMENT = "\uFFFD";

/** A place in a message, which moves on with each call. */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  /** Whether the message that is being read has no more fields. */
  get isDone(): boolean {
    return this.#at >= this.#end;
  }

  /** The number and the kind of the next field: `field << 3 | wire`. */
  tag(): number {
    const tag = this.uint32();
    if (tag < 8) throw new MalformedError("a field has the number 0");
    return tag;
  }

  /** A varint, of which 32 bits count. */
  uint32(): number {
    let value = 0;
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const byte = this.#byte();
      // Shifted out beyond 32 bits, as every reader of a shorter number does.
      if (i < 5) value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) return value >>> 0;
    }
    throw new MalformedError("a number has more than ten bytes");
  }

  /** A varint as a double: exact up to 2^53, beyond it near enough for what counts hits. */
  uint64(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new MalformedError("a number has more than ten bytes");
  }

  /** A double. */
  double(): number {
    this.#forward(8);
    return this.#bytes.readDoubleLE(this.#at - 8);
  }

  /** A string. */
  text(): string {
    const start = this.#at + this.#skipLength();
    const text = this.#bytes.toString("utf8", start, this.#at);
    // Bytes that are not UTF-8 would all be read alike, and so share a counter.
    if (text.includes(REPLACEMENT) && !isUtf8(this.#bytes.subarray(start, this.#at))) {
      throw new MalformedError("a string is not UTF-8");
    }
    return text;
  }

  /** Steps into a message inside this one. Hand what it returns to {@link leave}. */
  enter(): number {
    const length = this.uint32();
    const end = this.#at + length;
    if (end > this.#end) throw new MalformedError("a field is longer than what it is in");
    const outer = this.#end;
    this.#end = end;
    return outer;
  }

  /** Steps out of a message that was read to its end. */
  leave(outer: number): void {
    this.#end = outer;
  }

  /** Skips the value of a field. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case WIRE.varint:
        this.uint64();
        return;
      case WIRE.fixed64:
        this.#forward(8);
        return;
      case WIRE.bytes:
        this.#skipLength();
        return;
      case WIRE.group:
        this.#skipGroup(tag, depth);
        return;
      case WIRE.fixed32:
        this.#forward(4);
        return;
      default:
        throw new MalformedError(`a field has the wire type ${tag & 7}`);
    }
  }

  #skipGroup(tag: number, depth: number): void {
    if (depth >= GROUPS_MAX) throw new MalformedError(`more than ${GROUPS_MAX} nested groups`);
    const end = tag - WIRE.group + WIRE.groupEnd;
    for (;;) {
      const inner = this.tag();
      if (inner === end) return;
      this.skip(inner, depth + 1);
    }
  }

  /** Moves behind a value with a length, and returns how many bytes the length itself took. */
  #skipLength(): number {
    const before = this.#at;
    const length = this.uint32();
    const taken = this.#at - before;
    this.#forward(length);
    return taken;
  }

  #forward(count: number): void {
    const at = this.#at + count;
    if (at > this.#end) throw new MalformedError("a field is longer than what it is in");
    this.#at = at;
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new MalformedError("it ends inside a field");
    return this.#bytes[this.#at++];
  }
}
