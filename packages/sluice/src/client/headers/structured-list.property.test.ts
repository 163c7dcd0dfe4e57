import fc from "fast-check";
import { parseList as parseByOracle } from "structured-headers";
import { describe, expect, it } from "vitest";
import { parseList } from "./structured-list.js";

/** Pieces of which most fields are nearly valid. */
const piece = fc.constantFrom(
  ...['"', "a", "A", "*", "1", "-", ".", "0", ";", "=", ",", " ", "\t", ":", "?", "@", "%", "\\"],
  ...['"a"', ";r=1", ";t=60", ", ", "?1", ":AQ==:", "1.5", "999999999999999", "é", "\n", "(", ")"],
);
const field = fc.array(piece, { maxLength: 12 }).map((parts) => parts.join(""));

describe("parseList", () => {
  it("agrees with structured-headers on what is valid, and on all values", () => {
    fc.assert(
      fc.property(fc.oneof(field, fc.string({ maxLength: 30 })), (text) => {
        const expected = toExpected(text);
        if (expected !== "not compared") expect(toPlain(text)).toEqual(expected);
      }),
      { numRuns: 5_000 },
    );
  });
});

function toPlain(text: string): unknown {
  return parseList(text)?.map(({ value, parameters }) => [
    plain(value),
    [...parameters].map(([key, each]) => [key, plain(each)]),
  ]);
}

/**
 * What the oracle says. It takes inner lists, which the RateLimit fields don't have, and refuses a date that anything
 * follows, against RFC 9651: "@0;a".
 */
function toExpected(text: string): unknown {
  if (text.includes("(") || text.includes("@")) return "not compared";
  try {
    return parseByOracle(text).map(([value, parameters]) => [
      plain(value),
      [...parameters].map(([key, each]) => [key, plain(each)]),
    ]);
  } catch {
    return undefined;
  }
}

/** Values of both parsers in one form: -0 is 0. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value];
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  if (value instanceof Date) return value.getTime() / 1_000;
  if (typeof value === "number") return value + 0;
  if (typeof value === "boolean" || typeof value === "string") return value;
  return String(value);
}
