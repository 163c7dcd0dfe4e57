import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  concurrency,
  fixedWindow,
  slidingWindowLog,
  tokenBucket,
} from "../../src/limits/limits.js";
import type { Facts } from "../../src/rules/facts.js";
import { createPolicy } from "../../src/rules/policy/create-policy.js";
import type { Policy } from "../../src/rules/policy/policy.js";
import { redisStore } from "../../src/stores/redis/redis-store.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { longWindowMs, slowRefill } from "./servers.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10", user: "42" };
const window = (limit: number) => fixedWindow({ limit, windowMs: longWindowMs() });
const CONSISTENCIES = ["local", "eventual", "leased", "strict"] as const;
/** One that a busy machine does not miss. */
const timeoutMs = 10_000;

let server: RedisProcess;
const clients: Redis[] = [];
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

/** One process of several that share rules and the server. */
function startProcess(...rules: object[]): Policy {
  return createPolicy({
    rules: { version: 1, rules },
    store: redisStore(connect()),
    timeoutMs,
  });
}

function connect(): Redis {
  const client = new Redis(server.port, server.host);
  clients.push(client);
  return client;
}

async function countPassing(policy: Policy, requests: number): Promise<number> {
  const decisions = Array.from({ length: requests }, async () => policy.admit(facts));
  return (await Promise.all(decisions)).filter(({ allowed }) => allowed).length;
}

describe("a policy over a real server", () => {
  it.each(CONSISTENCIES)("charges all rules or none where the %s one refuses", async (tight) => {
    const rules = CONSISTENCIES.map((consistency) => ({
      id: `${tight}-${consistency}`,
      consistency,
      limit: window(consistency === tight ? 20 : 100),
    }));
    // Time stands still: a lease that expires on a busy machine counts as spent.
    const clock = new ManualClock(Date.now());
    const store = redisStore(connect(), { clock });
    const policy = createPolicy({ rules: { version: 1, rules }, store, timeoutMs, clock });
    let passed = 0;
    for (let i = 0; i < 30; i++) if ((await policy.admit(facts)).allowed) passed++;
    expect(passed).toBe(20);
    const { results } = await policy.peek(facts);
    expect(results.map(({ verdict }) => verdict.remaining)).toEqual(
      CONSISTENCIES.map((consistency) => (consistency === tight ? 0 : 80)),
    );
    await policy.close();
  });

  it("never exceeds a strict limit, however many processes charge it beside others", async () => {
    const rules = [
      { id: "strict-user", key: "user", limit: tokenBucket({ capacity: 100, refill: slowRefill }) },
      { id: "strict-log", limit: slidingWindowLog({ limit: 150, windowMs: longWindowMs() }) },
      { id: "strict-all", key: "global", shards: 4, limit: window(2_000) },
    ];
    const processes = [1, 2, 3].map(() => startProcess(...rules));
    const passed = await Promise.all(processes.map((policy) => countPassing(policy, 80)));
    expect(passed.reduce((total, n) => total + n, 0)).toBe(100);
    const { results } = await processes[0].peek(facts);
    expect(results.map(({ verdict }) => verdict.limit - verdict.remaining)).toEqual([
      100, 100, 100,
    ]);
    await Promise.all(processes.map((policy) => policy.close()));
  });

  it("holds permits and reservations across processes until they are finished", async () => {
    const rules = [
      { id: "held-places", limit: concurrency({ limit: 2, permitMs: 60_000 }) },
      { id: "held-tokens", limit: window(1_000), cost: 100, settle: "code" },
      { id: "held-login", limit: window(5), when: { status: [401] } },
    ];
    const [one, two] = [startProcess(...rules), startProcess(...rules)];
    const held = [await one.admit(facts), await two.admit(facts)];
    expect((await one.admit(facts)).allowed).toBe(false);
    await held[0].finish({ status: 200, cost: 30 });
    await held[1].finish({ status: 401, cost: 250 });
    const { results } = await two.peek(facts);
    expect(results.map(({ verdict }) => verdict.remaining)).toEqual([2, 720, 4]);
  });

  it("refunds the tokens of a delayed request when it is cancelled", async () => {
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 0.1 });
    const policy = startProcess({ id: "slow", limit, onExceed: "delay", delayMsMax: 60_000 });
    expect((await policy.admit(facts)).delayMs).toBe(0);
    const waiting = await policy.admit(facts);
    expect(waiting.delayMs).toBeGreaterThan(9_000);
    await waiting.cancel();
    expect((await policy.admit(facts)).delayMs).toBeLessThanOrEqual(10_001);
  });

  it("is blocked, reset and replaced for all processes", async () => {
    const rule = { id: "shared", key: "user", limit: window(10) };
    const [one, two] = [startProcess(rule), startProcess(rule)];
    for (let i = 0; i < 4; i++) await one.admit(facts);
    await two.block("shared", "user:42", 60_000);
    expect((await one.admit(facts)).allowed).toBe(false);
    await one.unblock("shared", "user:42");
    one.replace({ version: 1, rules: [{ ...rule, limit: window(20) }] });
    expect((await one.admit(facts)).remaining).toBe(15);
    await one.reset("shared", "user:42");
    expect((await one.peek(facts)).remaining).toBe(20);
  });

  it("counts a request id once, over all of its stores", async () => {
    const policy = startProcess(
      { id: "id-ip", limit: window(10) },
      { id: "id-user", key: "user", limit: window(10) },
      { id: "id-near", consistency: "local", limit: window(10) },
    );
    for (let i = 0; i < 3; i++) {
      await policy.admit({ ...facts, user: undefined }, { identify: () => facts, requestId: "r" });
    }
    const { results } = await policy.peek(facts);
    expect(results.map(({ verdict }) => verdict.remaining)).toEqual([9, 9, 9]);
  });
});
