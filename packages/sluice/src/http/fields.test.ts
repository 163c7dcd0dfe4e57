import { describe, expect, it } from "vitest";
import { BODY_FIELDS, eachField, withoutFields } from "./fields.js";

const FIELDS = ["Retry-After", "1", "Content-Type", "retry-after", "CONTENT-LENGTH", "0"];

describe("fields", () => {
  it("are told in their order", () => {
    const told: string[] = [];
    eachField(FIELDS, (name, value) => told.push(name, value));
    expect(told).toEqual(FIELDS);
  });

  it("are hidden by name in any case, never by value", () => {
    expect(withoutFields(FIELDS, BODY_FIELDS)).toEqual(["Retry-After", "1"]);
    expect(withoutFields(FIELDS, new Set(["retry-after"]))).toEqual(FIELDS.slice(2));
  });

  it("stay the same list where nothing is hidden", () => {
    expect(withoutFields(FIELDS, new Set())).toBe(FIELDS);
  });
});
