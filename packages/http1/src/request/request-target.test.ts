// The canonical request target: tables of spellings, and the properties that matching and forwarding rest on.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRequestTarget } from "./request-target.js";

const KEPT = [
  "/",
  "/a",
  "/a/",
  "/a/b.c",
  "/a/..b",
  "/a/.b",
  "/a/b..",
  "/a;x=1/b",
  "/%20/%2B%25",
  "/a?b=/../c&d=%zz&e=\\",
  "/?",
  "/a,b:@!$&'()*+=~-_",
];

const MADE: readonly (readonly [string, string])[] = [
  ["//", "/"],
  ["//a///b//", "/a/b/"],
  ["/a/./b", "/a/b"],
  ["/a/../b", "/b"],
  ["/a/..", "/"],
  ["/a/.", "/a/"],
  ["/../../a", "/a"],
  ["/a//../b", "/b"],
  ["/a/%2e%2E/b", "/b"],
  ["/a/.%2e/b", "/b"],
  ["/%61%7e%2D", "/a~-"],
  ["/%e2%82%ac", "/%E2%82%AC"],
  ["/%252e%252e/b", "/%252e%252e/b"],
  ["/\u00e9", "/%E9"],
  ['/{a}|^`"<>[]', "/%7Ba%7D%7C%5E%60%22%3C%3E%5B%5D"],
  ["/a/../b?c/../d", "/b?c/../d"],
  ["http://example.com/a/../b?c", "/b?c"],
  ["HTTPS://example.com:8080", "/"],
  ["http://example.com?c", "/?c"],
  ["http://[::1]:80//a", "/a"],
];

const REFUSED = [
  "",
  "a",
  "*",
  "/%",
  "/%2",
  "/%zz",
  "/%0g",
  "/a%2fb",
  "/a%2Fb",
  "/a\\b",
  "/a%5cb",
  "/a%5Cb",
  "/%00",
  "/%0d%0a",
  "/%7f",
  "/a#b",
  "/a?b#c",
  "/a b",
  "/a?b c",
  "/a\0",
  "/a?\0",
  "/a?\r\n",
  "/a\tb",
  "/\u20ac",
  "/a?\u20ac",
  "/..;/admin",
  "/.;x/admin",
  "/%2e%2e;/admin",
  "/%c0%ae%c0%ae/",
  "/%e0%80%af",
  "/%f0%80%80%af",
  "http://",
  "http:///a",
  "http://user@example.com/",
  "http://example.com#a",
  "http://exa\\mple.com/",
  "ftp://example.com/",
  "example.com:443",
  "http:/a",
];

describe("readRequestTarget", () => {
  it.each(KEPT)("leaves %j as it is", (url) => {
    expect(readRequestTarget(url)?.target).toBe(url);
  });

  it.each(MADE)("makes %j into %j", (url, target) => {
    expect(readRequestTarget(url)?.target).toBe(target);
  });

  it.each(REFUSED)("refuses %j", (url) => {
    expect(readRequestTarget(url)).toBeUndefined();
  });

  it("yields the path without the query", () => {
    expect(readRequestTarget("//a?b=//c")).toEqual({ path: "/a", target: "/a?b=//c" });
  });

  it("takes * from OPTIONS alone", () => {
    expect(readRequestTarget("*", "OPTIONS")).toEqual({ path: "*", target: "*" });
    expect(readRequestTarget("*", "GET")).toBeUndefined();
  });

  it("refuses a whole URL that names another host than the Host field", () => {
    expect(readRequestTarget("http://Example.com:80/a", "GET", "example.com:80")?.path).toBe("/a");
    expect(readRequestTarget("http://example.com/a", "GET", "example.org")).toBeUndefined();
    expect(readRequestTarget("/a", "GET", "example.org")?.path).toBe("/a");
  });

  const piece = fc.constantFrom(
    ..."/ . % 2 e E f 5 c C 0 a b B ; ? \\ # { ~ é * + =".split(" "),
    "%2e",
    "%61",
    "%C3%A9",
    "/../",
    "//",
  );
  const url = fc.array(piece, { maxLength: 14 }).map((pieces) => `/${pieces.join("")}`);

  it("answers the same again when it reads what it answered", () => {
    fc.assert(
      fc.property(url, (written) => {
        const read = readRequestTarget(written);
        if (read !== undefined) expect(readRequestTarget(read.target)).toEqual(read);
      }),
      { numRuns: 5_000 },
    );
  });

  it("leaves nothing in a path that has a second meaning", () => {
    fc.assert(
      fc.property(url, (written) => {
        const path = readRequestTarget(written)?.path;
        if (path === undefined) return;
        expect(path).toMatch(/^\/(?:[\w.~!$&'()*+,;=:@/-]|%[\dA-F]{2})*$/);
        expect(path).not.toMatch(/\/\/|\/\.{1,2}(?:[/;]|$)|%2F|%5C|%00/);
      }),
      { numRuns: 5_000 },
    );
  });
});
