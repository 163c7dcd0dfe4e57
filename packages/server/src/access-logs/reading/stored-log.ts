// Logs in files: their bytes, decompressed, in chunks.

import { closeSync, createReadStream, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { decompress } from "./decompress.js";

/** Bytes that are read in one go: as many as fit into the processor's cache together with the tables of a replay. */
const CHUNK_BYTES = 256 * 1024;

/** A log in a file. */
export interface StoredLog {
  readonly path: string;
  readonly isCompressed: boolean;
}

/** Whether an error is of the file system, which no log survives. Others are damage, of which the rest is reported. */
export function isOfFileSystem(error: unknown): boolean {
  return (error as { syscall?: unknown }).syscall !== undefined;
}

/** The bytes of a log in a file, decompressed, in chunks that are valid until the next is asked for. */
export function readStoredLog(
  { path, isCompressed }: StoredLog,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  return isCompressed
    ? decompress(countBytes(readStored(path), onRead))
    : readPlainFile(path, onRead);
}

/**
 * The same, for a thread that has nothing else to do: reads of plain files block it, which spares two turns of the event loop
 * for each chunk.
 */
export async function* readStoredLogInThread(
  log: StoredLog,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  if (log.isCompressed) yield* readStoredLog(log, onRead);
  else yield* readPlainFileBlocking(log.path, onRead);
}

function* readPlainFileBlocking(path: string, onRead: (bytes: number) => void): Generator<Buffer> {
  const file = openSync(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let bytes = readSync(file, chunk); bytes > 0; bytes = readSync(file, chunk)) {
      onRead(bytes);
      yield chunk.subarray(0, bytes);
    }
  } finally {
    closeSync(file);
  }
}

/** The bytes of a file as they are stored. */
export function readStored(path: string): AsyncIterable<Buffer> {
  return createReadStream(path, { highWaterMark: CHUNK_BYTES });
}

/** Reads one chunk while the other is worked on, and both over and over again: a new buffer is not in any cache. */
async function* readPlainFile(
  path: string,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    let [current, next] = [Buffer.allocUnsafe(CHUNK_BYTES), Buffer.allocUnsafe(CHUNK_BYTES)];
    let { bytesRead } = await file.read(current, 0, CHUNK_BYTES);
    while (bytesRead > 0) {
      const reading = file.read(next, 0, CHUNK_BYTES);
      // It is awaited below; if the consumer fails or leaves first, its outcome no longer matters.
      reading.catch(() => {});
      onRead(bytesRead);
      try {
        yield current.subarray(0, bytesRead);
      } finally {
        ({ bytesRead } = await reading);
      }
      [current, next] = [next, current];
    }
  } finally {
    await file.close();
  }
}

/** The same chunks. `onRead` is called with the bytes of each. */
export async function* countBytes(
  chunks: AsyncIterable<Buffer>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    onRead(chunk.length);
    yield chunk;
  }
}
