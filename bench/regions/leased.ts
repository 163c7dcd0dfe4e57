// What leases between regions cost: decisions on busy keys in a region that leases from a home region 200 ms away, over the
// same in a region alone. Both sides have leases in the process.

import { type Bench, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import { ROUND_TRIP_MS, sendRequests, withTwoRegions } from "./two-regions.js";

const ROUNDS = effort({ full: 15, quick: 1 });
const REQUESTS = effort({ full: 400_000, quick: 40_000 });
/** While one side runs, the other returns its leases; these requests get them again, and are not counted. */
const WARM_UP_REQUESTS = 100_000;
const USERS = 100;

/** Decisions a second in each round. */
interface Rates {
  readonly leased: readonly number[];
  readonly alone: readonly number[];
}

export const leased: Bench<Rates> = {
  id: "regions/leased",
  unit: "ratio",
  bound: { is: "at least", bar: 0.8, goal: 0.95 },
  parts: ["leased"],
  runPart: () =>
    withTwoRegions(async (regions) => {
      const rates = { leased: [] as number[], alone: [] as number[] };
      for (let round = 0; round < ROUNDS; round++) {
        for (const side of inTurn(["leased", "alone"] as const, round)) {
          await sendRequests(regions[side], { requests: WARM_UP_REQUESTS, users: USERS });
          const startMs = performance.now();
          await sendRequests(regions[side], { requests: REQUESTS, users: USERS });
          rates[side].push((1_000 * REQUESTS) / (performance.now() - startMs));
        }
      }
      return rates;
    }),
  conclude: ([rates]) => [
    toRatioFinding(
      {
        subject: `across: leased, ${ROUND_TRIP_MS} ms from home`,
        reference: "one region alone",
      },
      rates.leased,
      rates.alone,
    ),
  ],
};
