import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeSearch, NameSearch } from "./byte-search.js";

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** The same by `indexOf`. */
function indexIn(text: string, wanted: string, from: number, to: number): number {
  const found = text.slice(from, to).indexOf(wanted);
  return found < 0 ? Number.POSITIVE_INFINITY : from + found;
}

/** A string of few characters, short or long, and two places in it. */
const textOf = (...unit: readonly string[]) =>
  fc
    .tuple(
      fc.string({ unit: fc.constantFrom(...unit), maxLength: 60 }),
      fc.constantFrom(1, 100),
      fc.nat(),
      fc.nat(),
    )
    .map(([text, count, a, b]) => {
      const all = text.repeat(count);
      const [from, to] = [a, b].map((at) => at % (all.length + 1)).sort((x, y) => x - y);
      return { all, from, to };
    });

describe("searches of bytes", () => {
  it("find a name where indexOf finds it, between two places", () => {
    const name = fc.string({ unit: fc.constantFrom("a", "b", '"'), minLength: 2, maxLength: 9 });
    fc.assert(
      fc.property(textOf("a", "b", '"', "!"), name, ({ all, from, to }, wanted) => {
        const found = new NameSearch(bytesOf(wanted)).find(bytesOf(all), from, to);
        expect(found).toBe(indexIn(all, wanted, from, to));
      }),
      { numRuns: 2_000 },
    );
  });

  it("find an escape where indexOf finds it, in short and long pieces", () => {
    fc.assert(
      fc.property(textOf("\\", "u", "0", "0", "x"), ({ all, from, to }) => {
        const found = escapeSearch.find(bytesOf(all), from, to);
        expect(found).toBe(indexIn(all, "\\u00", from, to));
      }),
      { numRuns: 2_000 },
    );
  });
});
