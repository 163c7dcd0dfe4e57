// Reads the lines of logs, one log after the other, and passes them on in portions.

import { type EntryNeeds, LogEntry } from "../log-entry.js";
import type { LineReader } from "../log-format.js";
import { BatchWriter } from "./batch-writer.js";
import { LineSplitter } from "./line-splitter.js";
import { type LogPortion, MALFORMED_KEPT_MAX, type MalformedLine } from "./log-portion.js";
import type { LogSource } from "./log-source.js";
import { isOfFileSystem } from "./stored-log.js";

const SHOWN_MAX = 120;
/** Bytes after which a portion is passed on, however few requests are in it, so that progress can be shown. */
const PORTION_BYTES_MAX = 4 * 1024 * 1024;

/** What is needed of a log to read it. */
export type LogToRead = Pick<LogSource, "name" | "format" | "open">;

/** Reads logs to their ends. */
export async function* readPortions(
  sources: readonly LogToRead[],
  needs: EntryNeeds,
): AsyncGenerator<LogPortion> {
  const writer = new BatchWriter();
  for (const source of sources) yield* new OpenLog(source, needs, writer).read();
}

/** A log while it is read. Its reader takes megabytes, and goes with it. */
class OpenLog {
  readonly #source: LogToRead;
  readonly #reader: LineReader;
  readonly #writer: BatchWriter;
  /** Filled in again for each line. */
  readonly #entry = new LogEntry();
  #lines = 0;
  #malformed = 0;
  #malformedLines: MalformedLine[] = [];
  #storedBytes = 0;

  constructor(source: LogToRead, needs: EntryNeeds, writer: BatchWriter) {
    this.#source = source;
    this.#reader = source.format.createReader(needs);
    this.#writer = writer;
    const { attributes } = source.format.facts;
    writer.name({
      headers: [...needs.headers],
      attributes: attributes === "any" ? [] : [...attributes],
    });
  }

  async *read(): AsyncGenerator<LogPortion> {
    const { name, format } = this.#source;
    const splitter = new LineSplitter({
      line: (bytes, from, to, number) => this.#add(bytes, from, to, number),
      tooLong: (start, number, why) => {
        this.#lines++;
        this.#fail(why, start, 0, start.length, number);
      },
    });
    let problem: string | null = null;
    const stored = this.#source.open((bytes) => {
      this.#storedBytes += bytes;
    });
    const chunks = untilDamage(stored, (why) => {
      problem = why;
    });
    for await (const chunk of chunks) {
      splitter.split(chunk);
      if (this.#writer.ready.length > 0 || this.#storedBytes >= PORTION_BYTES_MAX)
        yield this.#takePortion();
    }
    splitter.end();
    this.#writer.flush();
    const [lines, malformed] = [this.#lines, this.#malformed];
    const file = { name, format: format.title, lines, malformed, problem };
    yield { ...this.#takePortion(), file };
  }

  #takePortion(): LogPortion {
    const portion = {
      batches: this.#writer.ready,
      malformedLines: this.#malformedLines,
      storedBytes: this.#storedBytes,
      file: undefined,
    };
    this.#writer.ready = [];
    this.#malformedLines = [];
    this.#storedBytes = 0;
    return portion;
  }

  #add(bytes: Buffer, from: number, to: number, number: number): void {
    this.#lines++;
    const entry = this.#entry;
    if (this.#reader.read(bytes, from, to, entry)) this.#writer.add(entry, to - from);
    else this.#fail(this.#reader.problem, bytes, from, to, number);
  }

  #fail(why: string, bytes: Buffer, from: number, to: number, line: number): void {
    this.#malformed++;
    if (this.#malformed > MALFORMED_KEPT_MAX) return;
    const text = bytes.toString("utf8", from, Math.min(to, from + SHOWN_MAX));
    this.#malformedLines.push({ file: this.#source.name, line, why, text });
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
    if (isOfFileSystem(error)) throw error;
    report(`damaged or cut off: ${(error as Error).message}`);
  }
}
