import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedMap } from "./bounded-map.js";

function filled(sizeMax: number, ...keys: readonly string[]): BoundedMap<string, number> {
  const map = new BoundedMap<string, number>(sizeMax);
  for (const [i, key] of keys.entries()) map.set(key, i);
  return map;
}

const keysOf = (map: BoundedMap<string, number>) => [...map].map(([key]) => key);

describe("BoundedMap", () => {
  it("evicts the entry that was set longest ago, and returns its value", () => {
    const map = filled(3, "a", "b", "c");
    expect(map.set("d", 3)).toBe(0);
    expect(map.has("a")).toBe(false);
    expect([...map]).toEqual([
      ["b", 1],
      ["c", 2],
      ["d", 3],
    ]);
  });

  it("makes an entry the newest when it is set again, and evicts none for it", () => {
    const map = filled(3, "a", "b", "c");
    expect(map.set("a", 9)).toBeUndefined();
    expect(map.get("a")).toBe(9);
    map.set("d", 3);
    expect(keysOf(map)).toEqual(["c", "a", "d"]);
  });

  it("leaves an entry as old as it is when it is read", () => {
    const map = filled(2, "a", "b");
    map.get("a");
    map.set("c", 2);
    expect(keysOf(map)).toEqual(["b", "c"]);
  });

  it("keeps nothing with a bound of 0", () => {
    const map = filled(0, "a");
    expect(map.size).toBe(0);
    expect(map.get("a")).toBeUndefined();
  });

  it("visits every entry when each is deleted on the way", () => {
    const map = filled(9, "a", "b", "c");
    const seen: string[] = [];
    for (const [key] of map) {
      seen.push(key);
      map.delete(key);
    }
    expect(seen).toEqual(["a", "b", "c"]);
    expect(map.size).toBe(0);
  });

  it("starts over after it was cleared", () => {
    const map = filled(2, "a", "b");
    map.clear();
    expect([map.size, map.has("a")]).toEqual([0, false]);
    map.set("c", 2);
    expect(keysOf(map)).toEqual(["c"]);
  });

  it("behaves as a Map that deletes its first key beyond the bound", () => {
    const step = fc.record({
      verb: fc.constantFrom("set", "set", "set", "delete", "get", "clear"),
      key: fc.integer({ min: 0, max: 12 }),
      value: fc.integer(),
    });
    const claim = fc.property(
      fc.integer({ min: 0, max: 8 }),
      fc.array(step, { maxLength: 200 }),
      (max, steps) => {
        const map = new BoundedMap<number, number>(max);
        const model = new Map<number, number>();
        for (const { verb, key, value } of steps) {
          if (verb === "clear" && value % 4 === 0) {
            map.clear();
            model.clear();
          } else if (verb === "delete") expect(map.delete(key)).toBe(model.delete(key));
          else if (verb === "set") {
            model.delete(key);
            model.set(key, value);
            const [oldest] = model.size > max ? model.keys() : [];
            const evicted = oldest === undefined ? undefined : model.get(oldest);
            if (oldest !== undefined) model.delete(oldest);
            expect(map.set(key, value)).toBe(evicted);
          }
          expect(map.get(key)).toBe(model.get(key));
          expect(map.has(key)).toBe(model.has(key));
          expect(map.size).toBe(model.size);
          expect([...map]).toEqual([...model]);
        }
      },
    );
    fc.assert(claim, { numRuns: 500 });
  });
});
