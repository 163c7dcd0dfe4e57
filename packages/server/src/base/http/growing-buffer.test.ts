import { memoryInUse } from "sluice-test-servers";
import { expect, it } from "vitest";
import { GrowingBuffer } from "./growing-buffer.js";

it("joins pieces of any size, empty ones too", () => {
  const buffer = new GrowingBuffer();
  expect([buffer.length, buffer.capacity]).toEqual([0, 0]);
  const pieces = [0, 1, 511, 1, 0, 10_000, 3].map((size, i) => Buffer.alloc(size, i));
  for (const piece of pieces) buffer.add(piece);
  expect(buffer.bytes.equals(Buffer.concat(pieces))).toBe(true);
  expect(buffer.length).toBe(10_516);
});

it("takes at most twice the memory of what it holds, however small the pieces", () => {
  const before = memoryInUse();
  const buffers = Array.from({ length: 24 }, () => new GrowingBuffer());
  for (let i = 0; i < 65_536; i++) {
    // Each a part of something larger, as a frame is of what was read.
    const piece = Buffer.alloc(10, i).subarray(9);
    for (const buffer of buffers) buffer.add(piece);
  }
  const heldBytes = buffers.reduce((sum, { length }) => sum + length, 0);
  expect(heldBytes).toBe(24 * 65_536);
  expect(memoryInUse() - before).toBeLessThan(2.5 * heldBytes);
});
