// What several processes cost: decisions per second of processor time of a primary and two workers together, over
// those of one process that does the same alone. Below 1 is the price of using a second core. All of a side runs
// on one processor, where busy processes evict each other's code and data from its caches. To show what that
// costs, a second figure, which is not judged, compares the workers with two processes that share nothing and have
// half the load each.

import { type Bench, type Finding, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import { ask, start } from "../service/envoy.js";
import { askProxies, LOAD_CPU, type RunningProxy, startProxies } from "../service/proxies-load.js";
import { type Served, startServed } from "./service.js";

/** Many and short: other load on the machine comes and goes, and the interval of a median narrows with the rounds. */
const ROUNDS = effort({ full: 21, quick: 1 });
/** The services of a side, by the number of their processes that decide. */
type Services = readonly number[];
/** Two workers, one process, two processes that share nothing. */
const SIDES: readonly Services[] = [[2], [1], [1, 1]];
const REFERENCES = ["one process", "two processes that share nothing"];
const MANY_ADDRESSES = "10000";
/** Seconds of the service's processor time in a round. Each process has its own compiler to warm up. */
const ROUND_SECONDS = effort({ full: 0.75, quick: 0.5 });
const WARM_UP_SECONDS = effort({ full: 2, quick: 0.5 });
const WARM_UP_CALLS = effort({ full: 40_000, quick: 10_000 });
const ROUND_CALLS = effort({ full: 20_000, quick: 10_000 });
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
  conclude: ([rates]) => toFindings("requests through the gateway", rates),
};

export const workersRefuse: Bench<Rates> = {
  id: "workers/refuse",
  unit: "ratio",
  bound,
  parts: ["all"],
  runPart: () => overGateway(1),
  conclude: ([rates]) => toFindings("refusals of the gateway, one address", rates),
};

export const workersEnvoy: Bench<Rates> = {
  id: "workers/envoy",
  unit: "ratio",
  bound,
  parts: ["100", MANY_ADDRESSES],
  runPart: (addresses) => {
    const sides = addresses === MANY_ADDRESSES ? SIDES.slice(0, 2) : SIDES;
    return takeTurns((services) => startEnvoy(services, addresses), sides);
  },
  conclude: ([few, many]) => [
    ...toFindings("ShouldRateLimit, 100 addresses", few),
    ...toFindings("ShouldRateLimit, 10,000 addresses", many).map(beside),
  ],
};

function toFindings(what: string, [workers, ...others]: Rates): readonly Finding[] {
  const subject = `${what}, two workers`;
  return others.map((rates, i) => {
    const finding = toRatioFinding({ subject, reference: REFERENCES[i] }, workers, rates);
    return i === 0 ? finding : beside(finding);
  });
}

function beside(finding: Finding): Finding {
  return { ...finding, isJudged: false };
}

/** Running services, and the load on them. */
interface Side {
  /** Asks until all processes are warm. */
  warmUp(): Promise<unknown>;
  /** Decisions for each second of processor time, in one round. */
  ask(): Promise<number>;
  stop(): void;
}

/** All sides run all the time and are asked in turns, so that other load on the machine affects each. */
async function takeTurns(
  start: (services: Services) => Promise<Side>,
  all: readonly Services[] = SIDES,
): Promise<Rates> {
  const sides: Side[] = [];
  try {
    for (const services of all) sides.push(await start(services));
    for (const side of sides) await side.warmUp();
    const rates = sides.map((): number[] => []);
    for (let round = 0; round < ROUNDS; round++) {
      for (const i of inTurn([...sides.keys()], round)) rates[i].push(await sides[i].ask());
    }
    return rates;
  } finally {
    for (const side of sides) side.stop();
  }
}

/** Services with this many workers each. */
async function startAll(
  services: Services,
  served: Omit<Served, "workers">,
): Promise<RunningProxy[]> {
  const started: RunningProxy[] = [];
  for (const workers of services) started.push(await startServed({ ...served, workers }));
  return started;
}

async function overGateway(limit: number): Promise<Rates> {
  const { upstream, stop } = await startProxies([]);
  const asking = { isRefused: limit === 1 };
  const served = { listener: "gateway", limit, upstreamPort: upstream.port } as const;
  try {
    return await takeTurns(async (services) => {
      const started = await startAll(services, served);
      return {
        warmUp: () => askProxies(started, WARM_UP_SECONDS * sum(services), asking),
        ask: () => askProxies(started, ROUND_SECONDS, asking),
        stop: () => stopAll(started),
      };
    });
  } finally {
    stop();
  }
}

async function startEnvoy(services: Services, addresses: string): Promise<Side> {
  const started = await startAll(services, { listener: "envoy", limit: NEVER_REACHED });
  const ports = started.map(({ port }) => port).join();
  const load = start(LOAD_CPU, "envoy-load.js", ports, addresses);
  const cpuSeconds = () => sum(started.map((service) => service.cpuSeconds()));
  return {
    warmUp: () => ask(load, WARM_UP_CALLS * sum(services)),
    ask: async () => {
      // Leases were returned while another side was asked; a service in use has them.
      await ask(load, ROUND_CALLS / 4);
      const before = cpuSeconds();
      const calls = await ask(load, ROUND_CALLS);
      return calls / (cpuSeconds() - before);
    },
    stop: () => {
      load.disconnect();
      stopAll(started);
    },
  };
}

function stopAll(services: readonly RunningProxy[]): void {
  for (const service of services) service.stop();
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
