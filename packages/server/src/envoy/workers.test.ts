// Envoy's limits in several workers over one primary: leased, so that most calls need no message, and never more than
// the limit in all of them together.

import { type Clock, memoryStore, resilient } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { channelPair } from "../../test/channel-pair.js";
import { descriptor, makeCore, rulesOf, START_MS } from "../../test/envoy-harness.js";
import { ipcStore } from "../workers/ipc-store/ipc-store.js";
import { serveStore } from "../workers/ipc-store/serve-store.js";
import { EnvoyLimiter } from "./limiter/limiter.js";
import { CODE, type RateLimitResponse } from "./messages.js";
import { toEnvoyStore } from "./store.js";

const WORKERS = 3;
const FILE = `
domain: web
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 100 }
  - key: path
    rate_limit: { unit: hour, requests_per_unit: 1000 }
  - key: few
    rate_limit: { sluice: 100/minute }
  - key: bucket
    rate_limit: { sluice: { tokenBucket: { capacity: 100, refillPerSecond: 10 } } }
`;

/** The limiters of some workers over one memory store, and how many messages they have sent. */
function standOf(clock: Clock) {
  const shared = memoryStore({ keysMax: 10_000 });
  const stands = Array.from({ length: WORKERS }, () => {
    const { worker, primary, counts } = channelPair<string>();
    serveStore(shared, primary, { clock });
    const guarded = resilient(ipcStore(worker), { timeoutMs: 10_000, clock });
    const { core } = makeCore({ files: [], store: guarded, clock, config: { workers: WORKERS } });
    const store = toEnvoyStore(core, 15);
    return { store, counts, limiter: new EnvoyLimiter({ store, clock, rules: rulesOf(FILE) }) };
  });
  const ask = async (worker: number, entries: Record<string, string>[], hits = 1) =>
    stands[worker].limiter.decide({
      domain: "web",
      descriptors: entries.map((each) => descriptor(each)),
      hits,
    });
  const sent = () => stands.reduce((sum, { counts }) => sum + counts[0], 0);
  return { ask, sent, shared, close: () => Promise.all(stands.map(({ store }) => store.close())) };
}

const isOk = ({ overallCode }: RateLimitResponse) => overallCode === CODE.ok;

describe("limits of Envoy in workers", () => {
  it("are leased: a busy key needs a message for few of its calls", async () => {
    const { ask, sent, close } = standOf(new ManualClock(START_MS));
    for (let i = 0; i < 30; i++) await ask(0, [{ path: "/" }]);
    const before = sent();
    for (let i = 0; i < 400; i++) expect(isOk(await ask(0, [{ path: "/" }]))).toBe(true);
    expect(sent() - before).toBeLessThanOrEqual(40);
    await close();
  });

  it("refuse without a message once they are exhausted", async () => {
    const { ask, sent, close } = standOf(new ManualClock(START_MS));
    while (isOk(await ask(0, [{ user: "a" }])));
    const before = sent();
    for (let i = 0; i < 500; i++) expect(isOk(await ask(0, [{ user: "a" }]))).toBe(false);
    expect(sent() - before).toBeLessThanOrEqual(2);
    await close();
  });

  it.each([
    ["a window", "user", 100],
    ["a log, which stays strict", "few", 100],
    ["a bucket, with what a second refills", "bucket", 110],
  ])("of %s admit no more than the limit in all workers together", async (_, key, most) => {
    const clock = new ManualClock(START_MS);
    const { ask, close } = standOf(clock);
    let random = 7;
    const below = (bound: number) => {
      random = (random * 48_271) % 2_147_483_647;
      return random % bound;
    };
    let admitted = 0;
    const askOnce = async () => {
      const hits = 1 + below(3);
      const entries = [{ [key]: "a" }, { path: "/" }].slice(0, 1 + below(2));
      if (isOk(await ask(below(WORKERS), entries, hits))) admitted += hits;
    };
    for (let i = 0; i < 60; i++) {
      await Promise.all(Array.from({ length: 5 }, askOnce));
      if (key !== "bucket") clock.advance(below(100));
    }
    expect(admitted).toBeGreaterThan(60);
    expect(admitted).toBeLessThanOrEqual(most);
    await close();
  });

  it("admit the whole limit once what other workers had leased is returned", async () => {
    const clock = new ManualClock(START_MS);
    const { ask, close } = standOf(clock);
    let admitted = 0;
    for (let i = 0; i < 600; i++) {
      if (isOk(await ask(i % WORKERS, [{ user: "a" }]))) admitted++;
      clock.advance(50);
      await new Promise(setImmediate);
    }
    expect(admitted).toBe(100);
    await close();
  });
});
