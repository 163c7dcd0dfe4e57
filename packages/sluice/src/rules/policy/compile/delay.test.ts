import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokenBucket } from "../../../limits/limits.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { createPolicy } from "../create-policy.js";
import type { PolicyDecision } from "../policy-request/policy-decision.js";

const facts = { method: "GET", path: "/", ip: "203.0.113.10" };

function stand(limit: ReturnType<typeof tokenBucket>, delayMsMax: number, more: object = {}) {
  const clock = new ManualClock(0);
  let cost = 1;
  const rule = {
    id: "a",
    limit,
    onExceed: "delay",
    delayMsMax,
    cost: { function: "cost" },
    ...more,
  };
  const policy = createPolicy({
    rules: { version: 1, rules: [rule] },
    clock,
    store: memoryStore({ keysMax: 100 }),
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

interface RandomRequest {
  readonly waitMs: number;
  readonly units: number;
  readonly fate: "goes" | "gives up" | "keeps one";
  readonly afterMs: number;
}

describe("onExceed: delay", () => {
  it("lets what goes beyond the capacity wait for its tokens, and refuses beyond delayMsMax", () => {
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

  it("keeps the tokens of a request that gives up waiting, since the delays of others depend on them", () => {
    const { admit } = stand(tokenBucket({ capacity: 1, refillPerSecond: 10 }), 1_000);
    admit();
    const waiting = [admit(), admit()];
    expect(waiting.map(({ delayMs }) => delayMs)).toEqual([100, 200]);
    waiting[0].abandon();
    expect(admit().delayMs).toBe(300);
    const unplaced = admit();
    expect(unplaced.delayMs).toBe(400);
    unplaced.cancel();
    expect(admit().delayMs).toBe(400);
  });

  it("takes nothing back of who reserved too much while others wait, and all of it after", () => {
    const bucket = tokenBucket({ capacity: 4, refillPerSecond: 10 });
    const { admit, clock } = stand(bucket, 1_000, { settle: "code" });
    const first = admit(4);
    expect(admit(2).delayMs).toBe(200);
    first.finish({ cost: 0 });
    expect(admit(2).delayMs).toBe(400);
    clock.advance(400);
    const late = admit(4);
    expect(late.delayMs).toBe(400);
    clock.advance(400);
    late.finish({ cost: 1 });
    expect(admit(3).delayMs).toBe(0);
  });

  it("never lets more go in any interval, whichever request gives up and whatever is settled", () => {
    const someRequest: fc.Arbitrary<RandomRequest> = fc.record({
      waitMs: fc.integer({ min: 0, max: 120 }),
      units: fc.integer({ min: 1, max: 3 }),
      fate: fc.constantFrom("goes", "gives up", "keeps one"),
      afterMs: fc.integer({ min: 0, max: 300 }),
    });
    const run = (capacity: number, rate: number, requests: RandomRequest[]) => {
      const limit = tokenBucket({ capacity, refillPerSecond: rate });
      const { clock, admit } = stand(limit, 700, { settle: "code" });
      const gone: { atMs: number; units: number }[] = [];
      const later: { atMs: number; task: () => void }[] = [];
      const waitFor = (waitMs: number) => {
        const untilMs = clock.now() + waitMs;
        later.sort((a, b) => a.atMs - b.atMs);
        while (later.length > 0 && later[0].atMs <= untilMs) {
          const [{ atMs, task }] = later.splice(0, 1);
          clock.set(atMs);
          task();
          later.sort((a, b) => a.atMs - b.atMs);
        }
        clock.set(untilMs);
      };
      for (const { waitMs, units, fate, afterMs } of requests) {
        waitFor(waitMs);
        const decision = admit(units);
        if (!decision.allowed) continue;
        const slotMs = clock.now() + decision.delayMs;
        if (fate === "gives up" && decision.delayMs > 0) {
          const atMs = clock.now() + Math.min(afterMs, decision.delayMs - 1);
          later.push({ atMs, task: () => decision.abandon() });
          continue;
        }
        const kept = fate === "keeps one" ? 1 : units;
        gone.push({ atMs: slotMs, units: kept });
        later.push({ atMs: slotMs + afterMs, task: () => decision.finish({ cost: kept }) });
      }
      gone.sort((a, b) => a.atMs - b.atMs);
      for (let i = 0; i < gone.length; i++) {
        let units = 0;
        let excess = Number.NEGATIVE_INFINITY;
        for (let j = i; j < gone.length; j++) {
          units += gone[j].units;
          // A token comes at most two milliseconds later than it might.
          const ms = gone[j].atMs - gone[i].atMs + 2;
          excess = Math.max(excess, units - capacity - (rate * ms) / 1_000);
        }
        expect(excess).toBeLessThanOrEqual(0);
      }
    };
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 6 }),
        fc.integer({ min: 1, max: 40 }),
        fc.array(someRequest, { minLength: 5, maxLength: 60 }),
        run,
      ),
      { numRuns: 300 },
    );
  });
});
