import { describe, expect, it } from "vitest";
import type { RunResult } from "./run.js";
import { toListing } from "./table.js";

const result: RunResult = {
  scenario: "region-partition",
  consistency: "strict",
  across: "split",
  seed: 1,
  nodes: 12,
  decisions: 179_546,
  admitted: 95_000,
  refused: 84_546,
  overshoot: 0,
  overshootMax: 0,
  unheardBeyond: 0,
  excess: 0,
  early: 0.47,
  fallback: 0,
  fairness: 0.984,
  recoveryMs: 0,
  storeCallsPerSecond: 1_105,
  storeCallsPerThousand: 553.8,
  bytesPerThousand: 121_837,
  distantBytesPerThousand: undefined,
  linkBytesPerSecond: {},
  decisionsPerNodeSecond: 166,
  uncharged: 0,
  chargedInVain: 0,
  mayChargeInVain: false,
  unanswered: 0,
  failures: 0,
  timeline: [],
  faultsAtMs: [],
  tookMs: 0,
  cpuMs: 0,
};

describe("the list of the runs of a scenario", () => {
  it("has a column for each run and fits a terminal, however many runs there are", () => {
    const runs = Array.from({ length: 7 }, (_, at) => ({ ...result, seed: at + 1 }));
    const lines = toListing(runs).split("\n");
    expect(lines).toHaveLength(16 + 1 + 16);
    expect(lines[0]).toBe("consistency             strict   strict   strict   strict   strict");
    expect(lines[2]?.trim().split(/ +/)).toEqual(["seed", "1", "2", "3", "4", "5"]);
    expect(lines[19]?.trim().split(/ +/)).toEqual(["seed", "6", "7"]);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  });
});
