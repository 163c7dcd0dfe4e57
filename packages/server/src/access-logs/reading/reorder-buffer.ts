// Puts requests in the order of their times, within a window: servers log a request when it is answered, and several
// write into one log. A request waits where it is in its batch until requests that are newer by the window have come.

import type { OpenBatch } from "./batch-reader.js";
import { JumpGuard } from "./jump-guard.js";

/** How far requests are put in order. */
export interface ReorderBounds {
  /** How much later than a newer request one may come. 0: requests stay as they come. */
  readonly windowMs: number;
  /** Requests that wait at most. */
  readonly linesMax: number;
  /** Bytes of their lines at most: what is kept of a line is about as long as the line. */
  readonly bytesMax: number;
}

/** Room for the requests of ten seconds at some thousand a second. */
export const REORDER_BOUNDS: ReorderBounds = {
  windowMs: 10_000,
  linesMax: 65_536,
  bytesMax: 16 * 1024 * 1024,
};

/** A batch with rows that wait. */
interface Held {
  readonly batch: OpenBatch;
  waiting: number;
}

/** Rows of a batch are numbered by so many bits, the batch by those above. */
const ROW_BITS = 12;
const ROW_MASK = 2 ** ROW_BITS - 1;

/** The most batches of which rows wait. Only batches of few waiting rows each reach it before `linesMax`. */
const BATCHES_MAX = 256;

/** Called with each request in its turn, and the time that counts for it. */
export type TakeRow = (batch: OpenBatch, row: number, atMs: number) => void;

/** Requests that wait. */
export class ReorderBuffer {
  readonly #bounds: ReorderBounds;
  readonly #take: TakeRow;
  readonly #guard: JumpGuard;
  /** Batches by number. A number is used again when no row of its batch waits. */
  readonly #held: (Held | undefined)[] = [];
  readonly #timesMs: Float64Array;
  /** The number of each request's batch, and of its row. */
  readonly #places: Uint32Array;
  #batches = 0;
  #count = 0;
  #bytesHeld = 0;
  #isInOrder = true;
  #wasFull = false;
  #oldestMs = Number.POSITIVE_INFINITY;
  #newestMs = Number.NEGATIVE_INFINITY;

  constructor(bounds: ReorderBounds, take: TakeRow) {
    this.#bounds = bounds;
    this.#take = take;
    this.#guard = new JumpGuard(bounds.windowMs, (place, atMs) => this.#keep(place, atMs));
    this.#timesMs = new Float64Array(bounds.linesMax);
    this.#places = new Uint32Array(bounds.linesMax);
  }

  /** Whether requests ever had to go before their turn, because there was no room for more. */
  get wasFull(): boolean {
    return this.#wasFull;
  }

  /** Requests whose jumps forward in time were refuted. They count with the time of the newest request before them. */
  get refuted(): number {
    return this.#guard.refuted;
  }

  /** Adds the requests of a batch, and takes out those whose turn has come. */
  add(batch: OpenBatch): void {
    // Rows that wait longer than others may each keep a batch, so that half of all rows are not enough.
    while (this.#batches >= BATCHES_MAX && this.#count > 0) this.#releaseHalf();
    this.#batches++;
    const free = this.#held.indexOf(undefined);
    const number = free < 0 ? this.#held.length : free;
    this.#held[number] = { batch, waiting: batch.rows };
    const { rows, timesMs } = batch;
    const first = number << ROW_BITS;
    for (let row = 0; row < rows; row++) this.#guard.pass(first | row, timesMs[row]);
  }

  /** Takes out all requests. */
  flush(): void {
    this.#guard.end();
    this.#release(Number.POSITIVE_INFINITY);
  }

  #keep(place: number, atMs: number): void {
    const { windowMs, linesMax, bytesMax } = this.#bounds;
    this.#bytesHeld += this.#bytesOf(place);
    if (windowMs === 0) {
      this.#takeOut(place, atMs);
      return;
    }
    const at = this.#count++;
    this.#timesMs[at] = atMs;
    this.#places[at] = place;
    if (atMs < this.#newestMs) this.#isInOrder = false;
    else this.#newestMs = atMs;
    if (atMs < this.#oldestMs) this.#oldestMs = atMs;
    // Twice the window, so that rows are moved rarely and not with every request that comes.
    if (this.#newestMs - this.#oldestMs > 2 * windowMs) this.#release(this.#newestMs - windowMs);
    if (this.#count === linesMax || this.#bytesHeld >= bytesMax) this.#releaseHalf();
  }

  #releaseHalf(): void {
    this.#wasFull = true;
    this.#putInOrder();
    this.#release(this.#timesMs[this.#count >> 1]);
  }

  /** Takes out the requests up to a time. */
  #release(untilMs: number): void {
    this.#putInOrder();
    const timesMs = this.#timesMs;
    let at = 0;
    for (; at < this.#count && timesMs[at] <= untilMs; at++) {
      this.#takeOut(this.#places[at], timesMs[at]);
    }
    this.#dropFirst(at);
  }

  #takeOut(place: number, atMs: number): void {
    const number = place >>> ROW_BITS;
    const held = this.#held[number] as Held;
    this.#bytesHeld -= this.#bytesOf(place);
    if (--held.waiting === 0) {
      this.#held[number] = undefined;
      this.#batches--;
    }
    this.#take(held.batch, place & ROW_MASK, atMs);
  }

  #bytesOf(place: number): number {
    return (this.#held[place >>> ROW_BITS] as Held).batch.lineBytes;
  }

  #dropFirst(taken: number): void {
    const count = this.#count;
    const left = count - taken;
    this.#timesMs.copyWithin(0, taken, count);
    this.#places.copyWithin(0, taken, count);
    this.#count = left;
    this.#oldestMs = left === 0 ? Number.POSITIVE_INFINITY : this.#timesMs[0];
    if (left === 0) this.#newestMs = Number.NEGATIVE_INFINITY;
  }

  /** Sorts by time; requests of one time stay in the order in which they came. */
  #putInOrder(): void {
    if (this.#isInOrder) return;
    this.#isInOrder = true;
    const count = this.#count;
    const timesMs = this.#timesMs.slice(0, count);
    const places = this.#places.slice(0, count);
    const order = Uint32Array.from({ length: count }, (_, at) => at).sort(
      (a, b) => timesMs[a] - timesMs[b] || a - b,
    );
    for (let at = 0; at < count; at++) {
      this.#timesMs[at] = timesMs[order[at]];
      this.#places[at] = places[order[at]];
    }
  }
}
