import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldCase, toHeaderValue, toLoginName, toValue } from "./text.js";

const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), fc.string());

describe("a value", () => {
  it("is a text or a number, trimmed and composed", () => {
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

  it("of a header is all its lines", () => {
    expect(toHeaderValue(["a", "b"])).toBe("a, b");
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
