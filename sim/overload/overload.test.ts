import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ALGORITHMS } from "sluice/adaptive";
import { describe, expect, it } from "vitest";
import { runOverload } from "./overload-run.js";
import { overloadScenarios } from "./overload-scenarios.js";
import { FITTING_LIMIT, HIGH_LIMIT, toTable } from "./overload-table.js";

const scenarioOf = (name: string) => {
  const found = overloadScenarios.find((scenario) => scenario.name === name);
  if (found === undefined) throw new RangeError(name);
  return found;
};

describe("an overloaded backend", () => {
  it("answers no client in time under a limit that is far too high", () => {
    expect(runOverload(scenarioOf("half"), HIGH_LIMIT, 1).goodputPerSec).toBeLessThan(10);
  });

  it("repeats a run from its seed, to the last figure", () => {
    const run = () => runOverload(scenarioOf("pauses"), "gradient", 7);
    expect(run()).toEqual(run());
  });

  it.each(
    ALGORITHMS.flatMap((algorithm) =>
      overloadScenarios.map(({ name }) => [algorithm, name] as const),
    ),
  )(
    "has at least 0.93 of the goodput of a fitting limit under %s when it is %s, and after it recovers",
    (algorithm, name) => {
      const scenario = scenarioOf(name);
      const fixed = runOverload(scenario, FITTING_LIMIT, 2);
      const adaptive = runOverload(scenario, algorithm, 2);
      expect(adaptive.goodputPerSec / fixed.goodputPerSec).toBeGreaterThan(0.93);
      expect(adaptive.recoveredPerSec / fixed.recoveredPerSec).toBeGreaterThan(0.93);
      expect(adaptive.timedOutShare).toBeLessThan(0.02);
    },
  );
});

describe("the guide", () => {
  it("has the table that the simulation writes, here of one scenario", () => {
    const page = readFileSync(
      join(import.meta.dirname, "../../docs/guides/adaptive-limits.md"),
      "utf8",
    );
    expect(page).toContain(toTable(scenarioOf("half"), 1));
  });
});
