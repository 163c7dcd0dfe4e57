import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCookies } from "./cookies.js";
import { toVariableSpelling } from "./spelling.js";

describe("cookies", () => {
  it.each<[string | string[], Record<string, string>]>([
    ["a=1", { a: "1" }],
    ["a=1; b=2;c=3", { a: "1", b: "2", c: "3" }],
    [" a = 1 ; b=", { a: "1", b: "" }],
    ["a=1; a=2", {}],
    ["a=1; a=2; a=1", {}],
    ["a=1; b=2; a=; a=1", { b: "2" }],
    [["a=1", "a=2"], {}],
    ['a=1; a="1"; a=%31', { a: "1" }],
    ["a=1; A=2", {}],
    ["a=1; A=1; b=2", { a: "1", A: "1", b: "2" }],
    ["my_id=1; my.id=2; b=3", { b: "3" }],
    ["my_id=1; my id=2", {}],
    ["my[id=2; my_id=1", {}],
    ["a[x]=1; a[y]=2", { "a[x]": "1", "a[y]": "2" }],
    ['a="1"', { a: "1" }],
    ['a="', { a: '"' }],
    ["a=%61b%3B", { a: "ab;" }],
    ["a=%zz", { a: "%zz" }],
    ["a=%61%zz", { a: "%61%zz" }],
    ["a=b=c", { a: "b=c" }],
    ["a; =1; b=2", { b: "2" }],
    ["a=1; =a=2; b=2", { b: "2" }],
    ["a=1; = =a=1", { a: "1" }],
    [["a=1", "b=2"], { a: "1", b: "2" }],
    ["", {}],
    [";;;", {}],
  ])("of %j are %j", (lines, cookies) => {
    expect({ ...parseCookies(lines) }).toEqual(cookies);
  });

  it("are none where there is no header", () => {
    expect(parseCookies(undefined)).toBeUndefined();
  });

  it("know no special names", () => {
    const cookies = parseCookies("__proto__=a; constructor=b");
    expect(Object.entries(cookies ?? {})).toEqual([
      ["__proto__", "a"],
      ["constructor", "b"],
    ]);
    expect(parseCookies("a=1")?.toString).toBeUndefined();
    expect(Object.prototype).not.toHaveProperty("a");
  });

  it("are not read out of a header that is too long", () => {
    expect({ ...parseCookies(`a=1; b=${"x".repeat(20_000)}`) }).toEqual({});
  });

  it("come back as they were written", () => {
    const name = fc.stringMatching(/^[!#$%&'*+.^_`|~\w-]+$/);
    fc.assert(
      fc.property(fc.dictionary(name, fc.string({ unit: "grapheme" })), (cookies) => {
        const spellings = Object.keys(cookies).map(toVariableSpelling);
        fc.pre(new Set(spellings).size === spellings.length);
        const text = Object.entries(cookies).map(([k, v]) => `${k}=${encodeURIComponent(v)}`);
        expect({ ...parseCookies(text.join("; ")) }).toEqual({ ...cookies });
      }),
    );
  });
});
