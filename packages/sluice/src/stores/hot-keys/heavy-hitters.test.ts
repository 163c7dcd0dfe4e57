import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { must } from "../../../test/traces.js";
import { SeededRandom } from "../../testing/conformance/random.js";
import { type Heavy, HeavyHitters, type Watched } from "./heavy-hitters.js";

interface Group {
  readonly watched: Watched<Group>;
}

/** Counts keys by the sketch, and exactly. */
class Counted {
  readonly group: Group = { watched: new Map() };
  readonly evicted: Heavy<Group>[] = [];
  readonly sketch: HeavyHitters<Group>;
  readonly exact = new Map<string, number>();
  hits = 0;

  constructor(keysMax: number) {
    this.sketch = new HeavyHitters(keysMax, (heavy) => this.evicted.push(heavy));
  }

  hit(key: string): void {
    this.sketch.hit(this.group, key);
    this.exact.set(key, (this.exact.get(key) ?? 0) + 1);
    this.hits++;
  }

  roll(): void {
    this.sketch.roll(1);
    for (const [key, count] of this.exact) this.exact.set(key, count / 2);
    this.hits /= 2;
  }
}

describe("the space-saving sketch", () => {
  const traffic = fc.array(fc.nat({ max: 30 }), { maxLength: 400, size: "max" });

  it("watches every key with more than its share, and is off by at most that share", () => {
    const property = fc.property(fc.integer({ min: 1, max: 12 }), traffic, (keysMax, keys) => {
      const counted = new Counted(keysMax);
      for (const [n, key] of keys.entries()) {
        counted.hit(`${Math.min(key, Math.floor(key / 3))}`);
        if (n % 100 === 99) counted.roll();
        const share = counted.hits / keysMax;
        for (const [name, exact] of counted.exact) {
          const heavy = counted.group.watched.get(name);
          must(heavy !== undefined || exact <= share, () => `"${name}", ${exact}, is not watched`);
          if (heavy === undefined) continue;
          const { count, error } = heavy;
          const isRight = count >= exact && count - error <= exact && error <= share;
          must(isRight, () => `"${name}", ${exact}: ${count} less ${error}, share ${share}`);
        }
      }
    });
    fc.assert(property, { seed: 1, numRuns: 200 });
  });

  it("watches no more than its bound under a million random keys, and finds the busy one", () => {
    const counted = new Counted(100);
    const random = new SeededRandom("a million keys");
    for (let n = 0; n < 1_000_000; n++) {
      const isBusy = n % 50 === 0;
      counted.sketch.hit(counted.group, isBusy ? "busy" : `key ${random.between(0, 2 ** 40)}`);
      if (n % 100_000 === 0) counted.sketch.roll(1);
    }
    expect(counted.group.watched.size).toBe(100);
    expect([...counted.sketch]).toHaveLength(100);
    expect(counted.group.watched.has("busy")).toBe(true);
  });

  it("reports each key that it evicts, once, after another has its place", () => {
    const counted = new Counted(2);
    for (const key of ["a", "a", "b", "c", "d"]) counted.hit(key);
    expect(counted.evicted.map(({ key }) => key)).toEqual(["b", "c"]);
    expect([...counted.group.watched.keys()]).toEqual(["a", "d"]);
  });

  it("counts the hits of this period and of the last one", () => {
    const counted = new Counted(2);
    for (const key of ["a", "a", "a"]) counted.hit(key);
    counted.roll();
    counted.hit("a");
    expect(counted.group.watched.get("a")).toMatchObject({ hits: 1, hitsBefore: 3, count: 2.5 });
  });

  it("keeps the keys of groups apart, under one bound", () => {
    const sketch = new HeavyHitters<Group>(2, () => {});
    const [one, other]: Group[] = [{ watched: new Map() }, { watched: new Map() }];
    sketch.hit(one, "key");
    sketch.hit(one, "key");
    sketch.hit(other, "key");
    expect(one.watched.get("key")?.count).toBe(2);
    expect(other.watched.get("key")?.count).toBe(1);
    sketch.hit(other, "another");
    expect(one.watched.size + other.watched.size).toBe(2);
  });
});
