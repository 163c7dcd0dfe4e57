// Makes a PNG smaller by giving it a palette of 256 colours: pictures of pages have few, and along their edges many
// that look alike. Takes what browsers write: 8 bits, RGB or RGBA, not interlaced.

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS_MAX = 256;
/** This many of the most frequent ones stay exactly as they are: backgrounds, lines, bars. */
const KEPT = 64;

interface Picture {
  readonly width: number;
  readonly height: number;
  /** Bytes of a pixel: 3 or 4. */
  readonly depth: number;
  readonly pixels: Buffer;
}

/** The same picture with a palette. */
export function toPalette(png: Buffer): Buffer {
  const picture = decode(png);
  const colours = popularColours(picture);
  const nearest = toNearest(colours);
  const { width, height, depth, pixels } = picture;
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      rows[y * (width + 1) + 1 + x] = nearest(colourAt(pixels, (y * width + x) * depth));
    }
  }
  const palette = Buffer.from(colours.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    toChunk("IHDR", head),
    toChunk("PLTE", palette),
    toChunk("IDAT", deflateSync(rows, { level: 9 })),
    toChunk("IEND", Buffer.alloc(0)),
  ]);
}

function toChunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** Reads a picture. */
export function decode(png: Buffer): Picture {
  if (!png.subarray(0, 8).equals(SIGNATURE)) throw new Error("not a PNG");
  const parts: Buffer[] = [];
  let head = Buffer.alloc(13);
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") head = Buffer.from(body);
    if (type === "IDAT") parts.push(body);
    at += 12 + length;
  }
  const [bits, kind, , , interlaced] = head.subarray(8);
  if (bits !== 8 || (kind !== 2 && kind !== 6) || interlaced !== 0)
    throw new Error(`a PNG of kind ${kind} with ${bits} bits`);
  const [width, height, depth] = [head.readUInt32BE(0), head.readUInt32BE(4), kind === 2 ? 3 : 4];
  return {
    width,
    height,
    depth,
    pixels: unfilter(inflateSync(Buffer.concat(parts)), width, depth),
  };
}

/** Undoes the filter of each row: differences to the pixel at the left, above, or both. */
function unfilter(data: Buffer, width: number, depth: number): Buffer {
  const stride = width * depth;
  const height = data.length / (stride + 1);
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)];
    for (let i = 0; i < stride; i++) {
      const at = y * stride + i;
      const left = i < depth ? 0 : pixels[at - depth];
      const up = y === 0 ? 0 : pixels[at - stride];
      const corner = i < depth || y === 0 ? 0 : pixels[at - stride - depth];
      pixels[at] = data[y * (stride + 1) + 1 + i] + predict(filter, left, up, corner);
    }
  }
  return pixels;
}

function predict(filter: number, left: number, up: number, corner: number): number {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) >> 1;
    case 4: {
      const sum = left + up - corner;
      const [a, b, c] = [Math.abs(sum - left), Math.abs(sum - up), Math.abs(sum - corner)];
      if (a <= b && a <= c) return left;
      return b <= c ? up : corner;
    }
    default:
      return 0;
  }
}

function colourAt(pixels: Buffer, at: number): number {
  return (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
}

/** The most frequent colours; of the rarer ones only those that are not too close to another. */
function popularColours({ width, height, depth, pixels }: Picture): number[] {
  const counts = new Map<number, number>();
  for (let i = 0; i < width * height; i++) {
    const colour = colourAt(pixels, i * depth);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1]).map(([colour]) => colour);
  if (sorted.length <= COLOURS_MAX) return sorted;
  for (let apart = 4; ; apart += 4) {
    const chosen = sorted.slice(0, KEPT);
    for (const colour of sorted.slice(KEPT)) {
      if (chosen.every((other) => distance(colour, other) >= apart)) chosen.push(colour);
      if (chosen.length > COLOURS_MAX) break;
    }
    if (chosen.length <= COLOURS_MAX) return chosen;
  }
}

function toNearest(colours: readonly number[]): (colour: number) => number {
  const known = new Map(colours.map((colour, index) => [colour, index]));
  return (colour) => {
    const found = known.get(colour);
    if (found !== undefined) return found;
    let best = 0;
    for (let i = 1; i < colours.length; i++)
      if (distance(colour, colours[i]) < distance(colour, colours[best])) best = i;
    known.set(colour, best);
    return best;
  };
}

/** The largest difference of red, green and blue. */
function distance(a: number, b: number): number {
  return Math.max(
    Math.abs((a >> 16) - (b >> 16)),
    Math.abs(((a >> 8) & 255) - ((b >> 8) & 255)),
    Math.abs((a & 255) - (b & 255)),
  );
}
