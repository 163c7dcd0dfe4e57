import { describe, expect, it } from "vitest";
import { aimdStep } from "./aimd.js";
import { gradientStep } from "./gradient.js";
import type { LimitSignal, LimitStep } from "./limit-step.js";
import { vegasStep } from "./vegas.js";

/** limit, latency and baseline in milliseconds, share of failures, whether it is used, next limit. */
type Row = readonly [number, number | undefined, number | undefined, number, boolean, number];

const tables: readonly { name: string; step: LimitStep; rows: readonly Row[] }[] = [
  {
    name: "gradient",
    step: gradientStep,
    rows: [
      // limit  latency  baseline  failures  used   next
      [100, 20, 20, 0, true, 103], // no queue: the square root of the limit is added, three tenths of it now
      [100, 30, 20, 0, true, 103], // half as slow again is tolerated
      [100, 60, 20, 0, true, 88], // three times as slow: half of the limit is wanted
      [100, 600, 20, 0, true, 88], // never less than half
      [100, 20, 20, 0, false, 100], // a limit that is not used does not grow
      [100, 60, 20, 0, false, 88], // and does fall
      [100, 20, 20, 0.05, true, 103], // a few failures are not about load
      [100, 20, 20, 0.2, true, 90], // more are
      [100, undefined, 20, 1, true, 50], // all failed
      [100, 20, undefined, 0, true, 100], // nothing to compare with
      [100, undefined, undefined, 0, true, 100],
    ],
  },
  {
    name: "aimd",
    step: aimdStep,
    rows: [
      [100, 20, 20, 0, true, 101],
      [100, 40, 20, 0, true, 101], // twice as slow is tolerated
      [100, 41, 20, 0, true, 90],
      [100, 20, 20, 0, false, 100],
      [100, 20, 20, 0.2, true, 90],
      [100, undefined, 20, 1, true, 90],
      [100, 20, undefined, 0, true, 100],
    ],
  },
  {
    name: "vegas",
    step: vegasStep,
    rows: [
      [100, 20, 20, 0, true, 115], // no queue: three times half of the square root
      [100, 22, 20, 0, true, 105], // 9 of 100 wait: once
      [100, 25, 20, 0, true, 100], // 20 of 100 wait: enough
      [100, 40, 20, 0, true, 90], // 50 of 100 wait, 20 too many: half of these go
      [100, 30, 20, 0, true, 95], // 33 of 100 wait: half of the square root goes
      [100, 20, 20, 0, false, 100],
      [100, 20, 20, 0.2, true, 90],
      [1, 20, 20, 0, true, 4], // never less than one
    ],
  },
];

describe.each(tables)("$name", ({ step, rows }) => {
  it.each(rows)(
    "limit %d, latency %s ms over %s ms, failures %d, used %s: next %d",
    (limit, latencyMs, baselineMs, failureShare, isUsed, next) => {
      const signal: LimitSignal = { limit, latencyMs, baselineMs, failureShare, isUsed };
      expect(step(signal)).toBeCloseTo(next, 6);
    },
  );

  it("falls when latency rises, and rises when latency is back", () => {
    const at = (limit: number, latencyMs: number) =>
      step({ limit, latencyMs, baselineMs: 20, failureShare: 0, isUsed: true });
    expect(at(100, 100)).toBeLessThan(100);
    expect(at(50, 20)).toBeGreaterThan(50);
  });
});
