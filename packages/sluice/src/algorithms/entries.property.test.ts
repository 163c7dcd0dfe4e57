// Sliding window logs and concurrency permits against a plain list of (time, cost) that is never
// shortened or merged: what counts is every charge younger than the window, or every permit that
// was neither released nor has expired.

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
import { concurrency, slidingWindowLog } from "../limits/limits.js";

class AgeOracle extends ListOracle {
  readonly #limit: number;
  readonly #lifeMs: number;

  constructor(limit: number, lifeMs: number) {
    super();
    this.#limit = limit;
    this.#lifeMs = lifeMs;
  }

  admits(cost: number, nowMs: number): boolean {
    return this.sum((atMs) => nowMs - atMs < this.#lifeMs) + cost <= this.#limit;
  }

  /** The oldest that still count go first. */
  grant(cost: number, nowMs: number): void {
    let left = cost;
    for (const taken of this.charges) {
      if (nowMs - taken.atMs >= this.#lifeMs) continue;
      const dropped = Math.min(left, taken.cost);
      taken.cost -= dropped;
      left -= dropped;
    }
  }
}

const logs: fc.Arbitrary<Subject> = fc
  .tuple(limits, windowsMs, startsMs)
  .map(([limit, windowMs, startMs]) => ({
    limit: slidingWindowLog({ limit, windowMs }),
    oracle: () => new AgeOracle(limit, windowMs),
    startMs,
    borderMs: windowMs,
  }));

const permits: fc.Arbitrary<Subject> = fc
  .tuple(limits, windowsMs, startsMs)
  .map(([limit, permitMs, startMs]) => ({
    limit: concurrency({ limit, permitMs }),
    oracle: () => new AgeOracle(limit, permitMs),
    startMs,
    borderMs: permitMs,
  }));

const kinds: readonly [string, fc.Arbitrary<Subject>, number, boolean][] = [
  ["a sliding window log", logs, 8_000, true],
  ["a concurrency limit", permits, 9_000, false],
];

describe.each(kinds)("%s", (_name, subjects, seed, grant) => {
  itKeepsEveryGuarantee({ subjects, seed, verbs: { grant, refund: true } });
});

describe("a sliding window log", () => {
  const runs = fc.tuple(logs, traces());

  it("never admits more than the limit in any rolling window", () => {
    holds(8_010, runs, ([subject, ops]) => {
      const admitted: { atMs: number; cost: number }[] = [];
      walk(subject, ops, ({ step, cost, nowMs }) => {
        if (step.allowed) admitted.push({ atMs: nowMs, cost });
      });
      for (const { atMs: fromMs } of admitted) {
        const inside = admitted.filter(
          ({ atMs }) => atMs >= fromMs && atMs < fromMs + subject.borderMs,
        );
        const sum = inside.reduce((total, { cost }) => total + cost, 0);
        must(sum <= subject.limit.capacity, () => stringify({ subject, admitted, fromMs, sum }));
      }
    });
  });

  it("keeps at most one entry for each unit of its limit", () => {
    holds(8_011, runs, ([subject, ops]) =>
      walk(subject, ops, ({ step, limit }) => {
        const { length } = step.state as readonly unknown[];
        must(length <= limit.capacity, () => stringify({ limit, step }));
      }),
    );
  });

  itRecoversFromStepBack({ subjects: logs, seed: 8_000 });
});
