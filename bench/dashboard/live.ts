// What open Live pages cost: the throughput of the gateway with one page open over none, and the memory of the service
// for 200 pages.

import { type Bench, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import { askProxy } from "../service/proxies-load.js";
import { startLiveService } from "./live-page.js";

const ROUNDS = effort({ full: 9, quick: 1 });
/** Seconds of the service's processor time in a round: long enough for several events. */
const ROUND_SECONDS = effort({ full: 4, quick: 1 });
const WARM_UP_SECONDS = effort({ full: 3, quick: 0.5 });
const PAGES = 200;

/** Requests per second of processor time with a page and without one, one figure for each round. */
type Rates = readonly [open: readonly number[], closed: readonly number[]];

export const dashboardCost: Bench<Rates> = {
  id: "dashboard/cost",
  unit: "ratio",
  bound: { is: "at least", bar: 0.97, goal: 0.99 },
  parts: ["all"],
  runPart: measureCost,
  conclude: ([[open, closed]]) => [
    toRatioFinding({ subject: "gateway, one Live page open", reference: "no page" }, open, closed),
  ],
};

export const dashboardPages: Bench<number> = {
  id: "dashboard/pages",
  unit: "kB",
  bound: { is: "at most", goal: 20_000 },
  parts: ["all"],
  runPart: measurePages,
  conclude: ([bytes]) => [
    { subject: `memory of the service for ${PAGES} open Live pages`, value: bytes / 1_000 },
  ],
};

async function measureCost(): Promise<Rates> {
  const rates: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const { gateway, openPages, stop } = await startLiveService();
    try {
      await askProxy(gateway, WARM_UP_SECONDS);
      for (const side of inTurn([0, 1] as const, round)) {
        const close = await openPages(side === 0 ? 1 : 0);
        rates[side].push(await askProxy(gateway, ROUND_SECONDS));
        close();
      }
    } finally {
      stop();
    }
  }
  return rates;
}

/** The first pages warm everything up that later ones share. */
async function measurePages(): Promise<number> {
  const { gateway, openPages, memoryBytes, stop } = await startLiveService();
  try {
    await askProxy(gateway, WARM_UP_SECONDS);
    const close = await openPages(1);
    await askProxy(gateway, WARM_UP_SECONDS);
    const before = await memoryBytes();
    const closeAll = await openPages(PAGES);
    await askProxy(gateway, WARM_UP_SECONDS);
    const after = await memoryBytes();
    closeAll();
    close();
    return after - before;
  } finally {
    stop();
  }
}
