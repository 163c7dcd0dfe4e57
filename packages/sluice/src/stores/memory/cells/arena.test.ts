// The arena against plain arrays: random operations on several lists that share it.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ExpiringUnits } from "../../../algorithms/entries.js";
import { Arena, ArenaList } from "./arena.js";

const operation = fc.oneof(
  fc.record({
    kind: fc.constant("insert" as const),
    at: fc.nat(20),
    cost: fc.integer({ min: 1, max: 5 }),
  }),
  fc.record({
    kind: fc.constant("remove" as const),
    at: fc.nat(20),
    cost: fc.integer({ min: 1, max: 5 }),
  }),
  fc.record({ kind: fc.constant("dropOldest" as const), at: fc.nat(20), cost: fc.nat(8) }),
  fc.record({ kind: fc.constant("expire" as const), at: fc.nat(20), cost: fc.constant(0) }),
  fc.record({
    kind: fc.constant("bringForward" as const),
    at: fc.integer({ min: 1, max: 20 }),
    cost: fc.constant(0),
  }),
  fc.record({ kind: fc.constant("clear" as const), at: fc.constant(0), cost: fc.constant(0) }),
);

type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** The same list as units, each with its own expiry. */
function applyToUnits(units: number[], { kind, at, cost }: Operation): number[] {
  const sorted = [...units].sort((a, b) => a - b);
  switch (kind) {
    case "insert":
      return [...sorted, ...Array<number>(cost).fill(at)].sort((a, b) => a - b);
    case "remove": {
      const same = sorted.filter((unit) => unit === at).slice(0, cost).length;
      const first = sorted.indexOf(at);
      return first < 0 ? sorted : sorted.toSpliced(first, same);
    }
    case "dropOldest":
      return sorted.slice(cost);
    case "expire":
      return sorted.filter((unit) => unit > at);
    case "bringForward":
      return sorted.map((unit) => Math.min(unit, at));
    case "clear":
      return [];
  }
}

function toUnits(entries: Iterable<ExpiringUnits>): number[] {
  return [...entries].flatMap((entry) => Array<number>(entry.cost).fill(entry.expiresAtMs));
}

describe("Arena", () => {
  it("keeps lists as arrays would, in order, and leaks no entry", () => {
    const trace = fc.array(fc.tuple(fc.nat(2), operation), { maxLength: 60 });
    fc.assert(
      fc.property(trace, (steps) => {
        const arena = new Arena(1000);
        const lists = [1, 2, 3].map(() => new ArenaList(arena));
        const models: number[][] = [[], [], []];
        for (const [which, step] of steps) {
          const list = lists[which];
          if (step.kind === "clear") arena.clear(list);
          else if (step.kind === "expire") arena.expire(list, step.at);
          else if (step.kind === "bringForward") arena.bringForward(list, step.at);
          else if (step.kind === "dropOldest") arena.dropOldest(list, step.cost);
          else arena[step.kind](list, step.at, step.cost);
          models[which] = applyToUnits(models[which], step);
          expect(toUnits(list)).toEqual(models[which]);
          expect(list.used).toBe(models[which].length);
        }
        const distinct = models.reduce((sum, units) => sum + new Set(units).size, 0);
        expect(arena.stats.entries).toBe(distinct);
      }),
      { numRuns: 3000, seed: 1 },
    );
  });

  it("uses freed entries again, without end", () => {
    const arena = new Arena(3);
    const list = new ArenaList(arena);
    for (let n = 0; n < 1000; n++) {
      expect(arena.insert(list, n + 3, 1)).toBe(true);
      arena.expire(list, n + 1);
    }
    expect(arena.stats.entries).toBeLessThanOrEqual(3);
  });

  it("joins a full arena's newcomer to the entry that expires next, never to an earlier one", () => {
    const arena = new Arena(2);
    const list = new ArenaList(arena);
    arena.insert(list, 10, 1);
    arena.insert(list, 30, 1);
    expect(arena.insert(list, 20, 5)).toBe(true);
    expect([...list]).toEqual([
      { expiresAtMs: 10, cost: 1 },
      { expiresAtMs: 30, cost: 6 },
    ]);
    expect(arena.insert(new ArenaList(arena), 20, 1)).toBe(false);
  });
});
