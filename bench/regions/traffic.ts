// What leases between regions send over the distance: bytes both ways for a thousand decisions on one busy key.

import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { summarise } from "../harness.js";
import { sendRequests, withTwoRegions } from "./two-regions.js";

const ROUNDS = effort({ full: 9, quick: 1 });
const REQUESTS = effort({ full: 400_000, quick: 20_000 });
/** Until the size of leases fits the demand. */
const WARM_UP_REQUESTS = 200_000;

export const traffic: Bench<readonly number[]> = {
  id: "regions/traffic",
  unit: "bytes",
  bound: { is: "at most", goal: 200 },
  parts: ["leased"],
  runPart: () =>
    withTwoRegions(async ({ leased, way }) => {
      await sendRequests(leased, { requests: WARM_UP_REQUESTS, users: 1 });
      const perThousand: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const before = way.counters;
        await sendRequests(leased, { requests: REQUESTS, users: 1 });
        const { bytesToServer, bytesToClient } = way.counters;
        const bytes = bytesToServer - before.bytesToServer + bytesToClient - before.bytesToClient;
        perThousand.push((1_000 * bytes) / REQUESTS);
      }
      return perThousand;
    }),
  conclude: ([perThousand]) => [
    {
      subject: "across: leased, one busy key",
      ...summarise(perThousand),
      note: "bytes between regions for 1,000 decisions, both ways",
    },
  ],
};
