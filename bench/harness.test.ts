import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { type Bench, type Bound, toResult, type Verdict } from "./bench.js";
import { benches, selectBenches, unknownNames } from "./catalogue.js";
import {
  inTurn,
  interleave,
  median,
  type Run,
  rangeOf,
  spreadOf,
  toComparison,
} from "./harness.js";
import { replaceSections, SECTIONS } from "./page.js";
import { FreshIds, RandomIds } from "./random.js";
import { toJsonLine, toText, toVerdict } from "./report.js";

const page = readFileSync(new URL("../docs/benchmarks.md", import.meta.url), "utf8");

describe("the mathematics of rounds", () => {
  it("takes the middle value, or the mean of the two in the middle", () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  //  rounds  left out on each side     (binomial: a round is below the true median like a coin)
  it.each([
    [1, 0],
    [3, 0],
    [7, 0],
    [8, 0],
    [9, 1],
    [11, 1],
    [12, 2],
    [15, 3],
    [25, 7],
  ])("the spread of %d rounds leaves out %d on each side", (rounds, leftOut) => {
    const values = Array.from({ length: rounds }, (_, i) => i).toReversed();
    expect(spreadOf(values)).toEqual([leftOut, rounds - 1 - leftOut]);
  });

  it("the spread holds the true median in 95 of 100 series of rounds at least", () => {
    const chance = new RandomIds(2 ** 31);
    const series = 2_000;
    let held = 0;
    for (let i = 0; i < series; i++) {
      // A skewed noise, as that of a machine that others disturb: its median is 1/4.
      const rounds = Array.from({ length: 9 }, () => chance.nextFraction() ** 2);
      const [low, high] = spreadOf(rounds);
      if (low <= 0.25 && 0.25 <= high) held++;
    }
    expect(held / series).toBeGreaterThan(0.945);
  });

  it("by processor time, a side that waits is faster than its waits allow", async () => {
    vi.stubGlobal("gc", () => {});
    const waitMs = 20;
    const contender = { name: "waits", run: () => sleep(waitMs, 1) };
    const rounds = { operations: 1, rounds: 7, warmUpRounds: 0 };
    const [byClock] = await interleave([contender], rounds);
    const [byCpu] = await interleave([contender], { ...rounds, isByCpu: true });
    vi.unstubAllGlobals();
    expect(byClock?.medianPerSec).toBeLessThan(1.2 * (1_000 / waitMs));
    expect(byCpu?.medianPerSec).toBeGreaterThan(2 * (1_000 / waitMs));
  });

  it("takes the smallest and the largest value as the range", () => {
    expect(rangeOf([2, 9, 4])).toEqual([2, 9]);
  });

  it("compares round by round: what slows both sides of a round changes nothing", () => {
    const comparison = toComparison(runOf([10, 20, 90]), runOf([10, 5, 9]));
    expect(comparison.ratio).toBe(4);
    expect(comparison.spread).toEqual([1, 10]);
  });

  it("changes the order of the sides with every round", () => {
    expect([-1, 0, 1].map((round) => inTurn(["a", "b"], round).join(""))).toEqual([
      "ba",
      "ab",
      "ba",
    ]);
  });

  it("refuses fewer than seven rounds", async () => {
    await expect(interleave([], { operations: 1, rounds: 6 })).rejects.toThrow("at least 7");
  });
});

describe("bars and goals", () => {
  //  is          bar  goal  value  verdict    goalVerdict
  it.each<[Bound["is"], number, number, number, Verdict, Verdict]>([
    ["at least", 2, 4, 1.9, "missed", "missed"],
    ["at least", 2, 4, 2, "reached", "missed"],
    ["at least", 2, 4, 4, "reached", "reached"],
    ["at most", 4, 2, 4, "reached", "missed"],
    ["at most", 4, 2, 2, "reached", "reached"],
    ["below", 4, 0, 4, "missed", "missed"],
    ["below", 4, 0, 0, "reached", "reached"],
  ])("%s %d with goal %d: %d", (is, bar, goal, value, verdict, goalVerdict) => {
    const result = toResult(benchOf({ is, bar, goal }), { subject: "s", value });
    expect(result).toMatchObject({ verdict, goalVerdict });
  });

  //  spread       verdict    goalVerdict   in words
  it.each<[readonly [number, number], Verdict, Verdict, string]>([
    [[1.2, 1.9], "missed", "missed", "missed"],
    [[1.9, 2.1], "unclear", "missed", "unclear"],
    [[2.0, 2.1], "reached", "missed", "bar reached"],
    [[2.1, 4.1], "reached", "unclear", "bar reached, goal unclear"],
    [[1.9, 4.1], "unclear", "unclear", "unclear"],
    [[4.0, 4.1], "reached", "reached", "goal reached"],
  ])("bar 2 and goal 4 with a spread of %j: %s, %s", (spread, verdict, goalVerdict, words) => {
    const finding = { subject: "s", value: (spread[0] + spread[1]) / 2, spread };
    const result = toResult(benchOf({ is: "at least", bar: 2, goal: 4 }), finding);
    expect(result).toMatchObject({ verdict, goalVerdict });
    expect(toVerdict(result)).toBe(words);
    expect(JSON.parse(toJsonLine(result))).toMatchObject({ verdict, goalVerdict });
  });

  it("a value outside its spread, as a mean can be, is unclear too", () => {
    const finding = { subject: "s", value: 1, spread: [2, 3] as const };
    const bench = benchOf({ is: "at least", bar: 2, goal: 2 });
    expect(toResult(bench, finding).verdict).toBe("unclear");
  });

  it("judges nothing without a bar, in quick mode, nor a figure that only stands beside", () => {
    const [finding, bound] = [
      { subject: "s", value: 1 },
      { is: "at least", bar: 2, goal: 2 } as const,
    ];
    expect(toResult(benchOf(undefined), finding).verdict).toBeUndefined();
    expect(toResult(benchOf(bound), { ...finding, isJudged: false }).verdict).toBeUndefined();
    const quick = toResult(benchOf(bound), finding, false);
    expect(quick.verdict).toBeUndefined();
    expect(toText(quick)).toContain("not judged (bar ≥ 2.00×, goal ≥ 2.00×)");
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

  it("in quick mode each is found by the area in its id alone", async () => {
    for (const bench of benches) {
      const area = await import(`./areas/${bench.id.split("/")[0]}.ts`);
      expect(area.benches).toContain(bench);
    }
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
    const sections = new Map(SECTIONS.map((name) => [name, "new"]));
    expect(replaceSections(page, sections).match(/^new$/gm)).toHaveLength(sections.size);
  });

  it("a line of JSON has every field, null where it does not apply", () => {
    const line = toJsonLine(toResult(benchOf(undefined), { subject: "s", value: 1 }));
    const nothing = { reference: null, ratio: null, bar: null, goal: null, verdict: null };
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
