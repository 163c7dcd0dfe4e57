import { describe, expect, it } from "vitest";
import { formatTimeWindow, parseTimeWindow } from "./time-window.js";

const SITE = { name: "test", code: "SLUICE_OPTION_INVALID" } as const;

describe("a length of time as a string", () => {
  it.each([
    ["1 minute", 60_000],
    ["2 minutes", 120_000],
    ["30s", 30_000],
    ["500 ms", 500],
    ["500ms", 500],
    ["1.5h", 5_400_000],
    ["2 hrs", 7_200_000],
    ["10 Sec", 10_000],
    ["5m", 300_000],
    ["1d", 86_400_000],
    ["1 week", 604_800_000],
    ["1y", 31_557_600_000],
    ["1500", 1_500],
    [".5s", 500],
  ])("reads %s as %i milliseconds", (text, ms) => {
    expect(parseTimeWindow(SITE, text)).toBe(ms);
  });

  it.each(["", "minute", "1 month", "-1s", "1 2 s", "1e3s"])("refuses %j", (text) => {
    expect(() => parseTimeWindow(SITE, text)).toThrow(
      "timeWindow must be milliseconds or a string",
    );
  });

  it.each([
    [60_000, "1 minute"],
    [61_000, "1 minute"],
    [90_000, "2 minutes"],
    [500, "500 ms"],
    [400 * 86_400_000, "1 year"],
    [1_000, "1 second"],
    [86_400_000, "1 day"],
    [Number.POSITIVE_INFINITY, "never"],
  ])("writes %d milliseconds as %s", (ms, text) => {
    expect(formatTimeWindow(ms)).toBe(text);
  });
});
