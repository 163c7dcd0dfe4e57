// The sliding window counter against its formula, previous × remaining share + current + cost ≤
// limit, computed in BigInt from a plain list of charges and multiplied out by the window, so that
// nothing is divided and nothing rounded.

import fc from "fast-check";
import { describe, it } from "vitest";
import { itKeepsEveryGuarantee, itRecoversFromStepBack } from "../../test/guarantees.js";
import {
  holds,
  ListOracle,
  limits,
  must,
  type Subject,
  startsMs,
  stringify,
  traces,
  walk,
  windowsMs,
} from "../../test/traces.js";
import { slidingWindowCounter } from "../limits/limits.js";
import { algorithmOf } from "./algorithms.js";

class FormulaOracle extends ListOracle {
  readonly #limit: bigint;
  readonly #windowMs: number;

  constructor(limit: number, windowMs: number) {
    super();
    this.#limit = BigInt(limit);
    this.#windowMs = windowMs;
  }

  admits(cost: number, nowMs: number): boolean {
    const window = this.#windowOf(nowMs);
    const windowMs = BigInt(this.#windowMs);
    const leftMs = (BigInt(window) + 1n) * windowMs - BigInt(nowMs);
    const previous = BigInt(this.#countIn(window - 1));
    const current = BigInt(this.#countIn(window)) + BigInt(cost);
    return previous * leftMs + current * windowMs <= this.#limit * windowMs;
  }

  grant(cost: number, nowMs: number): void {
    this.take(-Math.min(cost, this.#countIn(this.#windowOf(nowMs))), nowMs);
  }

  #countIn(window: number): number {
    return this.sum((atMs) => this.#windowOf(atMs) === window);
  }

  #windowOf(atMs: number): number {
    return (atMs - (atMs % this.#windowMs)) / this.#windowMs;
  }
}

/** The number that times `value` is 1 modulo `modulus`, by Euclid; undefined if there is none. */
function inverseOf(value: bigint, modulus: bigint): bigint | undefined {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (a > 1n && b > 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return a === 1n ? ((x % modulus) + modulus) % modulus : undefined;
}

const counters: fc.Arbitrary<Subject> = fc
  .tuple(limits, windowsMs, startsMs)
  .map(([limit, windowMs, startMs]) => ({
    limit: slidingWindowCounter({ limit, windowMs }),
    oracle: () => new FormulaOracle(limit, windowMs),
    startMs,
    borderMs: windowMs,
  }));

describe("a sliding window counter", () => {
  const runs = fc.tuple(counters, traces());
  const verbs = { grant: true, refund: true };
  itKeepsEveryGuarantee({ subjects: counters, seed: 7_000, verbs });

  itRecoversFromStepBack({ subjects: counters, seed: 7_000 });

  it("divides exactly where a double would round to the next millisecond", () => {
    const counts = fc.integer({ min: 2 ** 28, max: 1_000_000_000 });
    const longMs = fc.integer({ min: 2 ** 33, max: 31_536_000_000 });
    holds(7_011, fc.tuple(counts, longMs), ([count, windowMs]) => {
      // Room for which windowMs × room / count lies 1/count below a whole number.
      const inverse = inverseOf(BigInt(windowMs), BigInt(count));
      if (inverse === undefined || inverse === BigInt(count)) return;
      const room = BigInt(count) - inverse;
      const limit = slidingWindowCounter({ limit: count, windowMs });
      const algorithm = algorithmOf(limit);
      const { state } = algorithm.charge(algorithm.idle, limit, count, 0);
      const cost = count - Number(room);
      const { retryAfterMs } = algorithm.charge(state, limit, cost, windowMs);
      const exactMs = windowMs - Number((BigInt(windowMs) * room) / BigInt(count));
      must(retryAfterMs === exactMs, () => stringify({ limit, cost, retryAfterMs, exactMs }));
    });
  });

  it("never admits more than the limit in one window", () => {
    holds(7_010, runs, ([subject, ops]) => {
      const admitted = new Map<number, number>();
      walk(subject, ops, ({ step, cost, nowMs, limit }) => {
        const window = Math.floor(nowMs / subject.borderMs);
        const sum = (admitted.get(window) ?? 0) + (step.allowed ? cost : 0);
        admitted.set(window, sum);
        must(sum <= limit.capacity, () => stringify({ limit, cost, nowMs, step, sum }));
      });
    });
  });
});
