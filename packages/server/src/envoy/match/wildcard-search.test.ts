import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { descriptor, limiterOf } from "../../../test/envoy-harness.js";
import { isMatch, toWildcard, type Wildcard } from "./wildcard.js";
import { WildcardSearch } from "./wildcard-search.js";

function wildcardsOf(names: readonly string[]): Wildcard[] {
  return names.map((name) => toWildcard(name)).filter((found) => found !== undefined);
}

/** Longer than what is searched one by one. */
const LONG = 600;
const literal = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 6 });
const name = fc.array(literal, { minLength: 2, maxLength: 6 }).map((parts) => parts.join("*"));

describe("the search for the first of many wildcards", () => {
  it("finds what trying one after the other finds, in long values as in short ones", () => {
    const names = fc.array(name, { minLength: 9, maxLength: 40 });
    // Runs of one letter, in which long parts are rare.
    const runs = fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.nat(300)), { maxLength: 8 });
    const noise = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 30 });
    const value = fc
      .tuple(noise, runs, noise)
      .map(([head, pairs, tail]) => head + pairs.map(([c, n]) => c.repeat(n)).join("") + tail);
    let long = 0;
    fc.assert(
      fc.property(names, fc.array(value, { minLength: 1, maxLength: 5 }), (given, values) => {
        const wildcards = wildcardsOf(given);
        const search = new WildcardSearch(wildcards);
        for (const each of values) {
          if (each.length > LONG) long++;
          expect(search.find(each)).toBe(wildcards.findIndex((one) => isMatch(one, each)));
        }
      }),
      { numRuns: 2_000 },
    );
    expect(long).toBeGreaterThan(500);
  });

  it("takes one part for several wildcards, also one that is inside another", () => {
    const names = ["x*abc*abc*", "x*abcd*z", "x*bc*cd*y", "x*c*y", "x*bcd*", "*q*1*", "*q*2*"];
    const search = new WildcardSearch(wildcardsOf([...names, "*q*3*", "*q*4*"]));
    const filler = "-".repeat(LONG);
    expect(search.find(`x${filler}abcd${filler}y`)).toBe(3);
    expect(search.find(`x${filler}abcd${filler}z`)).toBe(1);
    expect(search.find(`x${filler}abcabc`)).toBe(0);
    expect(search.find(`x${filler}bcdcdy`)).toBe(2);
    expect(search.find(`x${filler}bcd`)).toBe(4);
    expect(search.find(`${filler}q4`)).toBe(8);
    expect(search.find(`${filler}4q`)).toBe(-1);
  });

  it.each<[string, (i: number) => string, string]>([
    ["that nearly fit everywhere", (i) => `*${"a".repeat(15)}${i}*`, "a"],
    ["of many stars", (i) => `${"*a*aa".repeat(10)}*${i}*`, "a"],
    ["that are looked for in turns", (i) => `*ab*ba*${i}*`, "ab"],
  ])("reads a value of 64 KiB once for 2,000 wildcards %s", async (_, nameOf, piece) => {
    const descriptors = Array.from(
      { length: 2_000 },
      (__, i) =>
        `  - { key: path, value: "${nameOf(i)}", rate_limit: { unit: hour, requests_per_unit: 1 } }`,
    );
    const limiter = limiterOf(`domain: web\ndescriptors:\n${descriptors.join("\n")}\n`);
    const value = piece.repeat(65_536 / piece.length);
    const request = { domain: "web", descriptors: [descriptor({ path: value })], hits: 1 };
    await limiter.decide(request);
    const startMs = performance.now();
    for (let i = 0; i < 10; i++) await limiter.decide(request);
    // Some 5 ms each; one by one, a second and more.
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });
});
