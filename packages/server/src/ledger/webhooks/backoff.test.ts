import { describe, expect, it } from "vitest";
import { createRandom } from "../../telemetry/random.js";
import { TRIES_MAX, waitMs } from "./backoff.js";

const HOUR_MS = 3_600_000;
const most = () => 0.999_999_999;

describe("waitMs", () => {
  it("doubles the longest wait up to half a day, and draws from nothing to that", () => {
    const longest = [1, 2, 3, 12, 13, 14, 23].map((tries) => waitMs({ tries, chance: most }) ?? 0);
    const expected = [10_000, 20_000, 40_000, 20_480_000, 40_960_000, 12 * HOUR_MS, 12 * HOUR_MS];
    expect(longest).toEqual(expected.map((ms) => ms - 1));
    expect(waitMs({ tries: 5, chance: () => 0.5 })).toBe(80_000);
    expect(waitMs({ tries: 5, chance: () => 0 })).toBe(1_000);
  });

  it("ends after its tries, which take about three days", () => {
    expect(waitMs({ tries: TRIES_MAX, chance: most })).toBeUndefined();
    const chance = createRandom(7);
    const totals = Array.from({ length: 500 }, () =>
      Array.from(
        { length: TRIES_MAX - 1 },
        (_, index) => waitMs({ tries: index + 1, chance }) ?? 0,
      ),
    ).map((waits) => waits.reduce((sum, ms) => sum + ms, 0));
    const meanHours = totals.reduce((sum, ms) => sum + ms, 0) / totals.length / HOUR_MS;
    expect(meanHours).toBeGreaterThan(66);
    expect(meanHours).toBeLessThan(78);
  });

  it("waits as long as the receiver asks, half a day at most", () => {
    expect(waitMs({ tries: 1, chance: most, retryAfterMs: 60_000 })).toBe(60_000);
    expect(waitMs({ tries: 10, chance: most, retryAfterMs: 60_000 })).toBeGreaterThan(60_000);
    expect(waitMs({ tries: 1, chance: most, retryAfterMs: 1e12 })).toBe(12 * HOUR_MS);
  });
});
