import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokenBucket } from "../limits.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createPolicy } from "./policy.js";
import type { PolicyDecision } from "./policy-decision.js";

const facts = { method: "GET", path: "/", ip: "203.0.113.10" };

function stand(limit: ReturnType<typeof tokenBucket>, delayMsMax: number) {
  const clock = new ManualClock(0);
  let cost = 1;
  const rule = { id: "a", limit, onExceed: "delay", delayMsMax, cost: { function: "cost" } };
  const policy = createPolicy({
    rules: { version: 1, rules: [rule] },
    clock,
    costs: { cost: () => cost },
  });
  const admit = (units = 1) => {
    cost = units;
    return policy.admit(facts) as PolicyDecision;
  };
  const peek = (units = 1) => {
    cost = units;
    return policy.peek(facts) as PolicyDecision;
  };
  return { clock, admit, peek };
}

describe("onExceed: delay", () => {
  it("lets what goes beyond the capacity wait for its slot, and refuses beyond delayMsMax", () => {
    const { clock, admit } = stand(tokenBucket({ capacity: 2, refillPerSecond: 10 }), 300);
    const rows = Array.from({ length: 7 }, () => {
      const { allowed, delayMs, remaining, retryAfterMs, limit } = admit();
      return [allowed, delayMs, remaining, retryAfterMs, limit];
    });
    expect(rows).toEqual([
      [true, 0, 1, 0, 2],
      [true, 0, 0, 0, 2],
      [true, 100, 0, 0, 2],
      [true, 200, 0, 0, 2],
      [true, 300, 0, 0, 2],
      [false, 0, 0, 100, 2],
      [false, 0, 0, 100, 2],
    ]);
    clock.advance(99);
    expect(admit().allowed).toBe(false);
    clock.advance(1);
    expect(admit()).toMatchObject({ allowed: true, delayMs: 300 });
  });

  it("refuses for ever what is above the rule's own capacity", () => {
    const { admit, peek } = stand(tokenBucket({ capacity: 2, refillPerSecond: 10 }), 1_000);
    expect(admit(3)).toMatchObject({ allowed: false, retryAfterMs: Infinity, remaining: 2 });
    expect(peek(12)).toMatchObject({ allowed: false, retryAfterMs: Infinity });
    expect(admit(2)).toMatchObject({ allowed: true, delayMs: 0 });
  });

  it("peeks the delay that the request would have", () => {
    const { admit, peek } = stand(tokenBucket({ capacity: 3, refillPerSecond: 7 }), 2_000);
    for (let i = 0; i < 8; i++) {
      const expected = peek(2).delayMs;
      const { delayMs } = admit(2);
      expect(Math.abs(expected - delayMs)).toBeLessThanOrEqual(1);
    }
  });

  it("never lets more depart in any interval than the bucket allows, nor waits a needless millisecond more", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 40 }),
        fc.array(
          fc.record({
            waitMs: fc.integer({ min: 0, max: 200 }),
            units: fc.integer({ min: 1, max: 3 }),
          }),
          {
            minLength: 5,
            maxLength: 60,
          },
        ),
        (capacity, rate, requests) => {
          const { clock, admit } = stand(tokenBucket({ capacity, refillPerSecond: rate }), 700);
          const perMs = rate / 1_000;
          // The same bucket, kept by hand: how much debt there is at an instant.
          let debt = 0;
          let atMs = 0;
          for (const { waitMs, units } of requests) {
            clock.advance(waitMs);
            debt = Math.max(0, debt - (clock.now() - atMs) * perMs);
            atMs = clock.now();
            const decision = admit(units);
            if (!decision.allowed) continue;
            debt += units;
            const exactMs = Math.max(0, (debt - capacity) / perMs);
            expect(decision.delayMs).toBeGreaterThanOrEqual(exactMs - 1e-6);
            expect(decision.delayMs).toBeLessThan(exactMs + 2);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
