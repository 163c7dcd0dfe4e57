import { deflateSync } from "node:zlib";
import { expect, it } from "vitest";
import { decode, toPalette } from "./palette.js";

/** A PNG with RGB pixels, each row filtered by the difference to its left neighbour. */
function pngOf(rows: readonly (readonly number[])[]): Buffer {
  const chunk = (type: string, body: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    return Buffer.concat([length, Buffer.from(type), body, Buffer.alloc(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE((rows[0]?.length ?? 0) / 3, 0);
  head.writeUInt32BE(rows.length, 4);
  head.set([8, 2], 8);
  const filtered = rows.flatMap((row) => [1, ...row.map((byte, i) => byte - (row[i - 3] ?? 0))]);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.from(filtered))),
  ]);
}

it("undoes filters", () => {
  const rows = [
    [10, 20, 30, 40, 50, 60],
    [0, 255, 3, 200, 100, 7],
  ];
  const { width, height, pixels } = decode(pngOf(rows));
  expect([width, height]).toEqual([2, 2]);
  expect([...pixels]).toEqual(rows.flat());
});

it("gives a picture of many shades a palette, with every colour close to what it was", () => {
  const row = Array.from({ length: 3 * 1_000 }, (_, i) => (i * 7) % 256);
  const small = toPalette(pngOf([row, row]));
  expect(small.includes("PLTE")).toBe(true);
  // Colour type 3: palette.
  expect(small[25]).toBe(3);
  expect(small.length).toBeLessThan(row.length);
});
