import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runScenario } from "../run.js";
import { scenarioOf } from "../scenarios.js";
import { machinesNeededFor, readCosts } from "./costs.js";
import { toPlot } from "./plot.js";
import { toPage } from "./scale-page.js";

const docOf = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)), "utf8");
const benchmarks = docOf("benchmarks.md");
const costs = { inProcessPerSecond: 5_000_000, askedPerSecond: 50_000, redisUs: 4 };
const result = await runScenario({
  scenario: scenarioOf("fleet"),
  consistency: "leased",
  seed: 1,
  nodes: 4,
  factor: 0.002,
});

describe("costs", () => {
  it("are read from the page of the benchmarks", () => {
    const { inProcessPerSecond, askedPerSecond, redisUs } = readCosts(benchmarks);
    expect(inProcessPerSecond).toBeGreaterThan(1_000_000);
    expect(askedPerSecond).toBeGreaterThan(10_000);
    expect(redisUs).toBeGreaterThan(1);
    expect(() => readCosts("")).toThrow("docs/benchmarks.md has no row of redis/leased");
  });

  it("on the page are those that were measured last: if not, npm run sim -- fleet --write", () => {
    const sentence = /The costs of its operations were .*?(?=A store is busy)/s;
    const [expected] = sentence.exec(toPage([result], readCosts(benchmarks))) ?? [];
    expect(sentence.exec(docOf("scale.md"))?.[0]).toBe(expected);
  });

  it("say what a load needs", () => {
    const run = { ...result, storeCallsPerThousand: 100, bytesPerThousand: 22_000 };
    expect(machinesNeededFor(run, costs, 10_000_000)).toEqual({
      // 9 of 10 decisions at 5 million a second, 1 of 10 at 50,000.
      processors: 22,
      // A million calls of 4 µs are 4 seconds, at 70%.
      stores: 6,
      gigabitsPerSecond: 1.76,
    });
  });
});

it("draws a line for each run, on an axis that starts at 0", () => {
  const slice = { admitted: 30, refused: 0, early: 1, excess: 0 };
  const lines = ["strict", "leased"].map((label) => ({ label, timeline: [slice, slice] }));
  const svg = toPlot({ title: "A flood", lines, faultsAtMs: [100, 900] });
  expect(svg.match(/class="line c[01]" d="M72 [\d.]+L/g)).toHaveLength(4);
  expect(svg).toContain(">300<");
  expect(svg).toContain("0.2 s");
  // In the middle; the other one is later than the last slice.
  expect(svg).toContain('class="fault" d="M384 80V364"');
});

it("draws a long run with at most a hundred points, each an average", () => {
  const timeline = Array.from({ length: 900 }, (_, i) => ({
    admitted: i % 2 === 0 ? 0 : 200,
    refused: 0,
    early: 0,
    excess: 0,
  }));
  const svg = toPlot({ title: "", lines: [{ label: "strict", timeline }], faultsAtMs: [] });
  const [line] = svg.match(/class="line c0" d="M72 [^"]+L[^"]+"/) ?? [""];
  expect(line.split("L")).toHaveLength(100);
  // 889 or 1,111 a second, on an axis to 1,500.
  expect(line).toContain("M72 128.9L78.2 111.1L");
  expect(svg).toContain(">90 s<");
  expect(svg).not.toContain('class="fault"');
});

it("says first what the load needs, and how wrong it would be", () => {
  const strict = { ...result, consistency: "strict" as const, overshoot: 0.02 };
  const page = toPage([strict, result], costs);
  const [first] = page.split("## Scenarios");
  expect(first).toMatch(/\*\*[\d,]+ processors and [\d,]+ Redis servers?\*\*/);
  expect(first).toContain("| strict, one region | 2.00% (fleet) |");
});

it("writes a page with what the runs found", () => {
  const page = toPage([result], costs);
  expect(page).toContain("| fleet | leased |");
  expect(page).toContain("Gbit/s");
  expect(page).not.toMatch(/undefined|NaN/);
});
