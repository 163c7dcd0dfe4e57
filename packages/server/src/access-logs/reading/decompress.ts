// Compressed logs, recognised by their first bytes and not by their names. Node.js before 22.15 has no zstd of its own;
// there fzstd decompresses it.

import { pipeline, Readable } from "node:stream";
import zlib from "node:zlib";
import { Decompress } from "fzstd";
import { ZstdWindows } from "./zstd-windows.js";

/** How a log is compressed. */
export type Compression = "gzip" | "zstd" | "none";

/** The compression of bytes that begin so. */
export function compressionOf(head: Uint8Array): Compression {
  if (head[0] === 0x1f && head[1] === 0x8b) return "gzip";
  const isZstd = head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd;
  // A frame to be skipped, with which pzstd begins its files.
  const isSkippable =
    (head[0] & 0xf0) === 0x50 && head[1] === 0x2a && head[2] === 0x4d && head[3] === 0x18;
  return isZstd || isSkippable ? "zstd" : "none";
}

/**
 * The same bytes, decompressed if they are compressed. Bytes that were decompressed before damage or a missing end come
 * first, and then an error.
 */
export async function* decompress(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const all = chunks[Symbol.asyncIterator]();
  const head = await readStart(all);
  const again = { [Symbol.asyncIterator]: () => startingWith(head, all) };
  switch (compressionOf(head)) {
    case "gzip":
      yield* through(again, zlib.createGunzip());
      break;
    case "zstd": {
      const checked = withWindowsChecked(again);
      yield* createNativeZstd === undefined
        ? unzstd(checked)
        : through(checked, createNativeZstd());
      break;
    }
    default:
      yield* again;
  }
}

/** Enough to recognise a compression, unless there is less. */
async function readStart(chunks: AsyncIterator<Buffer>): Promise<Buffer> {
  let start: Buffer = Buffer.alloc(0);
  while (start.length < MAGIC_BYTES) {
    const { value, done } = await chunks.next();
    if (done === true) break;
    start = start.length === 0 ? value : Buffer.concat([start, value]);
  }
  return start;
}

const MAGIC_BYTES = 4;

async function* startingWith(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield first;
    for (let next = await rest.next(); next.done !== true; next = await rest.next())
      yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** Ends with an error before a frame whose window would not fit in the memory that is meant for it. */
async function* withWindowsChecked(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const windows = new ZstdWindows();
  for await (const chunk of chunks) {
    windows.check(chunk);
    yield chunk;
  }
}

/** Missing where Node.js has no zstd. */
const { createZstdDecompress: createNativeZstd } = zlib as unknown as {
  readonly createZstdDecompress?: () => zlib.Gunzip;
};

async function* through(
  chunks: AsyncIterable<Buffer>,
  decompressor: zlib.Gunzip,
): AsyncGenerator<Buffer> {
  // Errors of both come out of the decompressor.
  pipeline(Readable.from(chunks, { objectMode: false }), decompressor, () => {});
  yield* decompressor as AsyncIterable<Buffer>;
}

/**
 * Bytes that fzstd gets in one go. It decompresses all of them before it returns, and four bytes can stand for 128 KiB: more
 * than this would let a file of a few kilobytes fill the memory.
 */
const ZSTD_PIECE_BYTES = 1_024;

async function* unzstd(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let ready: Buffer[] = [];
  const frames = new Decompress((data) => {
    if (data.length > 0) ready.push(Buffer.from(data.buffer, data.byteOffset, data.length));
  });
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += ZSTD_PIECE_BYTES) {
      frames.push(chunk.subarray(from, from + ZSTD_PIECE_BYTES));
      yield* ready;
      ready = [];
    }
  }
  frames.push(new Uint8Array(0), true);
  yield* ready;
}
