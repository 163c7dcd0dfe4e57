import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  foldCase,
  NORMALISED_LENGTH_MAX,
  toHeaderValue,
  toLoginName,
  toValue,
} from "./normalize-string.js";

const short = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), fc.string());
// Also around the length beyond which nothing is normalised, on either side of it.
const padded = fc
  .tuple(short, fc.constantFrom("e\u0301", "\ufdfa", "\u0390", "A"), fc.nat(20))
  .map(([end, piece, less]) => piece.repeat(NORMALISED_LENGTH_MAX / piece.length - less) + end);
const marked = fc
  .tuple(fc.constantFrom("\u0301", "\u0344", "\uff9e"), fc.integer({ min: 25, max: 35 }), short)
  .map(([mark, count, end]) => `e\u0323${mark.repeat(count)}${end}`);
const text = fc.oneof({ arbitrary: short, weight: 8 }, padded, marked);

describe("a value", () => {
  it("is a string or a number, trimmed and composed", () => {
    expect(toValue(" 42\t")).toBe("42");
    expect(toValue(42)).toBe("42");
    expect(toValue(42n)).toBe("42");
    expect(toValue(-0)).toBe("0");
    expect(toValue("cafe\u0301")).toBe("café");
    expect(toValue("a b")).toBe("a b");
    expect(toValue("Ab")).toBe("Ab");
  });

  it.each([
    "",
    " ",
    "\u00a0\ufeff",
    undefined,
    null,
    true,
    {},
    ["a"],
    Number.NaN,
    Infinity,
    () => 1,
  ])("is missing where %j is", (nothing) => {
    expect(toValue(nothing)).toBeUndefined();
    expect(toLoginName(nothing)).toBeUndefined();
  });

  it("of a header is that of all its lines, and missing if they differ", () => {
    expect(toHeaderValue(["a", "b"])).toBeUndefined();
    expect(toHeaderValue(["a", ""])).toBeUndefined();
    expect(toHeaderValue(["a", " a "])).toBe("a");
    expect(toHeaderValue([])).toBeUndefined();
    expect(toHeaderValue("a, b")).toBe("a, b");
  });
});

describe("a login name", () => {
  it.each([
    "bob@example.com",
    "BOB@example.com",
    " Bob@Example.COM ",
    "ｂｏｂ@example.com",
    "bob\u200b@example.com",
    "b\u00adob@example.com",
    "𝐛𝐨𝐛@example.com",
    "bob@example.com\u0000".replace("\u0000", "\u2060"),
  ])("written %j is bob@example.com", (name) => {
    expect(toLoginName(name)).toBe("bob@example.com");
  });

  it("has no case, not even where a letter has two small forms", () => {
    expect(toLoginName("ΟΔΟΣ")).toBe(toLoginName("οδοσ"));
    expect(toLoginName("STRASSE")).toBe(toLoginName("straße"));
  });

  it("that is another stays another", () => {
    expect(toLoginName("bob")).not.toBe(toLoginName("b0b"));
    expect(toLoginName("bob")).not.toBe(toLoginName("b ob"));
    expect(toLoginName("jose")).not.toBe(toLoginName("josé"));
  });
});

describe("a long string", () => {
  const long = "é".repeat(NORMALISED_LENGTH_MAX + 1);

  it("of 256 characters is the same however they are written", () => {
    for (const letter of ["é", "ᾧ", "\u1112\u1161\u11ab", "K", "\u{1d400}\u0323"]) {
      const written = letter.normalize("NFC").repeat(256);
      expect(toValue(written.normalize("NFD"))).toBe(toValue(written));
      expect(toLoginName(written.normalize("NFD").toUpperCase())).toBe(toLoginName(written));
      expect(foldCase(written.normalize("NFD"))).toBe(foldCase(written));
    }
  });

  it("is not normalised beyond the length of a name, and never equals one", () => {
    expect(toValue(long.normalize("NFD"))).toBe(long.normalize("NFD"));
    expect(toLoginName(`É${long}`)).toBe(`É${long}`);
    const marks = `e${"\u0301".repeat(20)}${"\u0323".repeat(20)}`;
    expect(toValue(marks)).toBe(marks);
    expect(foldCase(marks)).toBe(marks);
  });

  it("of ASCII has no case, however long it is", () => {
    expect(toLoginName("AbC".repeat(5_000))).toBe("abc".repeat(5_000));
    expect(foldCase("AbC".repeat(5_000))).toBe("abc".repeat(5_000));
  });

  it("that is a name with padding is that name", () => {
    for (const padding of [" ", "\u200b", "\u00ad ", "\u2060\u3000"]) {
      const many = padding.repeat(NORMALISED_LENGTH_MAX);
      expect(toLoginName(`${many}JOS\u00c9${many}`)).toBe("josé");
      expect(toLoginName(`jo${many.trim().replaceAll(/\s/g, "")}se\u0301`)).toBe("josé");
    }
    const blanks = " ".repeat(5_000);
    expect(toValue(`${blanks}e\u0301${blanks}`)).toBe("é");
  });
});

describe("every normal form", () => {
  it.each([
    ["toValue", (value: string) => toValue(value) ?? ""],
    ["toLoginName", (value: string) => toLoginName(value) ?? ""],
    ["foldCase", foldCase],
  ] as const)("of %s is its own normal form", (_, normalise) => {
    fc.assert(
      fc.property(text, (value) => {
        const normal = normalise(value);
        expect(normalise(normal)).toBe(normal);
      }),
      { numRuns: 5_000 },
    );
    for (let point = 0; point <= 0x10ffff; point++) {
      const normal = normalise(String.fromCodePoint(point));
      if (normalise(normal) !== normal) expect(normalise(normal)).toBe(normal);
    }
  });
});
