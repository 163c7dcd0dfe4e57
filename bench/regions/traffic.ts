// What leases between regions send over the distance: bytes both ways for a thousand decisions on one busy key.

import type { Policy } from "sluice/rules";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { summarise } from "../harness.js";
import { withTwoRegions } from "./two-regions.js";

const ROUNDS = effort({ full: 9, quick: 1 });
const REQUESTS = effort({ full: 400_000, quick: 20_000 });
/** Until the size of leases fits the demand. */
const WARM_UP_REQUESTS = 200_000;
/** Decisions without letting others have their turn. */
const TURN = 100;

export const traffic: Bench<readonly number[]> = {
  id: "regions/traffic",
  unit: "bytes",
  bound: { is: "at most", goal: 200 },
  parts: ["leased"],
  runPart: () =>
    withTwoRegions(async ({ leased, way }) => {
      await sendRequests(leased, WARM_UP_REQUESTS);
      const perThousand: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const before = way.counters;
        await sendRequests(leased, REQUESTS);
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

/** Sends requests of one user, one after the other. */
async function sendRequests(policy: Policy, count: number): Promise<void> {
  for (let left = count; left > 0; left--) {
    const answer = policy.admit({ method: "GET", path: "/", user: "user-0" });
    if (answer instanceof Promise) await answer;
    // In process decisions come immediately; the answers of stores need their turn.
    if (left % TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}
