import { expect, it } from "vitest";
import { toBurnDown } from "./burn-down-data.js";

const DAY_MS = 86_400_000;

it.each(["UTC", "Pacific/Auckland", "Pacific/Honolulu"])(
  "adds up what was used on the days of a tenant in %s, and goes on as forecast",
  (timeZone) => {
    // Midnight of 1 May there.
    const offsetHours = { UTC: 0, "Pacific/Auckland": -12, "Pacific/Honolulu": 10 }[timeZone] ?? 0;
    const startMs = Date.UTC(2026, 4, 1, offsetHours);
    const [times, used, forecast, granted] = toBurnDown({
      days: [
        { day: "2026-05-01", units: 10 },
        { day: "2026-05-02", units: 5 },
      ],
      period: { startMs, endMs: startMs + 4 * DAY_MS },
      granted: 40,
      unitsPerDay: 8,
      timeZone,
      nowMs: startMs + 1.5 * DAY_MS,
    });
    expect(times?.[1]).toBe((startMs + DAY_MS) / 1_000);
    expect(used).toEqual([10, 15, null, null]);
    expect(forecast).toEqual([null, 15, 19, 27]);
    expect(granted).toEqual([40, 40, 40, 40]);
  },
);
