import { describe, expect, it } from "vitest";
import { Latency } from "../metrics/latency.js";
import { createRandom } from "../random.js";
import { DistinctKeys, hashText } from "./distinct-keys.js";
import { HeavyKeys } from "./heavy-keys.js";
import { Periods } from "./periods.js";

describe("heavy keys", () => {
  const watch = (keysMax: number) =>
    new HeavyKeys({ keysMax, chance: createRandom(2), hotHits: 3 });
  const hit = (keys: HeavyKeys, key: string) => keys.hit(key, hashText(key, 12_345));
  const top = (keys: HeavyKeys) => [...keys].sort((a, b) => b.hits - a.hits);

  it("are counted exactly while all of them fit", () => {
    const keys = watch(4);
    for (const key of ["a", "b", "a", "c", "a", "b"]) hit(keys, key);
    expect(top(keys)).toEqual([
      { key: "a", hits: 3 },
      { key: "b", hits: 2 },
      { key: "c", hits: 1 },
    ]);
  });

  it("are found in a flood of keys that come once, in bounded room", () => {
    const chance = createRandom(1);
    const keys = watch(40);
    for (let i = 0; i < 100_000; i++) {
      hit(keys, chance() < 0.2 ? `heavy-${Math.floor(chance() * 3)}` : `once-${i}`);
    }
    expect([...keys].length).toBeLessThanOrEqual(40);
    const names = top(keys).map(({ key }) => key);
    expect(names.slice(0, 3).sort()).toEqual(["heavy-0", "heavy-1", "heavy-2"]);
  });

  it("are counted separately if their hashes are the same", () => {
    const keys = watch(4);
    for (const key of ["a", "b", "a"]) keys.hit(key, 7);
    expect(top(keys)).toEqual([
      { key: "a", hits: 2 },
      { key: "b", hits: 1 },
    ]);
  });

  it("are hot once for as long as they stay so, and again when they have cooled", () => {
    const keys = watch(4);
    const hitsUntilHot = () => Array.from({ length: 4 }, () => hit(keys, "a"));
    expect(hitsUntilHot()).toEqual([false, false, true, false]);
    keys.roll(1);
    expect(hitsUntilHot()).toEqual([false, false, false, false]);
    keys.roll(2);
    expect(hitsUntilHot()).toEqual([false, false, true, false]);
  });

  it("are forgotten two periods after they came last", () => {
    const keys = watch(4);
    hit(keys, "old");
    keys.roll(1);
    hit(keys, "new");
    expect(top(keys).length).toBe(2);
    keys.roll(1);
    expect(top(keys)).toEqual([{ key: "new", hits: 1 }]);
    keys.roll(7);
    expect(top(keys)).toEqual([]);
  });
});

describe("distinct keys", () => {
  it("are estimated within a tenth, from none to a hundred thousand, however often each comes", () => {
    for (const count of [0, 1, 10, 500, 3_000, 20_000, 100_000]) {
      const keys = new DistinctKeys(12_345);
      for (let i = 0; i < count * 2; i++) keys.add(`user:${i % count}`);
      expect(Math.abs(keys.estimate - count)).toBeLessThanOrEqual(count * 0.1);
    }
  });

  it("are those of this period and the last one", () => {
    const keys = new DistinctKeys(1);
    for (let i = 0; i < 100; i++) keys.add(`old-${i}`);
    keys.roll(1);
    for (let i = 0; i < 100; i++) keys.add(`new-${i}`);
    expect(keys.estimate).toBeGreaterThan(180);
    keys.roll(1);
    expect(keys.estimate).toBeLessThan(120);
    keys.roll(2);
    expect(keys.estimate).toBe(0);
  });
});

describe("latencies", () => {
  it("fall into cumulative buckets from 50 µs, a bound being part of its bucket", () => {
    const latency = new Latency();
    for (const ms of [0.01, 0.05, 0.051, 3, 9_999, -1, Number.NaN]) latency.observeMs(ms);
    const samples = [...latency.samples("x", { listener: "gateway" })];
    const bucket = (le: string) => samples.find(({ labels }) => labels.le === le)?.value;
    expect([bucket("0.00005"), bucket("0.0001"), bucket("0.005"), bucket("5")]).toEqual([
      4, 5, 6, 6,
    ]);
    expect(bucket("+Inf")).toBe(7);
    expect(samples.find(({ metricName }) => metricName === "x_count")?.value).toBe(7);
    const sum = samples.find(({ metricName }) => metricName === "x_sum")?.value;
    expect(sum).toBeCloseTo(10.002_111);
  });
});

describe("periods", () => {
  it("cover the time of the one that runs and the one before, at least a second", () => {
    let nowMs = 700;
    const periods = new Periods(5_000, () => nowMs);
    expect([periods.current, periods.seconds]).toEqual([0, 1]);
    nowMs = 700 + 4_000;
    expect([periods.current, periods.seconds]).toEqual([0, 4]);
    nowMs = 700 + 6_000;
    expect([periods.current, periods.seconds]).toEqual([1, 6]);
    nowMs = 700 + 52_000;
    expect([periods.current, periods.seconds]).toEqual([10, 7]);
  });
});

describe("chance", () => {
  it("is spread evenly from 0 to below 1, repeats by its seed, and is never stuck", () => {
    const draws = Array.from({ length: 10_000 }, createRandom(0));
    expect(draws.every((draw) => draw >= 0 && draw < 1)).toBe(true);
    expect(draws.reduce((a, b) => a + b) / draws.length).toBeCloseTo(0.5, 1);
    expect(Array.from({ length: 3 }, createRandom(5))).toEqual(
      Array.from({ length: 3 }, createRandom(5)),
    );
    expect(createRandom()()).not.toBe(createRandom()());
  });
});
