import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fixedWindow } from "../../limits/limits.js";
import { parseRules } from "../../rules/parse/parse.js";
import { toRuleId } from "./rule-id.js";

describe("toRuleId", () => {
  it("is an id for any string, and the string itself where that is one", () => {
    const limit = fixedWindow({ limit: 1, windowMs: 1_000 });
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 200, unit: "binary" }), (text) => {
        const id = toRuleId(text);
        expect(id).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
        expect(toRuleId(id)).toBe(id);
      }),
    );
    for (const id of ["CatsController.adopt", "a".repeat(64)]) {
      expect(toRuleId(id)).toBe(id);
      expect(() => parseRules({ version: 1, rules: [{ id: toRuleId(id), limit }] })).not.toThrow();
    }
  });

  it.each([
    ["/a-b", "/a/b"],
    ["GET /a", "GET  /a"],
    [`${"x".repeat(70)}1`, `${"x".repeat(70)}2`],
  ])("distinguishes %s and %s", (one, other) => {
    expect(toRuleId(one)).not.toBe(toRuleId(other));
  });
});
