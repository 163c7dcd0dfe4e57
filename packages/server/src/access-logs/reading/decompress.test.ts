import { describe, expect, it } from "vitest";
import { decompress } from "./decompress.js";

const BLOCK_BYTES = 128 * 1024;
const BLOCKS = 4_096;
/** The end of the XXH64 of the blocks below, which Node.js checks from 22.15 on. */
const CHECKSUM = Buffer.from([0xfc, 0x9e, 0x1d, 0xb9]);

/** A frame of zstd in which every block is four bytes that stand for 128 KiB of one character. */
function zstdBomb(blockCount = BLOCKS): Buffer {
  // The magic number, no optional fields, and a window of 128 KiB.
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]);
  const blocks = Buffer.alloc(4 * blockCount);
  for (let at = 0; at < blockCount; at++) {
    const isLast = at === blockCount - 1 ? 1 : 0;
    blocks.writeUIntLE((BLOCK_BYTES << 3) | (1 << 1) | isLast, 4 * at, 3);
    blocks[4 * at + 3] = 0x78;
  }
  return Buffer.concat([head, blocks]);
}

async function* inOneChunk(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

describe("decompressing zstd", () => {
  it("holds a small part of what a chunk stands for", async () => {
    const before = process.memoryUsage().arrayBuffers;
    const pieces = decompress(inOneChunk(zstdBomb()));
    const first = await pieces.next();
    expect(first.value?.[0]).toBe(0x78);
    // The whole of it is 512 MiB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(128 * 1024 * 1024);
    await pieces.return(undefined);
  });

  it.each([1, 100, 1_000_000])(
    "joins the blocks of a frame, whose checksum follows, in chunks of %d bytes",
    async (chunkBytes) => {
      const blocks = Array.from({ length: 40 }, (_, at) => Buffer.from(`line ${at}\n`.repeat(9)));
      const frame = Buffer.concat([
        // The magic number, a checksum and a window of 128 KiB.
        Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x38]),
        ...blocks.flatMap((block, at) => {
          const head = Buffer.alloc(3);
          head.writeUIntLE((block.length << 3) | (at === blocks.length - 1 ? 1 : 0), 0, 3);
          return [head, block];
        }),
        CHECKSUM,
      ]);
      async function* inChunks() {
        for (const bytes of [frame, frame])
          for (let at = 0; at < bytes.length; at += chunkBytes)
            yield bytes.subarray(at, at + chunkBytes);
      }
      const parts: Buffer[] = [];
      for await (const piece of decompress(inChunks())) parts.push(Buffer.from(piece));
      expect(Buffer.concat(parts)).toEqual(Buffer.concat([...blocks, ...blocks]));
    },
  );

  it("gives every byte of it", async () => {
    let bytes = 0;
    for await (const piece of decompress(inOneChunk(zstdBomb()))) bytes += piece.length;
    expect(bytes).toBe(BLOCKS * BLOCK_BYTES);
  });

  it.each([
    ["by its window", [0x00, 0xa8]],
    ["by its length", [0xe0, 0, 0, 0, 0x80, 0, 0, 0, 0]],
  ])("refuses a frame that needs 2 GB of memory %s, also behind others", async (_, header) => {
    const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, ...header, 1, 0, 0]);
    const skipped = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7]);
    const before = process.memoryUsage().arrayBuffers;
    for (const bytes of [frame, Buffer.concat([zstdBomb(2), skipped, frame])]) {
      const reading = (async () => {
        for await (const piece of decompress(inOneChunk(bytes))) piece.fill(0);
      })();
      await expect(reading).rejects.toThrow(
        /a zstd window of 2048 MB is larger than 128 MB: compress the log without --long/,
      );
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
  });
});
