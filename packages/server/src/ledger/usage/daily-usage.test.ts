import { describe, expect, it } from "vitest";
import { type UsageEntry, usageByDay } from "./daily-usage.js";
import { dayAt, daysOf } from "./local-days.js";

let sequence = 0;
function entry(kind: string, amount: number, at: string, settles?: number): UsageEntry {
  return { accountId: "a", sequence: ++sequence, kind, amount, settles, atMs: Date.parse(at) };
}

describe("usageByDay", () => {
  it("adds up uses by the day of the time zone, and leaves days without use out", () => {
    const entries = [
      entry("use", -3, "2026-05-01T21:59:59.999Z"),
      entry("use", -4, "2026-05-01T22:00:00Z"),
      entry("use", -1, "2026-05-04T12:00:00Z"),
    ];
    expect(usageByDay(entries, "Europe/Paris")).toEqual([
      { day: "2026-05-01", units: 3 },
      { day: "2026-05-02", units: 4 },
      { day: "2026-05-04", units: 1 },
    ]);
    expect(usageByDay(entries.toReversed(), "UTC")[0]).toEqual({ day: "2026-05-01", units: 7 });
  });

  it("counts what settles a reservation or a lease on the day of that", () => {
    const reserved = entry("reserve", -100, "2026-05-01T23:59:00Z");
    const committed = entry("commit", 60, "2026-05-02T00:01:00Z", reserved.sequence);
    const abandoned = entry("reserve", -5, "2026-05-01T10:00:00Z");
    const expired = entry("expire", 5, "2026-05-02T10:00:00Z", abandoned.sequence);
    const leased = entry("lease", -50, "2026-05-02T10:00:00Z");
    const returned = entry("return", 20, "2026-05-03T10:00:00Z", leased.sequence);
    const entries = [reserved, committed, abandoned, expired, leased, returned];
    expect(usageByDay(entries, "UTC")).toEqual([
      { day: "2026-05-01", units: 40 },
      { day: "2026-05-02", units: 30 },
    ]);
  });

  it("counts a commit above its reservation as use", () => {
    const reserved = entry("reserve", -10, "2026-05-01T10:00:00Z");
    const committed = entry("commit", -7, "2026-05-01T11:00:00Z", reserved.sequence);
    expect(usageByDay([reserved, committed], "UTC")).toEqual([{ day: "2026-05-01", units: 17 }]);
  });

  it("takes a settlement whose reservation is not in the list on its own day", () => {
    const cancelled = entry("cancel", 10, "2026-05-02T10:00:00Z", 1);
    const other = { ...entry("reserve", -1, "2026-05-01T10:00:00Z"), accountId: "b", sequence: 1 };
    expect(usageByDay([cancelled, other], "UTC")).toEqual([
      { day: "2026-05-01", units: 1 },
      { day: "2026-05-02", units: -10 },
    ]);
  });

  it("leaves grants, adjustments and the expiry of grants out", () => {
    const entries = [
      entry("grant", 1_000, "2026-05-01T10:00:00Z"),
      entry("adjust", -10, "2026-05-01T10:00:00Z"),
      entry("expire", -990, "2026-05-31T10:00:00Z", 1),
    ];
    expect(usageByDay(entries, "UTC")).toEqual([]);
  });

  it("throws for a time zone that does not exist", () => {
    const used = entry("use", -1, "2026-05-01T10:00:00Z");
    expect(() => usageByDay([used], "Mars/Olympus")).toThrow(RangeError);
  });
});

describe("daysOf", () => {
  it.each([
    ["Europe/Paris", "2026-03-29", 23],
    ["Europe/Paris", "2026-10-25", 25],
    ["America/Sao_Paulo", "2018-11-04", 23],
    ["Australia/Lord_Howe", "2026-04-05", 24.5],
    ["Asia/Kathmandu", "2026-05-01", 24],
  ])("knows how long a day in %s is on %s", (timeZone, day, hours) => {
    const noonMs = Date.parse(`${day}T12:00:00Z`);
    const days = daysOf(timeZone, {
      startMs: noonMs - 3 * 86_400_000,
      endMs: noonMs + 3 * 86_400_000,
    });
    const found = days.find((each) => each.day === day);
    expect(((found?.endMs ?? 0) - (found?.startMs ?? 0)) / 3_600_000).toBe(hours);
  });

  it("covers a span without gaps, and cuts its ends", () => {
    const span = {
      startMs: Date.parse("2026-03-28T10:00:00Z"),
      endMs: Date.parse("2026-04-02T01:00:00Z"),
    };
    const days = daysOf("Europe/Paris", span);
    expect([days[0]?.startMs, days.at(-1)?.endMs]).toEqual([span.startMs, span.endMs]);
    for (const [index, each] of days.entries()) {
      expect(each.endMs).toBe(days[index + 1]?.startMs ?? span.endMs);
      expect(dayAt("Europe/Paris", each.endMs - 1)).toBe(each.day);
    }
    expect(daysOf("UTC", { startMs: 5, endMs: 5 })).toEqual([]);
  });
});
