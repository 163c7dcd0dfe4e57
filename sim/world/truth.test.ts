import { fixedWindow, tokenBucket } from "sluice";
import { expect, it } from "vitest";
import { runScenario } from "../run.js";
import { scenarioOf } from "../scenarios.js";
import { Truth } from "./truth.js";

it("knows by how much a window was exceeded, and which refusals were early", () => {
  const truth = new Truth([fixedWindow({ limit: 3, windowMs: 1_000 })], 2, 0);
  const note = (caller: number, allowed: boolean, atMs: number) =>
    truth.note(caller, allowed, { atMs, nowMs: atMs });
  for (let atMs = 0; atMs < 5; atMs++) note(0, true, atMs);
  note(0, false, 20);
  note(1, false, 30);
  note(0, false, 1_000);
  truth.end();
  expect(truth.counts).toMatchObject({
    admitted: 5,
    refused: 3,
    overshootUnitsMax: 2,
    excessUnits: 2,
    // Of the second caller, and in the second window.
    earlyRefusals: 2,
  });
});

it("knows what a bucket has refilled", () => {
  const truth = new Truth([tokenBucket({ capacity: 2, refillPerSecond: 1 })], 1, 0);
  for (const [allowed, atMs] of [
    [true, 0],
    [true, 0],
    [false, 999],
    [false, 1_000],
    [true, 1_001],
    [true, 1_500],
  ] as const)
    truth.note(0, allowed, { atMs, nowMs: atMs });
  truth.end();
  expect(truth.counts.overshootUnitsMax).toBeCloseTo(0.5);
  expect(truth.counts.earlyRefusals).toBe(1);
});

it("counts the bytes of each link, those between regions apart", async () => {
  const { decisions, distantBytesPerThousand, linkBytesPerSecond } = await runScenario({
    scenario: scenarioOf("regions"),
    consistency: "strict",
    across: "central",
    seed: 1,
    nodes: 3,
    factor: 0.02,
  });
  expect(Object.keys(linkBytesPerSecond).sort()).toEqual(["ap", "eu", "eu–ap", "eu–us", "us"]);
  const between = linkBytesPerSecond["eu–ap"] + linkBytesPerSecond["eu–us"];
  expect(linkBytesPerSecond["eu–us"]).toBeGreaterThan(0);
  const seconds = scenarioOf("regions").durationMs / 1_000;
  expect(between * seconds).toBeCloseTo(((distantBytesPerThousand ?? 0) * decisions) / 1_000, 3);
});
