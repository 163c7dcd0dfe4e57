import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ForecastOptions, forecastRunOut } from "./forecast.js";
import { dayAt } from "./local-days.js";

const at = (text: string) => Date.parse(text);
const may = { startMs: at("2026-05-01T00:00:00Z"), endMs: at("2026-06-01T00:00:00Z") };

function days(count: number, unitsOf: (day: number) => number) {
  return Array.from({ length: count }, (_, index) => ({
    day: `2026-05-${String(index + 1).padStart(2, "0")}`,
    units: unitsOf(index + 1),
  }));
}

function forecast(change: Partial<ForecastOptions>) {
  const usual = { usage: days(10, () => 10), remaining: 100, period: may, timeZone: "UTC" };
  return forecastRunOut({ ...usual, nowMs: at("2026-05-11T00:00:00Z"), ...change });
}

describe("forecastRunOut", () => {
  it("goes on at the same rate if every day was the same, and is then sure of the day", () => {
    const found = forecast({});
    expect(found?.unitsPerDay).toBeCloseTo(10, 5);
    expect(found).toMatchObject({ day: "2026-05-21", earliestDay: "2026-05-21" });
    expect(found?.latestDay).toBe("2026-05-21");
  });

  it("weighs recent days more than those a week ago", () => {
    const faster = forecast({ usage: days(10, (day) => (day > 5 ? 15 : 5)) });
    const slower = forecast({ usage: days(10, (day) => (day > 5 ? 5 : 15)) });
    expect(faster?.unitsPerDay).toBeGreaterThan(10.5);
    expect(slower?.unitsPerDay).toBeLessThan(9.5);
  });

  it("counts days that are missing as days without use", () => {
    expect(forecast({ usage: days(1, () => 100) })?.unitsPerDay).toBeLessThan(10);
  });

  it("has wider bounds the more days differ", () => {
    const found = forecast({ usage: days(10, (day) => (day % 2 === 0 ? 20 : 1)) });
    const { earliestDay = "", day = "", latestDay = "2026-06-01" } = found ?? {};
    expect(earliestDay < day).toBe(true);
    expect(day < latestDay).toBe(true);
  });

  it("has no day if the quota lasts until the period ends", () => {
    expect(forecast({ remaining: 1_000 })).toMatchObject({ day: undefined, atMs: undefined });
    const endsAtMs = may.endMs;
    expect(forecast({ remaining: 210 })?.atMs).toBeUndefined();
    expect(forecast({ remaining: 209 })?.atMs).toBeLessThan(endsAtMs);
  });

  it("runs out now if nothing is left or the account is in debt", () => {
    for (const remaining of [0, -50])
      expect(forecast({ remaining })).toMatchObject({
        day: "2026-05-11",
        atMs: at("2026-05-11T00:00:00Z"),
      });
  });

  it("says nothing if nothing was used, or outside of the period", () => {
    expect(forecast({ usage: [] })).toBeUndefined();
    expect(forecast({ nowMs: may.startMs - 1 })).toBeUndefined();
    expect(forecast({ nowMs: may.endMs })).toBeUndefined();
  });

  it("takes neither the first minute for a day, nor one day for certain", () => {
    const nowMs = may.startMs + 60_000;
    const found = forecast({ nowMs, usage: days(1, () => 10), remaining: 10_000 });
    expect(found?.unitsPerDay).toBeLessThan(24 * 10 + 0.001);
    const oneDay = forecast({ nowMs: may.startMs + 86_400_000, usage: days(1, () => 10) });
    expect(oneDay).toMatchObject({
      earliestDay: "2026-05-07",
      day: "2026-05-12",
      latestDay: "2026-05-22",
    });
  });

  it("names the day in the account's time zone", () => {
    const period = {
      startMs: at("2026-05-01T00:00:00-04:00"),
      endMs: at("2026-06-01T00:00:00-04:00"),
    };
    const nowMs = at("2026-05-11T00:00:00-04:00");
    const found = forecast({ period, nowMs, timeZone: "America/New_York", remaining: 9 });
    expect(found).toMatchObject({ day: "2026-05-11" });
  });

  it("is never in the past, and its days are in order, whatever was used", () => {
    const usage = fc.array(fc.nat(1_000), { maxLength: 31 });
    fc.assert(
      fc.property(
        usage,
        fc.integer({ min: -10, max: 20_000 }),
        fc.nat(30 * 86_400_000),
        (units, remaining, offsetMs) => {
          const nowMs = may.startMs + offsetMs;
          const found = forecast({
            usage: days(units.length, (day) => units[day - 1] ?? 0),
            remaining,
            nowMs,
          });
          if (found === undefined) return;
          const today = dayAt("UTC", nowMs);
          const never = "9";
          expect(found.unitsPerDay).toBeGreaterThan(0);
          expect(found.atMs ?? nowMs).toBeGreaterThanOrEqual(nowMs);
          expect([
            today,
            found.earliestDay ?? never,
            found.day ?? never,
            found.latestDay ?? never,
          ]).toEqual(
            [
              today,
              found.earliestDay ?? never,
              found.day ?? never,
              found.latestDay ?? never,
            ].sort(),
          );
        },
      ),
    );
  });
});
