import { describe, expect, it } from "vitest";
import { brokenPromise } from "./bounds.js";
import type { Fault } from "./faults.js";
import {
  agreementsOf,
  type RunOptions,
  type RunResult,
  runScenario,
  runWithRecovery,
} from "./run.js";
import type { Scenario } from "./scenario.js";
import { scenarioOf, scenarios } from "./scenarios.js";
import { shrinkFaults, toReport } from "./shrink.js";
import type { Across } from "./world/regional-policy.js";

/** How many random schedules of faults; a soak runs many more. */
const SEEDS = Number(process.env.SLUICE_SIM_SEEDS ?? 2);
const FEW = { nodes: 4, factor: 0.03 };
/** How long a test looks for fewer faults. */
const SHRINK_MS_MAX = 15_000;

/** Runs, and fails with the seed and the fewest faults if a promise was broken. */
async function runKept(run: RunOptions): Promise<RunResult> {
  const result = await runScenario(run);
  const broken = brokenPromise(result);
  if (broken !== undefined) expect.fail(await toReport(run, broken, SHRINK_MS_MAX));
  return result;
}

/** What a run found, as text: without the time that it took. */
async function figuresOf(run: RunOptions): Promise<string> {
  const { tookMs: _, cpuMs: __, ...figures } = await runScenario(run);
  return JSON.stringify(figures);
}

it.each(["learned", "leased", "merged"] as const)(
  "repeats from its seed over three regions, across %s",
  async (across) => {
    const scenario = scenarioOf("regions-chaos");
    const run = { scenario, consistency: "leased", across, seed: 7, factor: 0.06 } as const;
    expect(await figuresOf(run)).toBe(await figuresOf(run));
  },
);

it("repeats from its seed to the last figure", async () => {
  const run = { scenario: scenarioOf("chaos"), consistency: "leased", seed: 7, ...FEW } as const;
  const first = await figuresOf(run);
  expect(await figuresOf(run)).toBe(first);
  expect(await figuresOf({ ...run, seed: 8 })).not.toBe(first);
});

describe.each(["strict", "leased"] as const)("%s", (consistency) => {
  const agreements = scenarios.flatMap((scenario) =>
    agreementsOf(scenario)
      .filter((agreement) => agreement.consistency === consistency)
      .map(({ across }) => [scenario.name, across ?? "one region", across, scenario] as const),
  );
  it.each(agreements)("keeps its promises: %s, %s", async (_, __, across, scenario) => {
    const run = { scenario, consistency, seed: 1, ...FEW };
    const result = await runKept(across === undefined ? run : { ...run, across, factor: 0.06 });
    expect(result.decisions).toBeGreaterThan(1_000);
    expect(result.admitted).toBeGreaterThan(0);
  });

  it(`never exceeds a window, whatever fails, from ${SEEDS} seeds`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const result = await runKept({ scenario: scenarioOf("chaos"), consistency, seed });
      expect(result.overshoot, `seed ${seed}`).toBe(0);
    }
  });

  it.each(["central", "split", "learned", "leased"] as const)(
    `never exceeds a window over three regions, whatever fails between them, from ${SEEDS} seeds: %s`,
    async (across) => {
      const scenario = scenarioOf("regions-chaos");
      // Leases make more calls, each of which is simulated.
      const seeds = across === "leased" ? Math.ceil(SEEDS / 3) : SEEDS;
      for (let seed = 1; seed <= seeds; seed++) {
        const result = await runKept({ scenario, consistency, across, seed, factor: 0.2 });
        expect(result.overshoot, `seed ${seed}`).toBe(0);
      }
    },
  );
});

it("lets a caller have two windows of each process, if their clocks differ and they count alone", async () => {
  const scenario = scenarioOf("clock-skew");
  const run = { scenario, consistency: "local", seed: 1, nodes: 8, factor: 0.5 } as const;
  const { overshoot } = await runKept(run);
  expect(overshoot).toBeGreaterThan(7);
  expect(overshoot).toBeLessThanOrEqual(15);
});

describe("a caller that asks in each of three regions in turn", () => {
  const attack = async (across: Across) => {
    const scenario = scenarioOf("rotating-attacker");
    return await runScenario({ scenario, consistency: "strict", across, seed: 1, factor: 0.3 });
  };

  it("gets more than its limit where each counts by itself", async () => {
    const { overshoot, overshootMax } = await attack("each");
    expect(overshoot).toBeGreaterThan(0.5);
    expect(overshoot).toBeLessThanOrEqual(overshootMax ?? 0);
  });

  it("gets its limit where the home region decides or leases, and where each has a share", async () => {
    for (const across of ["central", "split", "leased"] as const) {
      const { overshoot, admitted } = await attack(across);
      expect(overshoot, across).toBe(0);
      expect(admitted, across).toBeGreaterThan(1_000);
    }
  });
});

describe("shares that regions learn", () => {
  const both = async (name: string, factor: number) => {
    const run = { scenario: scenarioOf(name), consistency: "strict" as const, seed: 1, factor };
    const [byWeight, learned] = await Promise.all([
      runScenario({ ...run, across: "split" }),
      runScenario({ ...run, across: "learned" }),
    ]);
    expect(learned.overshoot).toBe(0);
    return { byWeight, learned };
  };

  it("stay by weight where demand is even, in regions that are 200 ms apart", async () => {
    const { byWeight, learned } = await both("regions-overload", 0.5);
    expect(learned.admitted).toBeGreaterThanOrEqual(0.99 * byWeight.admitted);
    expect(learned.early).toBeLessThan(byWeight.early + 0.01);
  });

  it("follow demand in one region, which gets much more than by weight", async () => {
    const { byWeight, learned } = await both("regions-uneven", 1);
    expect(learned.admitted).toBeGreaterThan(1.7 * byWeight.admitted);
    expect(learned.early).toBeLessThan(byWeight.early / 2);
  });
});

describe("regions that merge their counts", () => {
  it("admit a caller that rotates through them little more than its limit", async () => {
    const scenario = scenarioOf("rotating-attacker");
    const run = {
      scenario,
      consistency: "strict",
      across: "merged",
      seed: 1,
      factor: 0.3,
    } as const;
    const { overshoot, admitted } = await runScenario(run);
    expect(overshoot).toBeLessThan(0.2);
    expect(admitted).toBeGreaterThan(1_000);
  });

  it(`keep within their bound, whatever fails between them, from ${SEEDS} seeds`, async () => {
    const scenario = scenarioOf("regions-chaos");
    for (let seed = 1; seed <= SEEDS; seed++) {
      await runKept({ scenario, consistency: "leased", across: "merged", seed, factor: 0.2 });
    }
  });
});

describe("a region that does not reach the home region for a minute", () => {
  const scenario = scenarioOf("region-partition");
  const cutOff = async (across: Across, faults?: readonly Fault[]) => {
    const run = { scenario, consistency: "strict" as const, across, seed: 1, factor: 0.1 };
    return await runWithRecovery(faults === undefined ? run : { ...run, faults });
  };

  it("decides under its share as if nothing had happened", async () => {
    const { admitted, fallback, recoveryMs } = await cutOff("split");
    expect(fallback).toBe(0);
    expect(recoveryMs).toBe(0);
    expect(admitted).toBe((await cutOff("split", [])).admitted);
  });

  it("refuses what the home region decides, and recovers when its circuit breaker tests it next", async () => {
    const { fallback, recoveryMs } = await cutOff("central");
    // A third of the callers for two thirds of the time.
    expect(fallback).toBeGreaterThan(0.1);
    // After a long outage a breaker tests every ten seconds.
    expect(recoveryMs).toBeLessThanOrEqual(10_000);
  });
});

describe("callers under two rules", () => {
  /** Two processes in each region; what happens at 14 s, when all that asked are known to the stores. */
  const run = async (across: Across, apply?: Fault["apply"]) => {
    const scenario = scenarioOf("regions-rules");
    const faults = apply === undefined ? [] : [{ atMs: 14_000, what: "", apply }];
    const options = { scenario, consistency: "strict" as const, seed: 1, nodes: 6, factor: 0.06 };
    return await runScenario({ ...options, across, faults });
  };

  it("are charged by both or by none", async () => {
    const { refused, uncharged, chargedInVain, mayChargeInVain } = await run("split");
    expect(refused).toBeGreaterThan(100);
    expect({ uncharged, chargedInVain, mayChargeInVain }).toEqual({
      uncharged: 0,
      chargedInVain: 0,
      mayChargeInVain: false,
    });
  });

  it("would be seen to pass for free, or to be charged for nothing", async () => {
    const free = await run("each", ({ truth, simulation: { nowMs } }) => {
      for (let i = 0; i < 3; i++) truth.note(299, true, { atMs: nowMs, nowMs });
    });
    expect(free.uncharged).toBe(3);
    expect(brokenPromise(free)).toBe("a caller was admitted 3 units that a rule did not count");
    const inVain = await run("each", (world) => {
      for (let i = 0; i < 4; i++) void world.nodes[1].check(world.keyOf(299));
    });
    expect(inVain).toMatchObject({ uncharged: 0, chargedInVain: 4 });
    expect(brokenPromise(inVain)).toBeUndefined();
    expect(brokenPromise({ ...inVain, mayChargeInVain: false })).toBe(
      "a rule counted 4 units that a caller was refused",
    );
  });
});

it("sees a limit exceeded where each process counts by itself, and few store calls with leases", async () => {
  const hot = scenarioOf("hot-key");
  const local = await runScenario({ scenario: hot, consistency: "local", seed: 1, ...FEW });
  expect(local.overshoot).toBeGreaterThan(1);
  const [strict, leased] = await Promise.all(
    (["strict", "leased"] as const).map((consistency) =>
      // Below the limit: every request is admitted, and leases save most of the calls.
      runScenario({ scenario: hot, consistency, seed: 1, nodes: 2, factor: 0.008 }),
    ),
  );
  expect(strict.storeCallsPerThousand).toBeGreaterThan(990);
  expect(leased.storeCallsPerThousand).toBeLessThan(0.5 * strict.storeCallsPerThousand);
});

it("shrinks the faults of a broken promise to those that it takes, and prints them with the seed", async () => {
  const scenario: Scenario = {
    ...scenarioOf("chaos"),
    durationMs: 2_000,
    faults: () =>
      Array.from({ length: 12 }, (_, i) => ({
        atMs: 100 * i,
        what: `fault ${i}`,
        apply: (world) => {
          // Units that no store knows.
          if (i === 7) for (let n = 0; n < 500; n++) world.truth.note(0, true, now(world));
        },
      })),
  };
  const now = ({ simulation }: { simulation: { nowMs: number } }) => ({
    atMs: simulation.nowMs,
    nowMs: simulation.nowMs,
  });
  const run = { scenario, consistency: "strict", seed: 3, ...FEW } as const;
  const faults = await shrinkFaults(run);
  expect(faults.map(({ what }) => what)).toEqual(["fault 7"]);
  expect(await toReport(run, "too many")).toBe(
    "chaos, strict, seed 3: too many. The fewest faults that reproduce it:\n  at 700 ms fault 7",
  );
});

it("says of a promise that is broken without faults that it takes none", async () => {
  const run = { scenario: scenarioOf("steady"), consistency: "strict", seed: 3, ...FEW } as const;
  expect(await toReport(run, "too many")).toBe(
    "steady, strict, seed 3: too many. It takes no fault to reproduce it.",
  );
});
