// The fingerprint against an independent HalfSipHash on bytes and BigInt, which is itself held
// against the published vectors of HalfSipHash-2-4.

import { describe, expect, it } from "vitest";
import { KeyHash } from "./hash.js";

const MASK = 0xffffffffn;

function rotate(x: bigint, bits: bigint): bigint {
  return ((x << bits) | (x >> (32n - bits))) & MASK;
}

function round(v: bigint[]): void {
  v[0] = (v[0] + v[1]) & MASK;
  v[1] = rotate(v[1], 5n) ^ v[0];
  v[0] = rotate(v[0], 16n);
  v[2] = (v[2] + v[3]) & MASK;
  v[3] = rotate(v[3], 8n) ^ v[2];
  v[0] = (v[0] + v[3]) & MASK;
  v[3] = rotate(v[3], 7n) ^ v[0];
  v[2] = (v[2] + v[1]) & MASK;
  v[1] = rotate(v[1], 13n) ^ v[2];
  v[2] = rotate(v[2], 16n);
}

interface Rounds {
  compress: number;
  finish: number;
}

/** HalfSipHash with a 64-bit result, on bytes: [low word, high word]. */
function halfSipHash(bytes: number[], seed: [bigint, bigint], rounds: Rounds): [bigint, bigint] {
  const v = [seed[0], seed[1] ^ 0xeen, 0x6c796765n ^ seed[0], 0x74656462n ^ seed[1]];
  const run = (times: number) => {
    for (let i = 0; i < times; i++) round(v);
  };
  const padded = [...bytes, ...Array<number>(3 - (bytes.length % 4)).fill(0), bytes.length & 0xff];
  for (let i = 0; i < padded.length; i += 4) {
    const word = padded.slice(i, i + 4).reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
    v[3] ^= word;
    run(rounds.compress);
    v[0] ^= word;
  }
  v[2] ^= 0xeen;
  run(rounds.finish);
  const low = v[1] ^ v[3];
  v[1] ^= 0xddn;
  run(rounds.finish);
  return [low, v[1] ^ v[3]];
}

// Key 00…07, input 00 01 02 … of growing length.
const VECTORS_2_4 = [
  "218d1f59b9b83cc8",
  "be552412f8387315",
  "064f39ef7c50eb57",
  "ce0f1a45f7060679",
  "d5e78a175be52ea1",
  "cb9d7c3f2f3db580",
  "ce3e91358aa2bc25",
  "ff202728b07bc684",
];

function toHex([low, high]: [bigint, bigint]): string {
  const bytes = [low, high].flatMap((word) => [0n, 8n, 16n, 24n].map((s) => (word >> s) & 0xffn));
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fingerprint(hash: KeyHash, text: string): string {
  hash.hash(text);
  return `${hash.low >>> 0}/${hash.high >>> 0}`;
}

describe("KeyHash", () => {
  it.each(VECTORS_2_4.map((hex, length) => ({ hex, length })))(
    "is held against an oracle that gives the published vector of $length bytes",
    ({ hex, length }) => {
      const bytes = Array.from({ length }, (_, i) => i);
      const seed: [bigint, bigint] = [0x03020100n, 0x07060504n];
      expect(toHex(halfSipHash(bytes, seed, { compress: 2, finish: 4 }))).toBe(hex);
    },
  );

  it("is HalfSipHash-1-3 for every Latin-1 string up to 300 characters", () => {
    const hash = new KeyHash({ low: 0x12345678, high: 0x9abcdef0 });
    for (let length = 0; length <= 300; length++) {
      const bytes = Array.from({ length }, (_, i) => (i * 37 + length * 11) & 0xff);
      const expected = halfSipHash(bytes, [0x12345678n, 0x9abcdef0n], { compress: 1, finish: 3 });
      expect(fingerprint(hash, String.fromCharCode(...bytes))).toBe(expected.join("/"));
    }
  });

  it("distinguishes strings that differ in length, white space, case, Unicode form or width", () => {
    const hash = new KeyHash({ low: 7, high: 9 });
    const texts = ["a", "a\0", "a\0\0", "a\0\0\0", "A", " a", "a ", "é", "e\u0301", "\u00e9\0"];
    const wide = [
      "\u0100",
      "\u0100\0",
      "\u0100\0\0",
      "\0\u0100",
      "\ud800",
      "\udc00",
      "\ud800\udc00",
    ];
    const packed = ["\u6261", "ab", "b\u0261", "\u0001\u0100"];
    const all = [...texts, ...wide, ...packed];
    expect(new Set(all.map((text) => fingerprint(hash, text))).size).toBe(new Set(all).size);
  });

  it("gives other fingerprints under another seed", () => {
    const one = new KeyHash({ low: 1, high: 2 });
    const other = new KeyHash({ low: 1, high: 3 });
    expect(fingerprint(one, "user:42")).not.toBe(fingerprint(other, "user:42"));
  });

  it("has no collision in a million keys", () => {
    const hash = new KeyHash({ low: 3, high: 4 });
    const seen = new Set<number>();
    for (let i = 0; i < 1_000_000; i++) {
      hash.hash(`user:${i}`);
      seen.add((hash.high >>> 0) * 2 ** 21 + (hash.low >>> 11));
    }
    expect(seen.size).toBe(1_000_000);
  });
});
