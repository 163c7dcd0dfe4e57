import { assert, integer, nat, property, record, array as sequence } from "fast-check";
import { describe, expect, it } from "vitest";
import { type BucketLimit, leakyBucket, tokenBucket } from "../../../limits/limits.js";
import { codecOf } from "./codecs.js";

const START_MS = 1_800_000_000_000;

/** Token buckets whose state fits into one double, and others whose numbers are too large for that. */
const LIMITS: [string, BucketLimit, boolean][] = [
  ["10 tokens, 3 a second", tokenBucket({ capacity: 10, refillPerSecond: 3 }), true],
  ["a billion, as many a minute", ofBillion(60_000), false],
  ["a billion, as many in 7 ms", ofBillion(7), false],
];

function ofBillion(everyMs: number): BucketLimit {
  return tokenBucket({ capacity: 1e9, refill: { amount: 1e9, everyMs } });
}

const STEPS = sequence(
  record({
    cost: nat(12),
    // Clocks stand still, run, and step back.
    afterMs: integer({ min: -3_000, max: 6_000 }),
  }),
  { minLength: 1, maxLength: 40 },
);

describe("passing a token bucket in one step", () => {
  it.each(LIMITS)("leaves %s as the algorithm does", (_name, limit, isCompact) => {
    expect(limit.compact).toBe(isCompact);
    const { algorithm, pass, read, write, stateDoubles } = codecOf(limit);
    const scale = limit.capacity / 10;
    assert(
      property(STEPS, (steps) => {
        const [ours, theirs] = [new Float64Array(stateDoubles), new Float64Array(stateDoubles)];
        let nowMs = START_MS;
        for (const step of steps) {
          nowMs += step.afterMs;
          const cost = step.cost * scale;
          const before = read(theirs, 0, limit, nowMs);
          const charged = algorithm.charge(before, limit, cost, nowMs);
          if (charged.state !== before) write(theirs, 0, limit, charged.state);
          const untouched = [...ours];
          const passed = pass?.(ours, 0, limit, cost, nowMs);
          if (passed === undefined) {
            expect([...ours]).toEqual(untouched);
            ours.set(theirs);
            continue;
          }
          const { allowed, remaining, retryAfterMs, resetMs, delayMs } = charged;
          expect(passed).toEqual({
            ...{ allowed, remaining, retryAfterMs, resetMs, delayMs },
            ...{ limit: limit.capacity, source: "memory" },
          });
          expect(ours).toEqual(theirs);
        }
      }),
    );
  });

  it.each(LIMITS)("is taken by every charge to %s that passes", (_name, limit) => {
    const { pass, stateDoubles } = codecOf(limit);
    const state = new Float64Array(stateDoubles);
    const unit = limit.capacity / 10;
    for (let i = 1; i <= 10; i++) expect(pass?.(state, 0, limit, unit, START_MS)).toBeDefined();
    const full = [...state];
    expect(pass?.(state, 0, limit, unit, START_MS)).toBeUndefined();
    expect([...state]).toEqual(full);
  });

  it.each([
    [10, 5, true],
    [1e9, 1e9, false],
  ])(
    "is not for leaky buckets, which may delay: %d a second",
    (ratePerSecond, queueSize, isCompact) => {
      const leaky = leakyBucket({ ratePerSecond, queueSize });
      expect(leaky.compact).toBe(isCompact);
      const { pass, stateDoubles } = codecOf(leaky);
      expect(pass?.(new Float64Array(stateDoubles), 0, leaky, 1, START_MS)).toBeUndefined();
    },
  );
});
