// What several processes cost: decisions for each second of processor time of a primary and two workers together, over
// those of one process that does the same alone. Below 1 is the price of using a second core.

import { type Bench, type Finding, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import { start, tell } from "../service/envoy.js";
import { askProxy, LOAD_CPU, startProxies } from "../service/proxies-load.js";
import { startServed } from "./service.js";

const ROUNDS = effort({ full: 9, quick: 1 });
/** Two workers, and one process. */
const SIDES = [2, 1] as const;
/** Of the service's processor time. Each process has a compiler of its own to warm up. */
const ROUND_SECONDS = effort({ full: 1.5, quick: 0.5 });
const WARM_UP_SECONDS = effort({ full: 2, quick: 0.5 });
const WARM_UP_CALLS = effort({ full: 40_000, quick: 10_000 });
const ROUND_CALLS = effort({ full: 30_000, quick: 10_000 });
const NEVER_REACHED = 1_000_000_000;

/** Decisions per second of processor time of each side, one figure for each round. */
type Rates = readonly (readonly number[])[];

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
  runPart: (addresses) => takeTurns((workers) => startEnvoy(workers, addresses)),
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

/** A running service, and the load on it. */
interface Side {
  /** Asks until all its processes are warm. */
  warmUp(): Promise<unknown>;
  /** Decisions for each second of processor time, in one round. */
  ask(): Promise<number>;
  stop(): void;
}

/** Both sides run all the time and are asked in turns, so that other load on the machine affects both. */
async function takeTurns(start: (workers: number) => Promise<Side>): Promise<Rates> {
  const sides: Side[] = [];
  try {
    for (const workers of SIDES) sides.push(await start(workers));
    for (const side of sides) await side.warmUp();
    const rates = SIDES.map((): number[] => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (const i of inTurn([...SIDES.keys()], round)) rates[i].push(await sides[i].ask());
    }
    return rates;
  } finally {
    for (const side of sides) side.stop();
  }
}

async function overGateway(limit: number): Promise<Rates> {
  const { upstream, stop } = await startProxies([]);
  const isRefused = limit === 1;
  try {
    return await takeTurns(async (workers) => {
      const served = { workers, door: "gateway", limit, upstreamPort: upstream.port } as const;
      const service = await startServed(served);
      return {
        warmUp: () => askProxy(service, WARM_UP_SECONDS * workers, { isRefused }),
        ask: () => askProxy(service, ROUND_SECONDS, { isRefused }),
        stop: service.stop,
      };
    });
  } finally {
    stop();
  }
}

async function startEnvoy(workers: number, addresses: string): Promise<Side> {
  const service = await startServed({ workers, door: "envoy", limit: NEVER_REACHED });
  const load = start(LOAD_CPU, "envoy-load.js", `${service.port}`, addresses);
  return {
    warmUp: () => tell(load, WARM_UP_CALLS * workers),
    ask: async () => {
      // Leases were returned while the other side was asked; a service in use has them.
      await tell(load, ROUND_CALLS / 4);
      const before = service.cpuSeconds();
      const calls = await tell(load, ROUND_CALLS);
      return calls / (service.cpuSeconds() - before);
    },
    stop: () => {
      load.disconnect();
      service.stop();
    },
  };
}
