// Reads logs of any size, in bounded memory: puts their lines in the order of their times and passes on what each says.
// Malformed lines are counted and the first of them kept; none ends the reading.

import type { EntryNeeds, LogEntry } from "../log-entry.js";
import { BatchReader, type OpenBatch } from "./batch-reader.js";
import {
  type LogPortion,
  MALFORMED_KEPT_MAX,
  type MalformedLine,
  type ReadFile,
} from "./log-portion.js";
import type { LogSource } from "./log-source.js";
import { readPortions } from "./read-portions.js";
import { isForThread, readInThread } from "./reading-in-thread.js";
import { REORDER_BOUNDS, type ReorderBounds, ReorderBuffer } from "./reorder-buffer.js";

/** What was read. */
export interface ReadSummary {
  readonly files: readonly ReadFile[];
  readonly lines: number;
  readonly malformed: number;
  /** The first of the malformed lines. */
  readonly malformedLines: readonly MalformedLine[];
  /**
   * Lines that came more than the window after a newer one, or were far ahead of those after them. They were decided with
   * the time of the newest line before them.
   */
  readonly late: number;
  /** Of the late ones, lines that came within the window, but while more lines waited than there is room for. */
  readonly lateForRoom: number;
  /** Of the late ones, lines whose time was far ahead of the lines after them. */
  readonly farAhead: number;
  /** Whether all times are whole seconds, as nginx logs them. */
  readonly isWholeSeconds: boolean;
}

/** Which logs are read, for whatever purpose. */
export interface LogsToRead {
  readonly sources: readonly LogSource[];
  /** Proxies whose X-Forwarded-For is trusted. Default: none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** How far out of order lines may be; default 10,000. */
  readonly reorderMs?: number | undefined;
  /** Called with bytes that were read, as they are stored. */
  onRead?(bytes: number): void;
}

/** How logs are read. */
export interface ReadOptions {
  readonly needs: EntryNeeds;
  readonly bounds?: Partial<ReorderBounds> | undefined;
  /**
   * Called with each request, in the order of their times. The entry is reused when it returns. Its method, path and
   * address are there after `fillIn`.
   */
  take(entry: LogEntry): void;
  /** Called with bytes that were read, as they are stored. */
  onRead?(bytes: number): void;
}

const SECOND_MS = 1_000;

/** Reads all logs to their ends, one after the other. */
export async function readLogs(
  sources: readonly LogSource[],
  options: ReadOptions,
): Promise<ReadSummary> {
  const reading = new Reading(options);
  const read = isForThread(sources) ? readInThread : readPortions;
  for await (const portion of read(sources, options.needs)) reading.add(portion);
  return reading.end();
}

class Reading {
  readonly #options: ReadOptions;
  readonly #windowMs: number;
  readonly #files: ReadFile[] = [];
  readonly #batches = new BatchReader();
  readonly #buffer: ReorderBuffer;
  readonly #malformedLines: MalformedLine[] = [];
  #late = 0;
  #lateForRoom = 0;
  #latestMs = 0;
  #isWholeSeconds = true;

  constructor(options: ReadOptions) {
    this.#options = options;
    const bounds = { ...REORDER_BOUNDS, ...options.bounds };
    this.#windowMs = bounds.windowMs;
    this.#buffer = new ReorderBuffer(bounds, (batch, row, atMs) => this.#take(batch, row, atMs));
  }

  add({ batches, malformedLines, storedBytes, file }: LogPortion): void {
    for (const batch of batches) this.#buffer.add(this.#batches.open(batch));
    const room = MALFORMED_KEPT_MAX - this.#malformedLines.length;
    this.#malformedLines.push(...malformedLines.slice(0, room));
    if (storedBytes > 0) this.#options.onRead?.(storedBytes);
    if (file !== undefined) this.#files.push(file);
  }

  end(): ReadSummary {
    this.#buffer.flush();
    const files = this.#files;
    const sum = (count: (file: ReadFile) => number) =>
      files.reduce((total, file) => total + count(file), 0);
    return {
      files,
      lines: sum(({ lines }) => lines),
      malformed: sum(({ malformed }) => malformed),
      malformedLines: this.#malformedLines,
      late: this.#late + this.#buffer.refuted,
      lateForRoom: this.#lateForRoom,
      farAhead: this.#buffer.refuted,
      isWholeSeconds: this.#isWholeSeconds && this.#latestMs > 0,
    };
  }

  #take(batch: OpenBatch, row: number, atMs: number): void {
    const entry = this.#batches.entryAt(batch, row);
    // Time never goes back: a line that comes too late is decided when it comes.
    if (atMs < this.#latestMs) {
      this.#late++;
      if (this.#buffer.wasFull && this.#latestMs - atMs <= this.#windowMs) this.#lateForRoom++;
    } else if (atMs > this.#latestMs) {
      this.#latestMs = atMs;
      if (atMs % SECOND_MS !== 0) this.#isWholeSeconds = false;
    }
    entry.atMs = this.#latestMs;
    this.#options.take(entry);
  }
}
