// Skips the events of a stream that can't contain what is looked for. A native search for the last names of the paths
// is many times faster than reading every event, and most events of a stream have none of them.
// Benchmark: service/settle.

import type { EventScanner } from "./event-scanner.js";

/** A name that JSON can write in one way besides escapes by number. */
const PLAIN_NAME = /^[A-Za-z0-9_-]+$/;
/** How an escape of an ASCII character begins. Of any other character it can't be a part of a plain name. */
const ESCAPE = "\\u00";

/** Reads the events of a stream that may matter. */
export class EventSearch {
  readonly #scanner: EventScanner;
  readonly #needles: readonly Buffer[];

  /** Undefined if one of the names can't be searched for, or there is no native search. */
  static of(scanner: EventScanner, names: readonly string[]): EventSearch | undefined {
    if (typeof Buffer === "undefined" || !names.every((name) => PLAIN_NAME.test(name))) {
      return undefined;
    }
    return new EventSearch(scanner, names);
  }

  private constructor(scanner: EventScanner, names: readonly string[]) {
    this.#scanner = scanner;
    this.#needles = [...names.map((name) => `"${name}"`), ESCAPE].map((text) => Buffer.from(text));
  }

  /** Reads the bytes from `from` up to `to`. */
  read(bytes: Uint8Array, from: number, to: number): void {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
    let at = 0;
    // Where each needle is found next: no byte is searched twice.
    const hits = this.#needles.map((needle) => findFrom(piece, needle, 0));
    while (at < piece.length) {
      if (this.#scanner.isBetweenEvents) {
        const hit = Math.min(...hits);
        const start = startOfEvent(piece, at, Math.min(hit, piece.length));
        if (start > at) this.#scanner.skip();
        at = start;
      }
      at = this.#scanner.read(piece, at, piece.length, true);
      for (let i = 0; i < hits.length; i++) {
        if (hits[i] < at) hits[i] = findFrom(piece, this.#needles[i], at);
      }
    }
  }
}

/** Where a needle is found from a place on; Infinity if it is not. */
function findFrom(piece: Buffer, needle: Buffer, from: number): number {
  const found = piece.indexOf(needle, from);
  return found < 0 ? Number.POSITIVE_INFINITY : found;
}

/** The start of the event that `before` is in, as far as it is known: `from` if no event begins after it. */
function startOfEvent(piece: Buffer, from: number, before: number): number {
  // A view, so that no search goes back beyond what was read.
  const unread = piece.subarray(from, before);
  // Two line feeds in a row, or with a carriage return between them, end an event in every stream. Streams that divide
  // lines by carriage returns alone are read whole.
  for (let feed = unread.length; feed > 0; ) {
    feed = unread.lastIndexOf(0x0a, feed - 1);
    const above = unread[feed - 1] === 0x0d ? feed - 2 : feed - 1;
    if (above >= 0 && unread[above] === 0x0a) return from + feed + 1;
  }
  return from;
}
