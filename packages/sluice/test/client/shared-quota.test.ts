import { describe, expect, it } from "vitest";
import {
  fixedWindow,
  type Limit,
  slidingWindowCounter,
  tokenBucket,
} from "../../src/limits/limits.js";
import { type PopulationResult, simulateClients, sum } from "./simulated-clients.js";

const SEEDS = [1, 2, 3];
const SECONDS = 12;

/** The share of the limit that is used, without the first two seconds, in which the clients learn it. */
function usedOf({ answered }: PopulationResult, perSecond: number): number {
  return sum(answered.slice(2)) / ((answered.length - 2) * perSecond);
}

const refusedShareOf = (result: PopulationResult) => result.refused / sum(result.answered);

describe("fifty clients that want three times what they may have together", () => {
  it.each(SEEDS)(
    "use nearly all of a bucket, evenly, and few are refused (seed %i)",
    async (seed) => {
      const limit = tokenBucket({ capacity: 20, refillPerSecond: 150 });
      const population = { limit, clients: 50, wantedPerSecond: 9, seconds: SECONDS, seed };
      const result = await simulateClients(population);
      expect(usedOf(result, 150)).toBeGreaterThan(0.9);
      expect(refusedShareOf(result)).toBeLessThan(0.06);
      const fairShare = sum(result.answeredByClient) / 50;
      const inOrder = result.answeredByClient.toSorted((one, other) => one - other);
      expect(inOrder[0]).toBeGreaterThan(fairShare / 3);
      // The few that found much left at first have more for a while.
      expect(inOrder[44]).toBeLessThan(fairShare * 2);
    },
  );

  it.each<[string, Limit]>([
    ["a bucket of a second", tokenBucket({ capacity: 150, refillPerSecond: 150 })],
    ["a bucket of three seconds", tokenBucket({ capacity: 450, refillPerSecond: 150 })],
    ["a fixed window", fixedWindow({ limit: 150, windowMs: 1_000 })],
  ])("use most of %s", async (_name, limit) => {
    const population = { limit, clients: 50, wantedPerSecond: 9, seconds: SECONDS, seed: 1 };
    const result = await simulateClients(population);
    expect(usedOf(result, 150)).toBeGreaterThan(0.85);
    expect(refusedShareOf(result)).toBeLessThan(0.15);
  });

  it("leave half of a sliding window unused, which has little left as soon as it is in use", async () => {
    const limit = slidingWindowCounter({ limit: 150, windowMs: 1_000 });
    const population = { limit, clients: 50, wantedPerSecond: 9, seconds: SECONDS, seed: 1 };
    const result = await simulateClients(population);
    expect(usedOf(result, 150)).toBeGreaterThan(0.45);
    expect(refusedShareOf(result)).toBeLessThan(0.15);
  });
});

describe("clients that want less than they may have together", () => {
  it("are not delayed, and are not refused", async () => {
    const limit = tokenBucket({ capacity: 20, refillPerSecond: 150 });
    const population = { limit, clients: 20, wantedPerSecond: 6, seconds: SECONDS, seed: 1 };
    const result = await simulateClients(population);
    expect(usedOf(result, 120)).toBeGreaterThan(0.97);
    expect(result.refused).toBe(0);
  });
});
