import { describe, expect, it } from "vitest";
import {
  formatAbsolute,
  formatBytes,
  formatCount,
  formatDuration,
  formatRate,
  formatRelative,
  formatShare,
  formatShort,
} from "./format.js";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

describe("numbers for people", () => {
  it.each([
    [formatCount(1_234.4), "1,234"],
    [formatShort(0), "0"],
    [formatShort(0.42), "0.42"],
    [formatShort(4_560), "4.56K"],
    [formatRate(12.345), "12.3/s"],
    [formatRate(0.2), "0.2/s"],
    [formatRate(0.879), "0.88/s"],
    [formatRate(3.26), "3.3/s"],
    [formatRate(12_345), "12.3K/s"],
    [formatShare(0.1234), "12.3%"],
    [formatShare(0.0515), "5.2%"],
    [formatShare(0.00042), "0.04%"],
    [formatShare(1), "100%"],
    [formatBytes(0), "0 B"],
    [formatBytes(999), "999 B"],
    [formatBytes(1_000), "1 kB"],
    [formatBytes(12_345), "12.3 kB"],
    [formatBytes(1_500_000), "1.5 MB"],
    [formatBytes(5e12), "5000 GB"],
  ])("have their unit: %s", (shown, expected) => {
    expect(shown).toBe(expected);
  });
});

describe("a duration", () => {
  it.each([
    [0, "0 ms"],
    [0.05, "50 µs"],
    [0.4, "0.4 ms"],
    [12, "12 ms"],
    [1_500, "1.5 s"],
    [90 * SECOND_MS, "90 s"],
    [400 * SECOND_MS, "6.7 min"],
    [90 * MINUTE_MS, "90 min"],
    [36 * HOUR_MS, "36 h"],
    [2 * DAY_MS, "2 days"],
    [29.4 * DAY_MS, "29 days"],
    [null, "never"],
    [Number.POSITIVE_INFINITY, "never"],
  ])("of %s ms is %s", (ms, shown) => {
    expect(formatDuration(ms)).toBe(shown);
  });
});

describe("a time", () => {
  it.each([
    [0, "now"],
    [-SECOND_MS, "1 second ago"],
    [-3 * MINUTE_MS, "3 minutes ago"],
    [2 * HOUR_MS, "in 2 hours"],
    [-DAY_MS, "yesterday"],
    [30 * DAY_MS, "in 30 days"],
  ])("that is %s ms from now is %s", (ms, shown) => {
    const nowMs = Date.UTC(2026, 10, 16);
    expect(formatRelative(nowMs + ms, nowMs)).toBe(shown);
  });

  it("is absolute with the zone of the browser, and midnight is 00", () => {
    const midnight = new Date(2026, 10, 16, 0, 5, 7).getTime();
    expect(formatAbsolute(midnight)).toMatch(/^Nov 16, 2026, 00:05:07 \S+/);
  });
});
