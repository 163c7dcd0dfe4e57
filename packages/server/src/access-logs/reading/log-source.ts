// Where lines come from: files, plain or compressed, or the standard input. Rotated files are read in the order of their
// first lines, whatever their names.

import { stat } from "node:fs/promises";
import {
  adviseOnFormat,
  detectFormat,
  type FormatChoice,
  firstTimeOf,
  formatOf,
} from "../formats/detect.js";
import { sharedFacts } from "../formats/shared-facts.js";
import type { LogFormat } from "../log-format.js";
import { compressionOf, decompress } from "./decompress.js";
import { foreignContent } from "./foreign-content.js";
import { LINE_BYTES_MAX } from "./line-splitter.js";
import {
  countBytes,
  isOfFileSystem,
  readStored,
  readStoredLog,
  type StoredLog,
} from "./stored-log.js";

/** Bytes by which the format is detected: the longest line may be the first. */
const HEAD_BYTES = LINE_BYTES_MAX;

/** A log. */
export interface LogSource {
  /** As it is called in messages. */
  readonly name: string;
  readonly format: LogFormat;
  /** Its size as it is stored; undefined for the standard input and other pipes. */
  readonly sizeBytes: number | undefined;
  /** Where it is stored, so that another thread can read it; undefined for what can be read only here and once. */
  readonly file: StoredLog | undefined;
  /**
   * Its bytes, decompressed, in chunks that are valid until the next is asked for. `onRead` is called with bytes as they
   * are stored. To be called once.
   */
  open(onRead: (bytes: number) => void): AsyncIterable<Buffer>;
}

/** A file, or a stream with a name. */
export type LogInput = string | { readonly name: string; readonly stream: AsyncIterable<Buffer> };

/** A log whose format is not known, or that can't be read as lines. */
export class UnknownFormatError extends Error {
  override readonly name = "UnknownFormatError";
}

/**
 * Opens logs, in the order of their times.
 *
 * @throws UnknownFormatError, and errors of the file system.
 */
export async function openSources(
  inputs: readonly LogInput[],
  choice: FormatChoice,
): Promise<readonly LogSource[]> {
  const opened: { readonly source: LogSource; readonly firstMs: number }[] = [];
  for (const input of inputs) {
    const { source, head } = await (typeof input === "string"
      ? openFile(input, choice)
      : openStream(input, choice));
    opened.push({ source, firstMs: firstTimeOf(head, source.format) ?? Number.POSITIVE_INFINITY });
  }
  return opened.toSorted((a, b) => toOrder(a.firstMs, b.firstMs)).map(({ source }) => source);
}

/** Two logs without times stay as they are. */
function toOrder(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

interface Opened {
  readonly source: LogSource;
  readonly head: Buffer;
}

async function openFile(path: string, choice: FormatChoice): Promise<Opened> {
  const stats = await stat(path);
  // What was read of a pipe, as `<(zcat access.log.gz)` is one, can't be read again.
  if (!stats.isFile()) return openStream({ name: path, stream: readStored(path) }, choice);
  const { size } = stats;
  const { head, isCompressed } = await readHeadOf(path);
  const format = mustDetect(path, head, choice);
  const file: StoredLog = { path, isCompressed };
  const open: LogSource["open"] = (onRead) => readStoredLog(file, onRead);
  return { source: { name: path, format, sizeBytes: size, file, open }, head };
}

async function openStream(
  { name, stream }: Exclude<LogInput, string>,
  choice: FormatChoice,
): Promise<Opened> {
  let headBytes = 0;
  let onRead = (bytes: number) => {
    headBytes += bytes;
  };
  const counted = countBytes(stream, (bytes) => onRead(bytes));
  const { head, rest } = await readHead(decompress(counted), true);
  const format = mustDetect(name, head, choice);
  const open: LogSource["open"] = (listener) => {
    onRead = listener;
    listener(headBytes);
    return withHead(head, rest);
  };
  return { source: { name, format, sizeBytes: undefined, file: undefined, open }, head };
}

/** The format of a log without content, as after a rotation: it has no line that lacks what a rule needs. */
const EMPTY: LogFormat = { ...formatOf("json"), title: "empty", facts: sharedFacts([]) };

function mustDetect(name: string, head: Buffer, choice: FormatChoice): LogFormat {
  const foreign = foreignContent(head);
  if (foreign !== undefined) throw new UnknownFormatError(`${name}: ${foreign}`);
  const format = detectFormat(head, choice);
  if (format !== undefined) return format;
  if (head.length === 0) return EMPTY;
  throw new UnknownFormatError(`${name}: ${adviseOnFormat(head)}`);
}

async function readHeadOf(path: string): Promise<{ head: Buffer; isCompressed: boolean }> {
  let isCompressed = false;
  const stored = (async function* () {
    for await (const chunk of readStored(path)) {
      isCompressed ||= compressionOf(chunk) !== "none";
      yield chunk;
    }
  })();
  const { head } = await readHead(decompress(stored));
  return { head, isCompressed };
}

/** The first bytes of a log, and the rest if it `isKept`. Damage is reported when the rest is read. */
async function readHead(
  chunks: AsyncGenerator<Buffer>,
  isKept = false,
): Promise<{ readonly head: Buffer; readonly rest: AsyncIterable<Buffer> }> {
  const parts: Buffer[] = [];
  let bytes = 0;
  let rest: AsyncIterable<Buffer> = chunks;
  try {
    while (bytes < HEAD_BYTES) {
      const { value, done } = await chunks.next();
      if (done === true) break;
      parts.push(value);
      bytes += value.length;
    }
  } catch (error) {
    if (isOfFileSystem(error)) throw error;
    rest = damaged(error);
  }
  if (!isKept) await chunks.return(undefined).catch(() => {});
  return { head: Buffer.concat(parts), rest };
}

/** Content that can't be read: the first read rejects with the error. */
function damaged(error: unknown): AsyncIterable<Buffer> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

async function* withHead(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  yield* rest;
}
