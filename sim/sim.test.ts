import { describe, expect, it } from "vitest";
import { brokenPromise } from "./bounds.js";
import { runScenario } from "./run.js";
import { type Scenario, scenarioOf, scenarios } from "./scenarios.js";
import { shrinkFaults } from "./shrink.js";

/** How many random schedules of faults; a soak runs many more. */
const SEEDS = Number(process.env.SLUICE_SIM_SEEDS ?? 6);
const FEW = { nodes: 6, factor: 0.05 };

const { tookMs: _, ...sample } = await runScenario({
  scenario: scenarioOf("chaos"),
  consistency: "leased",
  seed: 7,
});

it("repeats from its seed to the last figure", async () => {
  const again = await runScenario({
    scenario: scenarioOf("chaos"),
    consistency: "leased",
    seed: 7,
  });
  expect(again).toMatchObject(sample);
  const other = await runScenario({
    scenario: scenarioOf("chaos"),
    consistency: "leased",
    seed: 8,
  });
  expect(other.admitted).not.toBe(sample.admitted);
});

describe.each(["strict", "leased"] as const)("%s", (consistency) => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    "keeps its promises: %s",
    async (_, scenario) => {
      const result = await runScenario({ scenario, consistency, seed: 1, ...FEW });
      expect(result.decisions).toBeGreaterThan(1_000);
      expect(result.admitted).toBeGreaterThan(0);
      expect(brokenPromise(result)).toBeUndefined();
    },
  );

  it(`never exceeds a window, whatever fails, from ${SEEDS} seeds`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const result = await runScenario({ scenario: scenarioOf("chaos"), consistency, seed });
      expect(brokenPromise(result), `seed ${seed}`).toBeUndefined();
      expect(result.overshoot, `seed ${seed}`).toBe(0);
    }
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

it("shrinks the faults of a broken promise to those that it takes", async () => {
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
  const faults = await shrinkFaults({ scenario, consistency: "strict", seed: 1, ...FEW });
  expect(faults.map(({ what }) => what)).toEqual(["fault 7"]);
});
