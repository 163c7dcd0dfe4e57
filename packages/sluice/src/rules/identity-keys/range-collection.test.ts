import { describe, expect, it } from "vitest";
import { SeededRandom } from "../../testing/conformance/random.js";
import { RANGE_WORDS, RangeCollection } from "./range-collection.js";

/** IPv4 addresses, mapped into IPv6, as ranges of one. */
function collect(addresses: readonly number[]): RangeCollection {
  const ranges = new RangeCollection();
  for (const address of addresses) {
    const words = Uint16Array.of(0, 0, 0, 0, 0, 0xffff, address >>> 16, address & 0xffff);
    ranges.add(words, words);
  }
  return ranges;
}

describe("a long list of ranges", () => {
  const COUNT = 2 ** 17;
  const random = new SeededRandom("ranges");
  const addresses = Array.from({ length: COUNT }, () => random.between(0, 2 ** 32 - 1));
  const steps = collect(addresses).merge();
  let pauses = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) pauses++;
  const merged = step.value;

  it("is sorted, each address once", () => {
    const lasts = Array.from({ length: merged.length / RANGE_WORDS }, (_, i) => {
      return merged[(i + 1) * RANGE_WORDS - 1];
    });
    expect(lasts).toEqual([...new Set(addresses)].sort((a, b) => a - b));
  });

  it("is sorted with a pause at least every 4,096 ranges, in the last pass too", () => {
    const passes = Math.log2(COUNT);
    const whileMerging = Math.floor(COUNT / 64);
    expect(pauses).toBeGreaterThanOrEqual(passes * (COUNT / 4_096) + whileMerging);
  });
});
