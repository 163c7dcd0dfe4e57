// Skips the events of a stream that can't contain what is looked for. A search for the last names of the paths is many
// times faster than reading every event, and most events of a stream have none of them. Benchmark: service/settle.

import type { ByteSearch } from "./byte-search.js";
import type { EventScanner } from "./event-scanner.js";

const LF = 0x0a;
const CR = 0x0d;

/** Reads the events of a stream that may matter. */
export class EventSearch {
  readonly #scanner: EventScanner;
  readonly #searches: readonly ByteSearch[];
  /** Where each search finds something next: no byte is searched twice. */
  readonly #hits: number[];

  constructor(scanner: EventScanner, searches: readonly ByteSearch[]) {
    this.#scanner = scanner;
    this.#searches = searches;
    this.#hits = searches.map(() => 0);
  }

  /** Reads the bytes from `from` up to `to`. */
  read(bytes: Uint8Array, from: number, to: number): void {
    const scanner = this.#scanner;
    this.#hits.fill(-1);
    // Up to where events have to be read, since no start of a later one is known.
    let unskipped = from;
    for (let at = from; at < to; ) {
      if (at >= unskipped && scanner.isBetweenEvents) {
        unskipped = Math.min(this.#nextHit(bytes, at, to), to);
        const start = startOfEvent(bytes, at, unskipped);
        if (start > at) scanner.skip();
        at = start;
      }
      at = scanner.read(bytes, at, to, true);
    }
  }

  #nextHit(bytes: Uint8Array, from: number, to: number): number {
    const hits = this.#hits;
    let next = Number.POSITIVE_INFINITY;
    for (let i = 0; i < hits.length; i++) {
      if (hits[i] < from) hits[i] = this.#searches[i].find(bytes, from, to);
      if (hits[i] < next) next = hits[i];
    }
    return next;
  }
}

/**
 * The start of the event that `before` is in, as far as it is known: `from` if no event begins after it. Two line feeds
 * in a row, or with a carriage return between them, end an event in every stream; streams that divide lines by carriage
 * returns alone are read whole.
 */
function startOfEvent(bytes: Uint8Array, from: number, before: number): number {
  for (let i = before - 1; i > from; i--) {
    if (bytes[i] !== LF) continue;
    const above = bytes[i - 1] === CR ? i - 2 : i - 1;
    if (above >= from && bytes[above] === LF) return i + 1;
  }
  return from;
}
