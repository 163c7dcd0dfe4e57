import { expect, it } from "vitest";
import { withDemand } from "./share-demand.js";
import { NO_SHARE, type RegionShare } from "./share-plan.js";

const START_MS = 1_800_000_000_000;

/** The demand of a region that is asked for 1,000 units a second, adds them every second, and reports every other one. */
function measured(phaseMs: number): readonly (number | undefined)[] {
  let share: RegionShare = { ...NO_SHARE, claim: 1, claimedUntilMs: 0 };
  return Array.from({ length: 12 }, (_, i) => {
    share = withDemand(share, { units: 2_000 * i, nowMs: START_MS + phaseMs + 2_000 * i });
    return share.demand;
  });
}

it("says the same whenever a region reports", () => {
  for (const phaseMs of [0, 410, 820, 4_990])
    expect(measured(phaseMs)).toEqual([undefined, undefined, ...Array(10).fill(5_000)]);
});

it("is not known until it was measured, and measured again when the counter starts again", () => {
  const share: RegionShare = { ...NO_SHARE, claim: 1, claimedUntilMs: 0 };
  const first = withDemand(share, { units: 700, nowMs: START_MS });
  expect(first).toMatchObject({ asked: { units: 700, atMs: START_MS } });
  expect(first.demand).toBeUndefined();
  const known = withDemand(first, { units: 1_100, nowMs: START_MS + 4_000 });
  expect(known.demand).toBe(500);
  const again = withDemand(known, { units: 90, nowMs: START_MS + 8_000 });
  expect(again).toMatchObject({ demand: 500, asked: { units: 90 } });
});
