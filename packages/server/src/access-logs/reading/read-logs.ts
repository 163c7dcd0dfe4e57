// Reads logs of any size line by line, in bounded memory: splits chunks into lines, puts lines in the order of their
// times and passes on what each says. Malformed lines are counted and the first of them kept; none ends the reading.

import { type EntryNeeds, LogEntry } from "../log-entry.js";
import type { LineReader } from "../log-format.js";
import { LineSplitter } from "./line-splitter.js";
import type { LogSource } from "./log-source.js";
import { REORDER_BOUNDS, type ReorderBounds, ReorderBuffer } from "./reorder-buffer.js";

/** A line that could not be read. */
export interface MalformedLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly why: string;
  /** How it begins. */
  readonly text: string;
}

/** One log that was read. */
export interface ReadFile {
  readonly name: string;
  /** In words. */
  readonly format: string;
  /** Blank lines left out. */
  readonly lines: number;
  readonly malformed: number;
  /** Why it ends early: it is damaged, or cut off. Null if it was read to its end. */
  readonly problem: string | null;
}

/** What was read. */
export interface ReadSummary {
  readonly files: readonly ReadFile[];
  readonly lines: number;
  readonly malformed: number;
  /** The first of the malformed lines. */
  readonly malformedLines: readonly MalformedLine[];
  /** Lines that came more than the window after a newer one. They were decided as if they had come with it. */
  readonly late: number;
  /** Of these, lines that came within the window, but while more lines waited than there is room for. */
  readonly lateForRoom: number;
  /** Whether all times are whole seconds, as nginx logs them. */
  readonly isWholeSeconds: boolean;
}

/** Which logs are read, for whatever purpose. */
export interface LogsToRead {
  readonly sources: readonly LogSource[];
  /** Whose X-Forwarded-For is trusted. Default: no one's. */
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

/** Malformed lines that are kept. */
const KEPT_MAX = 5;
const SHOWN_MAX = 120;
const SECOND_MS = 1_000;

/** Reads all logs to their ends, one after the other. */
export async function readLogs(
  sources: readonly LogSource[],
  options: ReadOptions,
): Promise<ReadSummary> {
  const reading = new Reading(options);
  for (const source of sources) await reading.read(source);
  return reading.end();
}

/** What is known of a log while it is read. Its reader takes megabytes, and goes with it. */
interface OpenLog {
  readonly name: string;
  readonly reader: LineReader;
  /** Filled in again for each of its lines. */
  readonly entry: LogEntry;
  lines: number;
  malformed: number;
}

class Reading {
  readonly #options: ReadOptions;
  readonly #windowMs: number;
  readonly #files: ReadFile[] = [];
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
    this.#buffer = new ReorderBuffer(bounds, (entry) => this.#take(entry));
  }

  /** Reads one log to its end. */
  async read(source: LogSource): Promise<void> {
    const { name, format } = source;
    const reader = format.createReader(this.#options.needs);
    const log: OpenLog = { name, reader, entry: new LogEntry(), lines: 0, malformed: 0 };
    const splitter = new LineSplitter({
      line: (bytes, from, to, number) => this.#add(log, bytes, from, to, number),
      tooLong: (start, number, why) => {
        log.lines++;
        this.#fail(log, why, start, 0, start.length, number);
      },
    });
    let problem: string | null = null;
    const chunks = untilDamage(
      source.open((bytes) => this.#options.onRead?.(bytes)),
      (why) => {
        problem = why;
      },
    );
    for await (const chunk of chunks) splitter.split(chunk);
    splitter.end();
    const { lines, malformed } = log;
    this.#files.push({ name, format: format.title, lines, malformed, problem });
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
      late: this.#late,
      lateForRoom: this.#lateForRoom,
      isWholeSeconds: this.#isWholeSeconds && this.#latestMs > 0,
    };
  }

  #add(log: OpenLog, bytes: Buffer, from: number, to: number, number: number): void {
    log.lines++;
    const { reader, entry } = log;
    if (reader.read(bytes, from, to, entry)) this.#buffer.add(entry, to - from);
    else this.#fail(log, reader.problem, bytes, from, to, number);
  }

  #take(entry: LogEntry): void {
    // Time never goes back: a line that comes too late is decided when it comes.
    const { atMs } = entry;
    if (atMs < this.#latestMs) {
      this.#late++;
      if (this.#buffer.wasFull && this.#latestMs - atMs <= this.#windowMs) this.#lateForRoom++;
      entry.atMs = this.#latestMs;
    } else if (atMs > this.#latestMs) {
      this.#latestMs = atMs;
      if (atMs % SECOND_MS !== 0) this.#isWholeSeconds = false;
    }
    this.#options.take(entry);
  }

  #fail(log: OpenLog, why: string, bytes: Buffer, from: number, to: number, line: number): void {
    log.malformed++;
    if (this.#malformedLines.length >= KEPT_MAX) return;
    const text = bytes.toString("utf8", from, Math.min(to, from + SHOWN_MAX));
    this.#malformedLines.push({ file: log.name, line, why, text });
  }
}

/** Chunks up to where a log is damaged, which is reported. What their consumer throws is not damage, and passes. */
async function* untilDamage(
  chunks: AsyncIterable<Buffer>,
  report: (problem: string) => void,
): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (error) {
    if ((error as { syscall?: unknown }).syscall !== undefined) throw error;
    report(`damaged or cut off: ${(error as Error).message}`);
  }
}
