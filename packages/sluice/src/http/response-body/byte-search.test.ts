import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteSearch } from "./byte-search.js";

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe("ByteSearch", () => {
  it("finds what indexOf finds, between two places, in short and long pieces", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "\\"), maxLength: 60 });
    const needle = fc.string({
      unit: fc.constantFrom("a", "b", "\\"),
      minLength: 1,
      maxLength: 5,
    });
    const times = fc.constantFrom(1, 100);
    fc.assert(
      fc.property(letters, times, needle, fc.nat(), fc.nat(), (text, count, wanted, a, b) => {
        const all = text.repeat(count);
        const [from, to] = [a % (all.length + 1), b % (all.length + 1)].sort((x, y) => x - y);
        const found = all.slice(from, to).indexOf(wanted);
        const expected = found < 0 ? Number.POSITIVE_INFINITY : from + found;
        for (const isRare of [false, true]) {
          const search = new ByteSearch(bytesOf(wanted), isRare);
          expect(search.find(bytesOf(all), from, to)).toBe(expected);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
