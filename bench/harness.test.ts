import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Bench, type Bound, toResult } from "./bench.js";
import { benches, selectBenches, unknownNames } from "./catalogue.js";
import { interleave, median, type Run, spreadOf, toComparison } from "./harness.js";
import { FreshIds, RandomIds } from "./random.js";
import { replaceSections, toJsonLine } from "./report.js";

const page = readFileSync(new URL("../docs/benchmarks.md", import.meta.url), "utf8");

describe("the mathematics of rounds", () => {
  it("takes the middle value, or the mean of the two in the middle", () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  it("takes the smallest and the largest value as the spread", () => {
    expect(spreadOf([2, 9, 4])).toEqual([2, 9]);
  });

  it("compares medians, and gives the spread of the ratios of single rounds", () => {
    const comparison = toComparison(runOf([10, 20, 90]), runOf([10, 5, 9]));
    expect(comparison.ratio).toBe(20 / 9);
    expect(comparison.spread).toEqual([1, 10]);
  });

  it("refuses fewer than seven rounds", async () => {
    await expect(interleave([], { operations: 1, rounds: 6 })).rejects.toThrow("at least 7");
  });
});

describe("bars and goals", () => {
  //  is          bar  goal  value  ok     reachesGoal
  it.each<[Bound["is"], number, number, number, boolean, boolean]>([
    ["at least", 2, 4, 1.9, false, false],
    ["at least", 2, 4, 2, true, false],
    ["at least", 2, 4, 4, true, true],
    ["at most", 4, 2, 4, true, false],
    ["at most", 4, 2, 2, true, true],
    ["below", 4, 0, 4, false, false],
    ["below", 4, 0, 0, true, true],
  ])("%s %d with goal %d: %d", (is, bar, goal, value, ok, reachesGoal) => {
    const result = toResult(benchOf({ is, bar, goal }), { subject: "s", value });
    expect(result).toMatchObject({ ok, reachesGoal });
  });

  it("judges nothing without a bar, nor a figure that only stands beside", () => {
    expect(toResult(benchOf(undefined), { subject: "s", value: 1 }).ok).toBeUndefined();
    const aside = { subject: "s", value: 1, isJudged: false };
    expect(toResult(benchOf({ is: "at least", bar: 2, goal: 2 }), aside).ok).toBeUndefined();
  });
});

describe("keys", () => {
  it("fresh ids never come twice", () => {
    const ids = new FreshIds(1000);
    const seen = new Set(Array.from({ length: 1000 }, () => ids.next()));
    expect(seen.size).toBe(1000);
    expect(Math.max(...seen)).toBe(999);
  });

  it("random ids stay in range and are the same in every run", () => {
    const draw = () => {
      const ids = new RandomIds(50);
      return Array.from({ length: 500 }, () => ids.next());
    };
    expect(draw()).toEqual(draw());
    expect(new Set(draw()).size).toBe(50);
  });
});

describe("the catalogue and its page", () => {
  it("docs/benchmarks.md explains exactly the ids that there are", () => {
    const section = /^## What is measured$([\s\S]*?)^## /m.exec(page)?.[1] ?? "";
    const explained = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1]);
    expect(explained.toSorted()).toEqual(benches.map(({ id }) => id).toSorted());
  });

  it("names choose by the start of an id", () => {
    expect(selectBenches(["memory/bytes"]).map(({ id }) => id)).toEqual([
      "memory/bytes-bucket",
      "memory/bytes-sliding",
    ]);
    expect(selectBenches([])).toEqual(benches);
    expect(unknownNames(["memory", "memroy"])).toEqual(["memroy"]);
  });

  it("the page has a place for every generated section", () => {
    const sections = new Map(["machine", "results", "algorithms", "floor"].map((n) => [n, "new"]));
    expect(replaceSections(page, sections).match(/^new$/gm)).toHaveLength(sections.size);
  });

  it("a line of JSON has every field, null where it does not apply", () => {
    const line = toJsonLine(toResult(benchOf(undefined), { subject: "s", value: 1 }));
    const nothing = { reference: null, ratio: null, bar: null, goal: null, ok: null, spread: null };
    expect(JSON.parse(line)).toMatchObject({ bench: "test", subject: "s", value: 1, ...nothing });
  });
});

function runOf(perSec: readonly number[]): Run {
  return { name: "run", perSec, medianPerSec: median(perSec), admittedShare: 1 };
}

function benchOf(bound: Bound | undefined): Bench {
  const bench = {
    id: "test",
    unit: "ratio",
    parts: [],
    runPart: () => 0,
    conclude: () => [],
  } as const;
  return bound === undefined ? bench : { ...bench, bound };
}
