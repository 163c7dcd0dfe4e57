import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPath } from "./normalize-path.js";
import { fitsPattern, toPattern } from "./path-pattern.js";
import { PATH_VARIANTS_MAX, PATTERN_SEGMENTS_MAX } from "./path-variants.js";

function fits(pattern: string, target: string): boolean {
  const { segments, others } = readPath(target);
  return [segments, ...others].some((variant) => fitsPattern(toPattern(pattern), variant));
}

describe("a path that servers differ about", () => {
  // What some server routes to a handler, as test/http/paths.test.ts finds out.
  it.each([
    ["/users/:id", "/users/1\\x"],
    ["/users/:id", "/users/\\"],
    ["/users/:id", "/users/1\\x/"],
    ["/a/:x/b", "/a/1\\2/b"],
    ["/a/:x/b", "/a\\1\\b"],
    ["/users/:id", "/users/;x"],
    ["/a/:x/b", "/a/;x/b"],
    ["/a%3Bb/c", "/a;b/c"],
    ["/users/:id", "/users/1;x/any/thing"],
    ["/users/:id", "/users/"],
    ["/users/:id", "/users//"],
    ["/users/:id", "/users/?x"],
    ["/a/:x/b", "/a//b"],
    ["/a/:x/b", "/a//b/"],
    ["/:t/deep", "//deep"],
    ["/:any", "/"],
    ["/users/:id", "/users/#1"],
    ["/users/:id", "/users/1#/x"],
    ["/users/1%23", "/users/1#"],
    ["/login", "//host/login"],
    ["/login", "///host/login"],
    ["/login", "/\\host\\login"],
    ["/login", "http:///host/login"],
    ["/login", "http://host?x/login"],
    ["/login", "*login"],
    ["/api/login", "/api//../login"],
    ["/api/:x", "/api/login/x\\y/../.."],
  ])("%s is also about %s", (pattern, target) => {
    expect(fits(pattern, target)).toBe(true);
  });

  it.each([
    ["/users/:id", "/users"],
    ["/users/:id", "/users/1/x"],
    ["/users/:id", "/users/1/x\\y"],
    ["/login", "/log\\in"],
    ["/login", "/x;/login"],
    ["/login", "/x#/login"],
    ["/login", "/x?/login"],
  ])("%s is not about %s", (pattern, target) => {
    expect(fits(pattern, target)).toBe(false);
  });

  it("has one variant where servers agree", () => {
    for (const target of ["/a", "/a/B%20c/é", "/a?x//y", "http://example.com/a/b", "/a.b/c.."]) {
      expect(readPath(target).others).toEqual([]);
    }
  });

  it("has no variant twice, none deeper than patterns, and not more than the bound", () => {
    const part = fc.constantFrom(..."/ \\ ; # ? . .. %2e a B é x:// * :".split(" "));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 80 }), (parts) => {
        const { others } = readPath(parts.join(""));
        const texts = new Set(others.map((segments) => JSON.stringify(segments)));
        expect(texts.size).toBe(others.length);
        expect(others.length).toBeLessThanOrEqual(PATH_VARIANTS_MAX);
        for (const segments of others) {
          expect(segments.length).toBeLessThanOrEqual(PATTERN_SEGMENTS_MAX + 1);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
