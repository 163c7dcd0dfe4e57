// Puts requests in the order of their times, within a window: servers log a request when it is answered, and several
// write into one log. A request waits as a row of numbers and references, without an object of its own, until requests
// that are newer by the window have come. Only those of which more is known wait as copies of their entries.

import { LogEntry, type RequestLine } from "../log-entry.js";

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

/** Requests that wait. */
export class ReorderBuffer {
  readonly #bounds: ReorderBounds;
  readonly #take: (entry: LogEntry) => void;
  readonly #timesMs: Float64Array;
  readonly #statuses: Uint16Array;
  readonly #bodyBytes: Float64Array;
  readonly #lineBytes: Uint32Array;
  readonly #ipv4s: Float64Array;
  readonly #ips: (string | undefined)[];
  readonly #lines: (RequestLine | undefined)[];
  /** Of requests that are not plain. */
  readonly #entries: (LogEntry | undefined)[];
  readonly #numbers: readonly (Float64Array | Uint16Array | Uint32Array)[];
  readonly #references: readonly unknown[][];
  /** Filled in again for each plain request. */
  readonly #plain = new LogEntry();
  #count = 0;
  #bytesHeld = 0;
  #isInOrder = true;
  #wasFull = false;
  #oldestMs = Number.POSITIVE_INFINITY;
  #newestMs = Number.NEGATIVE_INFINITY;

  /** @param take - Called with each request in its turn. The entry is valid until it returns, and may have to be filled in. */
  constructor(bounds: ReorderBounds, take: (entry: LogEntry) => void) {
    this.#bounds = bounds;
    this.#take = take;
    const { linesMax } = bounds;
    const empty = <T>() => new Array<T | undefined>(linesMax).fill(undefined);
    this.#timesMs = new Float64Array(linesMax);
    this.#statuses = new Uint16Array(linesMax);
    this.#bodyBytes = new Float64Array(linesMax);
    this.#lineBytes = new Uint32Array(linesMax);
    this.#ipv4s = new Float64Array(linesMax);
    this.#ips = empty<string>();
    this.#lines = empty<RequestLine>();
    this.#entries = empty<LogEntry>();
    this.#numbers = [this.#timesMs, this.#statuses, this.#bodyBytes, this.#lineBytes, this.#ipv4s];
    this.#references = [this.#ips, this.#lines, this.#entries];
    this.#plain.isPlain = true;
  }

  /** Whether requests ever had to go before their turn, since there was no room for more. */
  get wasFull(): boolean {
    return this.#wasFull;
  }

  /** Adds the request of a line of so many bytes, and takes out those whose turn has come. */
  add(entry: LogEntry, lineBytes: number): void {
    if (this.#bounds.windowMs === 0) this.#take(entry);
    else this.#keep(entry, lineBytes);
  }

  #keep(entry: LogEntry, lineBytes: number): void {
    const at = this.#count++;
    const { atMs } = entry;
    this.#timesMs[at] = atMs;
    this.#lineBytes[at] = lineBytes;
    this.#bytesHeld += lineBytes;
    if (entry.isPlain) {
      this.#statuses[at] = entry.status;
      this.#bodyBytes[at] = entry.bodyBytes;
      this.#ipv4s[at] = entry.ipv4;
      this.#ips[at] = entry.ip;
      this.#lines[at] = entry.line;
    } else this.#entries[at] = Object.assign(new LogEntry(), entry).fillIn();
    if (atMs < this.#newestMs) this.#isInOrder = false;
    else this.#newestMs = atMs;
    if (atMs < this.#oldestMs) this.#oldestMs = atMs;
    const { windowMs, linesMax, bytesMax } = this.#bounds;
    // Twice the window, so that rows are moved rarely and not with every request that comes.
    if (this.#newestMs - this.#oldestMs > 2 * windowMs) this.#release(this.#newestMs - windowMs);
    if (this.#count === linesMax || this.#bytesHeld >= bytesMax) this.#releaseHalf();
  }

  /** Takes out all requests. */
  flush(): void {
    this.#release(Number.POSITIVE_INFINITY);
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
    const entries = this.#entries;
    let at = 0;
    for (; at < this.#count && timesMs[at] <= untilMs; at++) {
      this.#bytesHeld -= this.#lineBytes[at];
      this.#take(entries[at] ?? this.#plainAt(at));
    }
    this.#dropFirst(at);
  }

  #plainAt(at: number): LogEntry {
    const entry = this.#plain;
    entry.ipv4 = this.#ipv4s[at];
    entry.ip = this.#ips[at];
    entry.line = this.#lines[at];
    entry.atMs = this.#timesMs[at];
    entry.status = this.#statuses[at];
    entry.bodyBytes = this.#bodyBytes[at];
    return entry;
  }

  #dropFirst(taken: number): void {
    const count = this.#count;
    const left = count - taken;
    for (const column of this.#numbers) column.copyWithin(0, taken, count);
    for (const column of this.#references) moveDown(column, taken, count);
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
    const order = Uint32Array.from({ length: count }, (_, at) => at).sort(
      (a, b) => timesMs[a] - timesMs[b] || a - b,
    );
    for (const column of [...this.#numbers, ...this.#references]) {
      const before = column.slice(0, count);
      for (let at = 0; at < count; at++) column[at] = before[order[at]] as never;
    }
  }
}

/** Moves what is from `from` to before `to` to the front, and lets go of the rest. `copyWithin` takes ten times as long. */
function moveDown(column: unknown[], from: number, to: number): void {
  const left = to - from;
  for (let at = 0; at < left; at++) column[at] = column[from + at];
  for (let at = left; at < to; at++) column[at] = undefined;
}
