import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isMatch, toWildcard, type Wildcard } from "./wildcard.js";

function wildcardOf(name: string): Wildcard {
  const wildcard = toWildcard(name);
  if (wildcard === undefined) throw new Error(`${name} has no *`);
  return wildcard;
}

describe("a wildcard", () => {
  //  name            matches                                     and not
  it.each<[string, readonly string[], readonly string[]]>([
    ["bar*b", ["barb", "bar-b", "barabb", "bar*b"], ["bar", "ba-b", "barbc", "xbarb", ""]],
    [
      "foo*bar*baz",
      ["foobarbaz", "foo1bar2baz", "foobarbarbaz", "foobazbarbaz"],
      ["foobaz", "foobarba", "foobazbar", "foobabaz"],
    ],
    ["*.example.com", [".example.com", "a.b.example.com"], ["example.com", "a.example.com."]],
    ["/api/*", ["/api/", "/api/a/b"], ["/api", "/apis/a"]],
    ["a**b", ["ab", "a*b", "a--b"], ["a", "b", "ba"]],
    ["*", ["", "anything"], []],
    ["*mid*", ["mid", "a mid b"], ["mi", "m-id"]],
    ["aba*aba", ["abaaba", "aba-aba"], ["aba", "ababa"]],
    ["a*ab*b", ["aabb", "a-ab-b"], ["aab", "abb", "ab"]],
    ["a.c*x", ["a.cx"], ["abcx"]],
    ["*é*", ["café", "é"], ["cafe"]],
  ])("%s", (name, yes, no) => {
    const wildcard = wildcardOf(name);
    expect(yes.filter((text) => !isMatch(wildcard, text))).toEqual([]);
    expect(no.filter((text) => isMatch(wildcard, text))).toEqual([]);
  });

  it("needs a star", () => {
    expect([toWildcard("plain"), toWildcard("")]).toEqual([undefined, undefined]);
  });

  it("matches what it would match character by character", () => {
    const literal = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 24 });
    const name = fc.array(literal, { minLength: 2, maxLength: 5 }).map((parts) => parts.join("*"));
    const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 60 });
    // A string that fits, or nearly: the stars filled in, and perhaps a character taken away.
    const near = fc.tuple(name, fc.array(literal, { minLength: 5, maxLength: 5 }), fc.nat(80));
    fc.assert(
      fc.property(near, text, ([pattern, fillings, cut], other) => {
        let next = 0;
        const filled = pattern.replaceAll("*", () => fillings[next++]);
        for (const each of [filled, filled.slice(0, cut) + filled.slice(cut + 1), other]) {
          expect(isMatch(wildcardOf(pattern), each)).toBe(isMatchByTable(pattern, each));
        }
      }),
    );
  });

  //  Each of these takes seconds to days if a search goes back.
  it.each([
    ["many stars", `${"*a".repeat(2_000)}*b*`],
    ["a part that nearly fits everywhere", `*${"a".repeat(500)}b${"a".repeat(500)}*`],
    ["a short part that nearly fits everywhere", `*${"a".repeat(15)}b*`],
    ["a long part at the end", `*${"a".repeat(2_000)}*${"a".repeat(2_000)}b`],
  ])("takes time by the length of the text, with %s", (_, name) => {
    const wildcard = wildcardOf(name);
    const text = "a".repeat(65_536);
    const startMs = performance.now();
    for (let i = 0; i < 100; i++) expect(isMatch(wildcard, text)).toBe(false);
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });
});

/** The definition, in the time of both lengths together multiplied: which prefixes match which. */
function isMatchByTable(name: string, text: string): boolean {
  let row = [true, ...Array.from(text, () => false)];
  for (const character of name) {
    const next: boolean[] = [];
    for (let i = 0; i <= text.length; i++) {
      const hasStar = row[i] || (i > 0 && next[i - 1]);
      next.push(character === "*" ? hasStar : i > 0 && row[i - 1] && text[i - 1] === character);
    }
    row = next;
  }
  return row[text.length];
}
