// One run: a scenario under one consistency from one seed, and what was found.

import { boundOf } from "./bounds.js";
import type { Fault } from "./faults.js";
import type { Random } from "./kernel/random.js";
import { Simulation, START_MS } from "./kernel/simulation.js";
import { fairnessOf, recoveryMsOf } from "./measures.js";
import { type Scenario, USUAL } from "./scenario.js";
import { type ChargeGaps, findChargeGaps } from "./world/charge-gaps.js";
import { CONSISTENCIES, type Consistency } from "./world/node.js";
import { ACROSS, type Across } from "./world/regional-policy.js";
import type { Slice } from "./world/truth.js";
import { World, type WorldOptions } from "./world/world.js";

/** Which run. */
export interface RunOptions {
  readonly scenario: Scenario;
  readonly consistency: Consistency;
  /** How regions agree, where the scenario has several; default `each`. */
  readonly across?: Across;
  readonly seed: number;
  /** Default: what the scenario says. */
  readonly nodes?: number;
  /** Default: those of the scenario. */
  readonly faults?: readonly Fault[];
  /** The whole traffic is this many times what the scenario says; default 1. */
  readonly factor?: number;
}

/** What a run found. Everything but `tookMs` and `cpuMs` is the same whenever it is repeated. */
export interface RunResult {
  readonly scenario: string;
  readonly consistency: Consistency;
  /** How regions agree; undefined if there is one. */
  readonly across: Across | undefined;
  readonly seed: number;
  readonly nodes: number;
  readonly decisions: number;
  readonly admitted: number;
  readonly refused: number;
  /** The most units by which a caller was above its limit, as a share of the limit. */
  readonly overshoot: number;
  /** What the overshoot may be at most, as a share of the limit; undefined if nothing is promised. */
  readonly overshootMax: number | undefined;
  /** With merged counts: by how much a limit was exceeded beyond what other regions had not heard of; 0 otherwise. */
  readonly unheardBeyond: number;
  /** Admissions that one exact counter would have refused, as a share of all admissions. */
  readonly excess: number;
  /** Refusals that one exact counter would have admitted, as a share of all decisions. */
  readonly early: number;
  /** Decisions by `onStoreFailure`, as a share of all. */
  readonly fallback: number;
  /** Jain's index of what callers got of what they were entitled to; 1 is even. */
  readonly fairness: number;
  /**
   * How long after the last fault callers were admitted less than without the faults, in milliseconds: infinity (in JSON null)
   * if still at the end; undefined without a fault, and unless it was {@link runWithRecovery}.
   */
  readonly recoveryMs: number | undefined;
  readonly storeCallsPerSecond: number;
  /** Calls of the store for a thousand decisions. */
  readonly storeCallsPerThousand: number;
  readonly bytesPerThousand: number;
  /** Bytes between regions for a thousand decisions; undefined if there is one region. */
  readonly distantBytesPerThousand: number | undefined;
  /** Bytes a second over each link: within a region by its name, between two by both. */
  readonly linkBytesPerSecond: Readonly<Record<string, number>>;
  readonly decisionsPerNodeSecond: number;
  /** With two rules: the most units of a caller that were admitted and that a rule did not count; there should be none. */
  readonly uncharged: number;
  /** With two rules: the most units that a rule counted although they were refused. */
  readonly chargedInVain: number;
  /** Whether there may be such units: faults keep charges from being refunded, and leases hold units that no request spends. */
  readonly mayChargeInVain: boolean;
  /** Requests without an answer three seconds after the last one, and checks that failed; there should be none of either. */
  readonly unanswered: number;
  readonly failures: number;
  /** What was decided, in slices of 100 ms. */
  readonly timeline: readonly Slice[];
  /** When each fault happened, from the start. */
  readonly faultsAtMs: readonly number[];
  /** Real time, and time of processors. */
  readonly tookMs: number;
  readonly cpuMs: number;
}

/** How processes and regions agree in a run. */
export type Agreement = Pick<RunOptions, "consistency" | "across">;

/**
 * The agreements under which a scenario runs: each consistency, and where it has several regions, each `across` with those
 * consistencies that count in a shared store before they admit.
 */
export function agreementsOf({ options, across: ways = ACROSS }: Scenario): readonly Agreement[] {
  if (options.regions === undefined) return CONSISTENCIES.map((consistency) => ({ consistency }));
  return ways.flatMap((across) => [
    { consistency: "strict" as const, across },
    { consistency: "leased" as const, across },
  ]);
}

/** How long after the last request the world continues, so that every answer arrives. */
const AFTERMATH_MS = 3_000;

/** Runs a scenario. */
export async function runScenario(options: RunOptions): Promise<RunResult> {
  const start = { ms: performance.now(), cpu: process.cpuUsage() };
  const { scenario } = options;
  const simulation = new Simulation(options.seed);
  const world = new World(simulation, optionsOf(options));
  const ask = scenario.ask ?? ((all: World) => all.askRandomly());
  const random = simulation.randomOf("arrivals");
  const factor = options.factor ?? 1;
  const faults = options.faults ?? faultsOf(options);
  for (const fault of faults) simulation.after(fault.atMs, () => fault.apply(world));
  every(simulation, scenario.durationMs, () => {
    const perMs = (factor * scenario.ratePerSecond(simulation.nowMs - START_MS)) / 1_000;
    arrive(random, perMs, () => ask(world));
  });
  await simulation.run(scenario.durationMs + AFTERMATH_MS);
  world.truth.end();
  const gaps = await findChargeGaps(world, simulation);
  const { user, system } = process.cpuUsage(start.cpu);
  const took = { tookMs: performance.now() - start.ms, cpuMs: (user + system) / 1_000 };
  return toResult(options, world, { faults, gaps, took });
}

/** Runs a scenario, and if it has faults also without them, which shows how long it took to recover. */
export async function runWithRecovery(options: RunOptions): Promise<RunResult> {
  const result = await runScenario(options);
  const faults = options.faults ?? faultsOf(options);
  if (faults.length === 0) return result;
  const { timeline: undisturbed } = await runScenario({ ...options, faults: [] });
  const lastFaultMs = Math.max(...faults.map(({ atMs }) => atMs));
  const { durationMs } = options.scenario;
  const { timeline } = result;
  return {
    ...result,
    recoveryMs: recoveryMsOf({ timeline, undisturbed, lastFaultMs, durationMs }),
  };
}

/** What goes wrong in a run, in the order of time. */
export function faultsOf(options: RunOptions): readonly Fault[] {
  const random = new Simulation(options.seed).randomOf("faults");
  const faults = options.scenario.faults?.(optionsOf(options), random) ?? [];
  return [...faults].sort((a, b) => a.atMs - b.atMs);
}

function optionsOf({ scenario, consistency, across = "each", nodes }: RunOptions): WorldOptions {
  const options = { ...USUAL, ...scenario.options, consistency, across };
  // Every region has a process.
  return nodes === undefined
    ? options
    : { ...options, nodes: Math.max(nodes, options.regions.length) };
}

/** Does something at the start of every millisecond. */
function every(simulation: Simulation, durationMs: number, task: () => void): void {
  const endMs = simulation.nowMs + durationMs;
  const tick = () => {
    task();
    if (simulation.nowMs + 1 < endMs) simulation.after(1, tick);
  };
  simulation.after(0, tick);
}

function arrive(random: Random, mean: number, ask: () => void): void {
  for (let left = random.poisson(mean); left > 0; left--) ask();
}

function toResult(
  options: RunOptions,
  world: World,
  {
    faults,
    gaps,
    took,
  }: {
    faults: readonly Fault[];
    gaps: ChargeGaps | undefined;
    took: Pick<RunResult, "tookMs" | "cpuMs">;
  },
): RunResult {
  const { scenario, consistency, seed } = options;
  const { counts, timeline } = world.truth;
  const seconds = scenario.durationMs / 1_000;
  const limits = [...world.options.limits, ...world.options.homeLimits];
  const capacity = Math.min(...limits.map((limit) => limit.capacity));
  const { unheard } = world.truth;
  const forgotten = scenario.isStoreFaulty === true ? capacity : 0;
  const bound =
    unheard === undefined ? boundOf(scenario, world.options) : unheard.unitsMax + forgotten;
  const hasRegions = world.options.regions.length > 0;
  return {
    scenario: scenario.name,
    consistency,
    across: hasRegions ? world.options.across : undefined,
    seed,
    nodes: world.nodes.length,
    decisions: world.decisions,
    admitted: counts.admitted,
    refused: counts.refused,
    overshoot: counts.overshootUnitsMax / capacity,
    overshootMax: bound === undefined ? undefined : bound / capacity,
    unheardBeyond: Math.max(0, (unheard?.beyondMax ?? 0) - forgotten) / capacity,
    excess: counts.admitted === 0 ? 0 : counts.excessUnits / counts.admitted,
    early: counts.earlyRefusals / world.decisions,
    fallback: world.fallbackDecisions / world.decisions,
    fairness: fairnessOf(world.truth, limits, scenario.durationMs),
    recoveryMs: undefined,
    storeCallsPerSecond: world.storeCalls / seconds,
    storeCallsPerThousand: (1_000 * world.storeCalls) / world.decisions,
    bytesPerThousand: (1_000 * world.traffic.bytes) / world.decisions,
    distantBytesPerThousand: hasRegions
      ? (1_000 * world.traffic.distantBytes) / world.decisions
      : undefined,
    linkBytesPerSecond: Object.fromEntries(
      [...world.links].map(([name, { bytes }]) => [name, bytes / seconds]),
    ),
    decisionsPerNodeSecond: world.decisions / world.nodes.length / seconds,
    uncharged: gaps?.uncharged ?? 0,
    chargedInVain: gaps?.inVain ?? 0,
    mayChargeInVain: faults.length > 0 || [consistency, world.options.across].includes("leased"),
    unanswered: world.unanswered,
    failures: world.failures,
    timeline,
    faultsAtMs: faults.map(({ atMs }) => atMs),
    ...took,
  };
}
