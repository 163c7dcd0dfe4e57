import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { longWindowMs, slowRefill } from "./servers.js";
import { type Burst, callAll, killAll, startWorkers, totalOf, type Worker } from "./workers.js";

const PROCESSES = 4;
const CHECKS = 300;
const windowMs = longWindowMs();

/** Limits with the share of them that each process may admit, and what all together may. */
const cases = [
  { kind: "fixedWindow", numbers: { limit: 100, windowMs }, localShare: 0.25, together: 100 },
  { kind: "fixedWindow", numbers: { limit: 100, windowMs }, localShare: 0.5, together: 200 },
  {
    kind: "tokenBucket",
    numbers: { capacity: 100, refill: slowRefill },
    localShare: 0.25,
    together: 100,
  },
  { kind: "slidingWindowLog", numbers: { limit: 10, windowMs }, localShare: 0.33, together: 12 },
  { kind: "slidingWindowCounter", numbers: { limit: 10, windowMs }, localShare: 1, together: 40 },
  // A share below one unit is one: no caller is locked out for as long as Redis is unavailable.
  { kind: "fixedWindow", numbers: { limit: 2, windowMs }, localShare: 0.25, together: 4 },
] as const;

describe("four processes whose Redis is gone", () => {
  let server: RedisProcess;
  let workers: readonly Worker[];
  beforeAll(async () => {
    server = await startRedis();
    workers = startWorkers(Array.from({ length: PROCESSES }, () => 0));
  });
  afterAll(async () => {
    await killAll(workers);
    await server.stop();
  });

  it("are decided for by it before", async () => {
    const limits = [["fixedWindow", { limit: 100, windowMs }]];
    await callAll(workers, "setUp", { port: server.port, limits, onStoreFailure: "throw" });
    const bursts = await callAll<Burst>(workers, "burst", { key: "user:1", count: CHECKS });
    expect(totalOf(bursts)).toBe(100);
    await server.kill();
  });

  it.each(cases)(
    "admit $together together under $kind with a share of $localShare",
    async (each) => {
      const { kind, numbers, localShare, together } = each;
      const name = `${kind} ${localShare} ${together}`;
      const resilience = { localShare, timeoutMs: 50 };
      const limits = [[kind, numbers]];
      await callAll(workers, "setUp", { port: server.port, name, limits, resilience });
      let admitted = 0;
      for (let burst = 0; burst < 3; burst++) {
        const bursts = await callAll<Burst>(workers, "burst", { key: "user:1", count: CHECKS });
        admitted += totalOf(bursts);
        expect(new Set(bursts.flatMap(({ sources }) => sources))).toEqual(new Set(["fallback"]));
      }
      expect(admitted).toBe(together);
    },
  );

  it("are decided for by it again as soon as it is back", async () => {
    await server.restart();
    const limits = [["fixedWindow", { limit: 100, windowMs }]];
    await callAll(workers, "setUp", { port: server.port, limits, onStoreFailure: "throw" });
    const bursts = await callAll<Burst>(workers, "burst", { key: "user:1", count: CHECKS });
    expect(totalOf(bursts)).toBe(100);
  });
});
