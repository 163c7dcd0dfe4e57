import { describe, expect, it } from "vitest";
import { toHost, toWildcards } from "./host.js";

describe("a host", () => {
  it.each([
    ["api.example.com", "api.example.com"],
    ["API.Example.COM", "api.example.com"],
    ["api.example.com:443", "api.example.com"],
    ["api.example.com.", "api.example.com"],
    ["api.example.com.:8080", "api.example.com"],
    [" api.example.com ", "api.example.com"],
    ["api.example.com:", "api.example.com"],
    ["[2001:DB8::1]:80", "[2001:db8::1]"],
    ["", undefined],
    [".", undefined],
    [":80", undefined],
    [undefined, undefined],
  ])("%j is %j", (host, normal) => {
    expect(toHost(host)).toBe(normal);
  });

  it("is covered by what ends in one of its dots", () => {
    expect(toWildcards("a.b.example.com")).toEqual(["*.b.example.com", "*.example.com", "*.com"]);
    expect(toWildcards("localhost")).toEqual([]);
    expect(toWildcards(undefined)).toEqual([]);
  });

  it("of any length is covered by a bounded number of patterns, the shortest ones", () => {
    const wildcards = toWildcards(`${"a.".repeat(30_000)}example.com`);
    expect(wildcards.length).toBeLessThan(128);
    expect(wildcards.slice(-2)).toEqual(["*.example.com", "*.com"]);
  });
});
