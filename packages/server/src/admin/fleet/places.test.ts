import { describe, expect, it } from "vitest";
import { type SamplesOfNode, toFleetSamples } from "./places.js";

const ALL_KEYS = { seed: 1, share: 1, hot: [] };

function node(place: string, fromMs: number, times: readonly number[]): SamplesOfNode {
  const samples = times.map((atMs) => ({ atMs, outcome: "allowed" as const, facts: null }));
  return { place, fromMs, keys: ALL_KEYS, samples };
}

describe("samples of a fleet", () => {
  it("are together by place, in order, from when all nodes of the place have them", () => {
    const { samples, fromMs } = toFleetSamples([
      node("redis", 10, [11, 15, 30]),
      node("memory", 5, [6]),
      node("redis", 14, [20]),
    ]);
    expect(samples.map(({ place, atMs }) => `${place} ${atMs}`)).toEqual([
      "redis 15",
      "redis 20",
      "redis 30",
      "memory 6",
    ]);
    expect(fromMs).toBe(5);
  });

  it("are whole for a key that each node of its place has wholly", () => {
    const none = { ...node("redis", 0, []), keys: { seed: 2, share: 0, hot: [] } };
    const { isWhole, keysShare } = toFleetSamples([
      node("redis", 0, [1]),
      none,
      node("memory", 0, [1]),
    ]);
    expect(isWhole("ip:192.0.2.1", { place: "redis" })).toBe(false);
    expect(isWhole("ip:192.0.2.1", { place: "memory" })).toBe(true);
    expect(keysShare).toBe(0);
  });

  it("of too many places are those of the busiest, and the others are counted", () => {
    const nodes = Array.from({ length: 20 }, (_, n) => node(`m${n}`, 0, Array(n).fill(1)));
    const { samples, nodesLeftOut } = toFleetSamples(nodes);
    expect([nodesLeftOut, samples.some(({ place }) => place === "m4")]).toEqual([4, true]);
    expect(samples.some(({ place }) => place === "m3")).toBe(false);
  });
});
