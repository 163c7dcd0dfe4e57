// What is asked for in a region. Its processes add up what they were asked for in the region's store, once a second each;
// the demand is what was added between two reports, over the time between them. A sliding window would say up to a fifth
// more, depending on when in the window a region reports, and regions would trade shares because of it.

import { fixedWindow } from "../../../limits/limits.js";
import type { Counter } from "../../store.js";
import type { RegionShare } from "./share-plan.js";

/** All units asked for in a region. It starts again every hour, which loses one measurement. */
export const ASKED: Counter = {
  scope: "sluice.asked",
  part: 0,
  limit: fixedWindow({ limit: 2 ** 36, windowMs: 3_600_000 }),
};

/** Demand is given for so long. */
const DEMAND_MS = 5_000;
/** The shortest time that it is measured over: processes add once a second. */
const MEASURED_MS_MIN = 3_500;

/** The region's share with the demand since it was last measured; as it is if that was a moment ago. */
export function withDemand(
  share: RegionShare,
  { units, nowMs }: { units: number; nowMs: number },
): RegionShare {
  const { asked } = share;
  const next = { units, atMs: nowMs };
  if (asked === undefined || units < asked.units || nowMs < asked.atMs)
    return { ...share, asked: next };
  const passedMs = nowMs - asked.atMs;
  if (passedMs < MEASURED_MS_MIN) return share;
  const demand = Math.round(((units - asked.units) * DEMAND_MS) / passedMs);
  return { ...share, asked: next, demand };
}
