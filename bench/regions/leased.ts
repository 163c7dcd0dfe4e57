// What leases between regions cost: decisions on busy keys in a region that leases from a home region 200 ms away, over the
// same in a region alone. Both sides are asked in turns, in slices so short that each keeps its leases: after a pause,
// a region has to learn again how much is asked for, and what would be measured is how fast it does.

import { type Bench, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import { BusyUsers } from "./busy-users.js";
import { ROUND_TRIP_MS, withTwoRegions } from "./two-regions.js";

const ROUNDS = effort({ full: 31, quick: 1 });
/** Of each side, in turns. */
const SLICES = 20;
const SLICE_MS = 25;
/** Until leases between regions, which live for five seconds, fit the demand. */
const WARM_UP_ROUNDS = effort({ full: 15, quick: 1 });
const USERS = 100;

const SIDES = ["leased", "alone"] as const;

/** Decisions a second in each round. */
type Rates = Readonly<Record<(typeof SIDES)[number], readonly number[]>>;

export const leased: Bench<Rates> = {
  id: "regions/leased",
  unit: "ratio",
  bound: { is: "at least", bar: 0.8, goal: 0.95 },
  parts: ["leased"],
  runPart: () =>
    withTwoRegions(async (regions) => {
      const users = {
        leased: new BusyUsers(regions.leased, USERS),
        alone: new BusyUsers(regions.alone, USERS),
      };
      const rates = { leased: [] as number[], alone: [] as number[] };
      for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
        const sums = { leased: { decided: 0, tookMs: 0 }, alone: { decided: 0, tookMs: 0 } };
        for (let slice = 0; slice < SLICES; slice++) {
          for (const side of inTurn(SIDES, slice)) {
            const { decided, tookMs } = await users[side].run(SLICE_MS);
            sums[side].decided += decided;
            sums[side].tookMs += tookMs;
          }
        }
        if (round < 0) continue;
        for (const side of SIDES) {
          const { decided, tookMs } = sums[side];
          rates[side].push((1_000 * decided) / tookMs);
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
