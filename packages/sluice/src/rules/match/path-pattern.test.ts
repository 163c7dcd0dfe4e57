import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toPathSegments } from "./normalize-path.js";
import { fillPattern, fitsPattern, toPathText, toPattern } from "./path-pattern.js";

describe("a path pattern", () => {
  it("has one form, however it is written", () => {
    for (const written of ["/Users/:id/", "//users//:id", "/%75sers/:id"]) {
      expect(toPattern(written).text).toBe("/users/:id");
    }
    expect(toPattern("/").text).toBe("/");
    expect(toPattern("/*").text).toBe("/*");
    expect(toPattern("/a%2Fb/%3Ac/50%25/x%3Fy").text).toBe("/a%2Fb/%3Ac/50%25/x%3Fy");
  });

  it("read from its own text is the same", () => {
    const segment = fc.oneof(
      fc.constantFrom("*", ":id"),
      fc.string({ unit: "grapheme" }).map(encodeURIComponent),
    );
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 6 }), (segments) => {
        const written = `/${segments.map((each) => each.replaceAll("*", (s) => (each === "*" ? s : "%2A"))).join("/")}`;
        if (/(^|\/)\.\.?(\/|$)/.test(written)) return;
        const pattern = toPattern(written);
        expect(toPattern(pattern.text)).toEqual(pattern);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["users", "must be a string that starts with /"],
    ["", "must be a string that starts with /"],
    [42, "must be a string that starts with /"],
    ["/users?x", "can't contain ? # ; or \\"],
    ["/a\\b", "can't contain ? # ; or \\"],
    ["/users/a*", 'has "a*"'],
    ["/users/**", 'has "**"'],
    ["/v1/docs:get", "%3A or %2A where : or * is meant"],
    ["/users/:", 'has ":"'],
    ["/users/:a.b", 'has ":a.b"'],
    ["/a/../b", "can't contain . or .."],
    ["/a/%2e/b", "can't contain . or .."],
    [`/${"a/".repeat(33)}`, "more than 32 segments"],
  ])("is not %j", (written, why) => {
    expect(() => toPattern(written as string)).toThrow(why);
  });

  it.each([
    ["/users/:id", "/users/42", true],
    ["/users/:id", "/users", false],
    ["/users/:id", "/users/42/x", false],
    ["/users/*/posts", "/users/42/posts", true],
    ["/users/*", "/users", true],
    ["/users/*", "/users/a/b/c", true],
    ["/users/*", "/user", false],
    ["/", "/", true],
    ["/", "/x", false],
    ["/*", "/", true],
    ["/a%2Fb", "/a%2fb", true],
    ["/a%2Fb", "/a/b", false],
  ])("%s fits %s: %s", (pattern, path, fits) => {
    expect(fitsPattern(toPattern(pattern), toPathSegments(path))).toBe(fits);
  });

  it("keeps the names of parameters and fills in each *", () => {
    const fill = (pattern: string, path: string) =>
      fillPattern(toPattern(pattern), toPathSegments(path));
    expect(fill("/users/:id", "/uSers/42")).toBe("/users/:id");
    expect(fill("/users/*/:post", "/users/42/7")).toBe("/users/42/:post");
    expect(fill("/files/*", "/files/a/b%2Fc")).toBe("/files/a/b%2Fc");
    expect(fill("/files/*", "/files")).toBe("/files");
    expect(fill("/*", "/")).toBe("/");
    expect(fill("/*", "/:id/*")).toBe("/%3Aid/%2A");
  });

  it("has a form for every path, and no two paths share one", () => {
    const segments = fc.array(fc.string({ unit: "binary", minLength: 1 }), { maxLength: 4 });
    fc.assert(
      fc.property(segments, segments, (a, b) => {
        expect(toPathText(a) === toPathText(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
    expect(toPathText(["a/b", "c"])).not.toBe(toPathText(["a", "b/c"]));
    expect(toPathText(["\ud800"])).not.toBe(toPathText(["\ud801"]));
  });
});
