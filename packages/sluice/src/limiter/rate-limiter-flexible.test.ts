import { BurstyRateLimiter, RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fixedWindow } from "../limits/limits.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createLimiter } from "./limiter.js";

// What the guide for users of rate-limiter-flexible calls the same, done by both and compared.

const START_MS = 1_700_000_000_000;

beforeEach(() => {
  vi.useFakeTimers({ now: START_MS });
});
afterEach(() => {
  vi.useRealTimers();
});

const window = (limit: number, seconds: number) =>
  fixedWindow({ limit, windowMs: seconds * 1_000, align: "first" });

/** What both answer to one unit. */
interface Answer {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly waitMs: number;
}

async function consume(theirs: { consume(key: string): Promise<RateLimiterRes> }): Promise<Answer> {
  const result = await theirs.consume("ann").then(
    (passed) => ({ allowed: true, passed }),
    (passed: unknown) => ({ allowed: false, passed: passed as RateLimiterRes }),
  );
  const { allowed, passed } = result;
  if (!(passed instanceof RateLimiterRes)) throw passed;
  const waitMs = allowed ? 0 : passed.msBeforeNext;
  return { allowed, remaining: passed.remainingPoints, waitMs };
}

/** Numbers that are the same in each run. */
function toRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe("limits of rate-limiter-flexible", () => {
  it.each([1, 2, 3, 4, 5])(
    "admits, counts and reports the wait as it does: seed %i",
    async (seed) => {
      const random = toRandom(seed);
      const clock = new ManualClock(START_MS);
      const ours = createLimiter({ limit: window(5, 2), clock });
      const theirs = new RateLimiterMemory({ points: 5, duration: 2 });
      for (let i = 0; i < 300; i++) {
        const step = random(10);
        if (step < 2) {
          const units = 1 + random(3);
          const penalty = ours.reserve("ann", { cost: 0 });
          if (penalty.allowed) penalty.commit(units);
          await theirs.penalty("ann", units);
        } else if (step === 2) {
          ours.reset("ann");
          await theirs.delete("ann");
        } else {
          const { allowed, remaining, retryAfterMs } = ours.check("ann");
          expect({ i, allowed, remaining, waitMs: retryAfterMs }).toEqual({
            i,
            ...(await consume(theirs)),
          });
        }
        const forMs = random(600);
        clock.advance(forMs);
        vi.advanceTimersByTime(forMs);
      }
    },
  );

  it.each([1, 2, 3])("bursts as BurstyRateLimiter does: seed %i", async (seed) => {
    const random = toRandom(seed);
    const clock = new ManualClock(START_MS);
    const steady = createLimiter({ limit: window(1, 1), clock });
    const burst = createLimiter({ limit: window(3, 5), clock });
    const theirs = new BurstyRateLimiter(
      new RateLimiterMemory({ points: 1, duration: 1, keyPrefix: "steady" }),
      new RateLimiterMemory({ points: 3, duration: 5, keyPrefix: "burst" }),
    );
    for (let i = 0; i < 300; i++) {
      const decision = steady.check("ann");
      const allowed = decision.allowed || burst.check("ann").allowed;
      const answer = await consume(theirs as never);
      expect({ i, allowed }).toEqual({ i, allowed: answer.allowed });
      const forMs = random(700);
      clock.advance(forMs);
      vi.advanceTimersByTime(forMs);
    }
  });

  it("blocks for as long", async () => {
    const clock = new ManualClock(START_MS);
    const ours = createLimiter({ limit: window(5, 1), clock });
    const theirs = new RateLimiterMemory({ points: 5, duration: 1 });
    ours.block("ann", 10_000);
    await theirs.block("ann", 10);
    expect(ours.check("ann").retryAfterMs).toBe((await consume(theirs)).waitMs);
    clock.advance(10_000);
    vi.advanceTimersByTime(10_000);
    expect([ours.check("ann").allowed, (await consume(theirs)).allowed]).toEqual([true, true]);
  });
});
