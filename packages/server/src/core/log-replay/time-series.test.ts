import { describe, expect, it } from "vitest";
import { TimeSeries } from "./time-series.js";

describe("a time series", () => {
  it("counts in steps of a second until there is no room, then in steps twice as long", () => {
    const series = new TimeSeries(1_000, 4);
    for (const atMs of [1_000, 1_999, 2_000, 4_999]) series.add(atMs);
    expect(series.toCounts({ stepMs: 1_000, steps: 4 })).toEqual([2, 1, 0, 1]);
    series.add(5_000);
    expect(series.stepMs).toBe(2_000);
    expect(series.toCounts({ stepMs: 2_000, steps: 4 })).toEqual([3, 1, 1, 0]);
  });

  it("keeps every count however far the time goes", () => {
    const series = new TimeSeries(0, 4);
    for (let year = 0; year < 50; year++) series.add(year * 31_536_000_000);
    const counts = series.toCounts({ stepMs: series.stepMs, steps: 4 });
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(50);
  });
});
