// An adaptive limit under any sequence of what its users and its clock may do, against a model that only counts.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import {
  type AdaptivePermit,
  adaptiveConcurrency,
  type PermitOutcome,
} from "./adaptive-concurrency.js";
import { ALGORITHMS } from "./limit-state.js";
import { PRIORITIES } from "./priority.js";

const OUTCOMES: readonly PermitOutcome[] = [
  ...(["ok", "ok", "ok", "dropped", "timeout", "error", "abandoned", "ignored"] as const),
];
const PERMIT_MS = 5_000;

/** What happens in one step. `index` picks one of the permits that were ever given, also those that are over. */
const step = fc.oneof(
  fc.record({ kind: fc.constant("acquire" as const), priority: fc.constantFrom(...PRIORITIES) }),
  fc.record({
    kind: fc.constant("release" as const),
    index: fc.nat(),
    outcome: fc.constantFrom(...OUTCOMES),
  }),
  fc.record({ kind: fc.constant("restart" as const), index: fc.nat() }),
  // Also none, and back.
  fc.record({ kind: fc.constant("time" as const), ms: fc.integer({ min: -200, max: 1_000 }) }),
);

describe("an adaptive limit, whatever happens", () => {
  it("stays within its bounds, and counts each place once until it is released or expires", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ALGORITHMS),
        fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 40 })),
        fc.array(step, { maxLength: 400 }),
        (algorithm, [min, above], steps) => {
          const clock = new ManualClock(1_700_000_000_000);
          const max = min + above;
          const limit = adaptiveConcurrency({ algorithm, min, max, clock, permitMs: PERMIT_MS });
          const given: { readonly permit: AdaptivePermit; isReleased: boolean }[] = [];
          for (const each of steps) {
            const permit = "index" in each ? given[each.index % (given.length || 1)] : undefined;
            if (each.kind === "time") clock.advance(each.ms);
            else if (each.kind === "acquire") {
              const before = limit.inFlight;
              const made = limit.acquire({ priority: each.priority });
              if (made.allowed) given.push({ permit: made, isReleased: false });
              else {
                expect(before).toBeGreaterThan(0);
                expect(made.retryAfterMs).toBeGreaterThanOrEqual(1);
              }
            } else if (each.kind === "restart") permit?.permit.restart();
            else if (permit !== undefined) {
              permit.permit.release(each.outcome);
              permit.isReleased = true;
            }
            expect(limit.limit).toBeGreaterThanOrEqual(min);
            expect(limit.limit).toBeLessThanOrEqual(max);
          }
          const held = given.filter(({ isReleased }) => !isReleased).length;
          const { inFlight, expired, admitted, latencyMs = 1 } = limit.stats();
          expect(admitted).toBe(given.length);
          // Those that expired may have been released later, which counts for nothing.
          expect(inFlight).toBeLessThanOrEqual(held);
          expect(inFlight).toBeGreaterThanOrEqual(held - expired);
          expect(Number.isFinite(latencyMs)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });
});
