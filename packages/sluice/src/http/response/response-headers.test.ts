import { describe, expect, it } from "vitest";
import { BODY_FIELDS, eachField, toFields, toLines, withoutFields } from "./response-headers.js";

const FIELDS = ["Retry-After", "1", "Content-Type", "retry-after", "CONTENT-LENGTH", "0"];

describe("headers", () => {
  it("are visited in their order", () => {
    const seen: string[] = [];
    eachField(FIELDS, (name, value) => seen.push(name, value));
    expect(seen).toEqual(FIELDS);
  });

  it("are hidden by name in any case, never by value", () => {
    expect(withoutFields(FIELDS, BODY_FIELDS)).toEqual(["Retry-After", "1"]);
    expect(withoutFields(FIELDS, new Set(["retry-after"]))).toEqual(FIELDS.slice(2));
  });

  it("come back out of their lines, with colons and commas in their values", () => {
    const fields = ["RateLimit", '"a: b";r=1, "c";r=2', "X-RateLimit-Reset", "60"];
    expect(toFields(toLines(fields))).toEqual(fields);
    expect(toFields("")).toEqual([]);
  });

  it("stay the same list where nothing is hidden", () => {
    expect(withoutFields(FIELDS, new Set())).toBe(FIELDS);
  });
});
