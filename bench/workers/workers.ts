// What several processes cost: decisions for each second of processor time of a primary and two workers together, over
// those of one process that does the same alone. Below 1 is the price of using a second core.

import { type Bench, type Finding, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import { start, tell } from "../service/envoy.js";
import { askProxy, LOAD_CPU, type RunningProxy, startProxies } from "../service/proxies-load.js";
import { startServed } from "./service.js";

const ROUNDS = effort({ full: 7, quick: 1 });
/** Two workers, and one process. */
const SIDES = [2, 1] as const;
/** Of the service's processor time. Each process has a compiler of its own to warm up. */
const ROUND_SECONDS = effort({ full: 1.5, quick: 0.5 });
const WARM_UP_SECONDS = effort({ full: 2, quick: 0.5 });
const WARM_UP_CALLS = effort({ full: 40_000, quick: 10_000 });
const ROUND_CALLS = effort({ full: 40_000, quick: 10_000 });
const NEVER_REACHED = 1_000_000_000;

/** Decisions per second of processor time of each side, one figure for each round. */
type Rates = readonly (readonly number[])[];
/** Decisions per second of processor time of a service that has just started. */
type Measure = (workers: number) => Promise<number>;

const bound = { is: "at least", bar: 0.85, goal: 0.95 } as const;

export const workersGateway: Bench<Rates> = {
  id: "workers/gateway",
  unit: "ratio",
  bound,
  parts: ["all"],
  runPart: () => overGateway(NEVER_REACHED),
  conclude: ([rates]) => [toFinding("requests through the gateway", rates)],
};

export const workersRefuse: Bench<Rates> = {
  id: "workers/refuse",
  unit: "ratio",
  bound,
  parts: ["all"],
  runPart: () => overGateway(1),
  conclude: ([rates]) => [toFinding("refusals of the gateway, one address", rates)],
};

export const workersEnvoy: Bench<Rates> = {
  id: "workers/envoy",
  unit: "ratio",
  bound,
  parts: ["100", "10000"],
  runPart: (addresses) => takeTurns((workers) => measureEnvoy(workers, addresses)),
  conclude: ([few, many]) => [
    toFinding("ShouldRateLimit, 100 addresses", few),
    { ...toFinding("ShouldRateLimit, 10,000 addresses", many), isJudged: false },
  ],
};

function toFinding(what: string, [several, one]: Rates): Finding {
  return toRatioFinding(
    { subject: `${what}, two workers`, reference: "one process" },
    several,
    one,
  );
}

async function takeTurns(measure: Measure): Promise<Rates> {
  const rates = SIDES.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const i of inTurn([...SIDES.keys()], round)) {
      rates[i].push(await measure(SIDES[i]));
    }
  }
  return rates;
}

async function overGateway(limit: number): Promise<Rates> {
  const { upstream, stop } = await startProxies([]);
  const isRefused = limit === 1;
  try {
    return await takeTurns(async (workers) => {
      const served = { workers, door: "gateway", limit, upstreamPort: upstream.port } as const;
      const service = await startServed(served);
      try {
        await askProxy(service, WARM_UP_SECONDS * workers, isRefused);
        return await askProxy(service, ROUND_SECONDS, isRefused);
      } finally {
        service.stop();
      }
    });
  } finally {
    stop();
  }
}

async function measureEnvoy(workers: number, addresses: string): Promise<number> {
  const service = await startServed({ workers, door: "envoy", limit: NEVER_REACHED });
  const load = start(LOAD_CPU, "envoy-load.js", `${service.port}`, addresses);
  try {
    await tell(load, WARM_UP_CALLS * workers);
    return await callsPerSec(service, () => tell(load, ROUND_CALLS));
  } finally {
    load.disconnect();
    service.stop();
  }
}

async function callsPerSec(
  { cpuSeconds }: RunningProxy,
  call: () => Promise<number>,
): Promise<number> {
  const before = cpuSeconds();
  return (await call()) / (cpuSeconds() - before);
}
