import { describe, expect, it } from "vitest";
import { fromLocalTime, toLocalTime } from "./local-time.js";

describe("a time in a field", () => {
  // Two that are in different offsets wherever there is daylight saving time.
  it.each([
    [new Date(2026, 10, 16, 12, 42), "2026-11-16T12:42"],
    [new Date(2026, 6, 1, 0, 5), "2026-07-01T00:05"],
  ])("is in the zone of the browser, and is read back: %s", (date, text) => {
    expect(toLocalTime(date.getTime())).toBe(text);
    expect(fromLocalTime(text)).toBe(date.getTime());
  });

  it("is undefined if the field is empty or not a time", () => {
    expect([fromLocalTime(""), fromLocalTime("soon")]).toEqual([undefined, undefined]);
  });
});
