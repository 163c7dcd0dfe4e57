// What several processes cost: decisions for each second of processor time of a primary and two workers together, over
// those of one process that does the same alone. Below 1 is the price of using a second core.

import type { Bench, Finding } from "../bench.js";
import { median, spreadOf } from "../harness.js";
import { start, tell } from "../service/envoy.js";
import { askProxy, LOAD_CPU, type RunningProxy, startProxies } from "../service/proxies-load.js";
import { startServed } from "./service.js";

const ROUNDS = 7;
/** Two workers, and one process. */
const SIDES = [2, 1] as const;
/** Of the service's processor time. Each process has a compiler of its own to warm up. */
const ROUND_SECONDS = 1.5;
const WARM_UP_SECONDS = 2;
const WARM_UP_CALLS = 40_000;
const ROUND_CALLS = 40_000;
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
  const ratio = median(several) / median(one);
  return {
    subject: `${what}, two workers`,
    reference: "one process",
    subjectPerSec: median(several),
    referencePerSec: median(one),
    ratio,
    value: ratio,
    spread: spreadOf(several.map((perSec, round) => perSec / one[round])),
  };
}

async function takeTurns(measure: Measure): Promise<Rates> {
  const rates = SIDES.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    // Neither side is always the one that runs after the other.
    const order = [...SIDES.keys()];
    for (const i of round % 2 === 0 ? order : order.toReversed()) {
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
