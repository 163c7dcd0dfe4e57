import { describe, expect, it } from "vitest";
import { formatPeriod } from "./period.js";

const at = (text: string) => Date.parse(text);

describe("formatPeriod", () => {
  it.each([
    ["2026-05-01T00:00Z", "2026-06-01T00:00Z", "UTC", "2026-05-01 to 2026-06-01"],
    ["2026-10-31T23:00Z", "2026-11-30T23:00Z", "Europe/Paris", "2026-11-01 to 2026-12-01"],
    // Summer time ends within this one.
    ["2026-09-30T22:00Z", "2026-10-31T23:00Z", "Europe/Paris", "2026-10-01 to 2026-11-01"],
    ["2026-05-01T04:00Z", "2026-06-01T04:00Z", "America/New_York", "2026-05-01 to 2026-06-01"],
    // This day begins at 01:00: there was no midnight.
    ["2018-11-04T03:00Z", "2018-11-05T02:00Z", "America/Sao_Paulo", "2018-11-04 to 2018-11-05"],
  ])("shows %s to %s in %s as %s", (start, end, timeZone, shown) => {
    expect(formatPeriod({ startMs: at(start), endMs: at(end) }, timeZone)).toBe(shown);
  });

  it("shows times and the zone if a bound is within a day of the zone", () => {
    const paris = { startMs: at("2026-10-31T23:00Z"), endMs: at("2026-11-30T23:00Z") };
    expect(formatPeriod(paris, "UTC")).toBe("2026-10-31 23:00 to 2026-11-30 23:00 UTC");
    const anchored = { startMs: at("2026-05-15T07:30Z"), endMs: at("2026-06-15T07:30Z") };
    expect(formatPeriod(anchored, "Europe/Paris")).toBe(
      "2026-05-15 09:30 to 2026-06-15 09:30 Europe/Paris",
    );
  });
});
