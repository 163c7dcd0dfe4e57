import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fixedWindow, type Limit, tokenBucket } from "../../src/limits/limits.js";
import { simulateClients, sum } from "./simulated-clients.js";

const SECONDS = 30;

interface Own {
  readonly name: string;
  readonly limit: Limit;
  readonly perSecond: number;
}

const toBucket = (capacity: number, perSecond: number): Own => ({
  name: `a bucket of ${capacity} and ${perSecond} a second`,
  limit: tokenBucket({ capacity, refillPerSecond: perSecond }),
  perSecond,
});

const toWindow = (windowMs: number, perSecond: number): Own => {
  const limit = Math.max(1, Math.round((perSecond * windowMs) / 1_000));
  return {
    name: `${limit} in ${windowMs} ms`,
    limit: fixedWindow({ limit, windowMs }),
    perSecond: (limit * 1_000) / windowMs,
  };
};

async function expectWellUsed(
  { limit, perSecond }: Own,
  seed: number,
  used: number,
): Promise<void> {
  const wantedPerSecond = 3 * perSecond;
  const result = await simulateClients({
    limit,
    clients: 1,
    wantedPerSecond,
    seconds: SECONDS,
    seed,
  });
  const answered = sum(result.answered);
  expect(answered).toBeGreaterThan(used * perSecond * SECONDS);
  expect(result.refused).toBeLessThanOrEqual(Math.max(1, 0.01 * answered));
}

describe("a single client that wants three times its own quota", () => {
  it.each([
    toBucket(20, 150),
    toBucket(10, 10),
    toBucket(5, 1),
    toBucket(100, 20),
    toWindow(1_000, 10),
    toWindow(3_000, 10),
    toWindow(10_000, 10),
  ])("uses $name and is hardly refused", async (own) => {
    await expectWellUsed(own, 1, 0.85);
  });

  it("does so whatever the quota, if it is not gone within the second that headers count in", async () => {
    const buckets = fc
      .tuple(fc.integer({ min: 1, max: 40 }), fc.double({ min: 1, max: 10, noNaN: true }))
      .map(([perSecond, windows]) =>
        toBucket(Math.max(2, Math.ceil(perSecond * windows)), perSecond),
      );
    const windows = fc
      .tuple(fc.integer({ min: 1_000, max: 10_000 }), fc.integer({ min: 1, max: 40 }))
      .map(([windowMs, perSecond]) => toWindow(windowMs, perSecond));
    await fc.assert(
      fc.asyncProperty(fc.oneof(buckets, windows), fc.integer(), (own, seed) =>
        expectWellUsed(own, seed, 0.7),
      ),
      { numRuns: 20 },
    );
  });
});
