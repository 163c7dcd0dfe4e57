import { rmSync } from "node:fs";
import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createLimiter,
  type FailurePolicy,
  fixedWindow,
  type Limiter,
  resilient,
  slidingWindowLog,
} from "../../src/index.js";
import { type RedisStore, redisStore } from "../../src/stores/redis/redis.js";
import { ManualClock } from "../../src/testing/testing.js";
import { type Interceptor, refusing, startInterceptor } from "./interceptor.js";
import { eternalKeys, longWindowMs, serverMs } from "./servers.js";

const windowMs = longWindowMs();
const limit = fixedWindow({ limit: 100, windowMs });
const RECOVERY_MS_MAX = 10_000;
const closers: (() => unknown)[] = [];
const unhandled: unknown[] = [];
const note = (reason: unknown): void => {
  unhandled.push(reason);
};

beforeEach(() => {
  process.on("unhandledRejection", note);
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  process.off("unhandledRejection", note);
  expect(unhandled.splice(0)).toEqual([]);
});

interface Place {
  readonly port: number;
  readonly host: string;
  readonly username?: string;
  readonly password?: string;
}

function storeAt({ port, host, username, password }: Place): RedisStore {
  const user = username === undefined ? {} : { username, password: String(password) };
  const client = new Redis({ port, host, ...user }).on("error", () => {});
  const store = redisStore(client);
  closers.push(
    () => client.disconnect(),
    () => store.close(),
  );
  return store;
}

/** A limiter over a server whose breaker tries again soon. */
function limiterAt(
  place: Place,
  onStoreFailure: FailurePolicy = "closed",
  timeoutMs = 150,
): Limiter<false> {
  const store = resilient(storeAt(place), { timeoutMs, breaker: { openMs: 20 } });
  return createLimiter({ limit, store, onStoreFailure });
}

async function startServer(args: Record<string, string> = {}): Promise<RedisProcess> {
  const server = await startRedis({ args });
  closers.push(() => server.stop());
  return server;
}

const byStore = { source: "store", allowed: true };

/** While it lasts each policy answers, and after `end` the store does again. */
async function policiesAnswerUntil(server: Place, end: () => Promise<unknown>): Promise<void> {
  const expected = { open: true, closed: false, local: true } as const;
  const limiters = Object.keys(expected).map((policy) =>
    limiterAt(server, policy as FailurePolicy),
  );
  for (const [i, allowed] of Object.values(expected).entries()) {
    const decision = await limiters[i]?.check("user:1");
    expect(decision).toMatchObject({ source: "fallback", allowed });
  }
  const failure = await Promise.resolve(limiterAt(server, "throw").check("user:1")).catch(
    (error: unknown) => error,
  );
  expect(failure).toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
  await end();
  for (const limiter of limiters) {
    const isBack = async () => expect(await limiter.check("user:2")).toMatchObject(byStore);
    await vi.waitFor(isBack, { timeout: RECOVERY_MS_MAX, interval: 30 });
  }
}

describe("a server that says not now", () => {
  const notNow = {
    LOADING: "LOADING Redis is loading the dataset in memory",
    BUSY: "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    TRYAGAIN: "TRYAGAIN Multiple keys request during rehashing of slot",
    CLUSTERDOWN: "CLUSTERDOWN The cluster is down",
    MASTERDOWN: "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    NOSCRIPT: "NOSCRIPT No matching script. Please use EVAL.",
    READONLY: "READONLY You can't write against a read only replica.",
  };
  let server: RedisProcess;
  let front: Interceptor;
  beforeAll(async () => {
    server = await startRedis();
    front = await startInterceptor(server);
  });
  afterAll(async () => {
    front.close();
    await server.stop();
  });
  beforeEach(async () => {
    front.intercept = () => undefined;
    await server.command("FLUSHALL");
  });

  it.each(Object.entries(notNow))(
    "%s: a few times, it is asked again inside the deadline",
    async (_, message) => {
      const limiter = limiterAt(front, "closed", 20_000);
      await limiter.check("warm:up");
      front.intercept = refusing(message, ["EVALSHA", "EVAL"], 3);
      expect(await limiter.check("user:1")).toMatchObject({ ...byStore, remaining: 99 });
      expect(await limiter.check("user:1")).toMatchObject({ ...byStore, remaining: 98 });
    },
  );

  it.each(Object.entries(notNow))("%s: for ever, the policy answers", async (_, message) => {
    front.intercept = refusing(message, ["EVALSHA", "EVAL"], Number.POSITIVE_INFINITY);
    await policiesAnswerUntil(front, async () => {
      front.intercept = () => undefined;
    });
  });

  it("anything else: the policy answers, and nothing is sent again", async () => {
    const limiter = limiterAt(front, "closed", 20_000);
    await limiter.check("warm:up");
    const before = front.asked.EVALSHA ?? 0;
    front.intercept = refusing("ERR something unknown", ["EVALSHA", "EVAL"], 1);
    expect(await limiter.check("user:1")).toMatchObject({ source: "fallback" });
    expect((front.asked.EVALSHA ?? 0) - before).toBe(1);
    expect(await limiter.check("user:1")).toMatchObject({ ...byStore, remaining: 99 });
  });
});

describe("a server that runs a long script", () => {
  it("is answered for by the policy, and is back when the script ends", async () => {
    const server = await startServer({ "busy-reply-threshold": "10" });
    const endless = new Redis(server.port, server.host);
    closers.push(() => endless.disconnect());
    const run = endless.eval("while true do end", 0).catch(() => {});
    const isBusy = async () => await expect(server.command("PING")).rejects.toThrow("BUSY");
    await vi.waitFor(isBusy, { timeout: RECOVERY_MS_MAX, interval: 5 });
    await policiesAnswerUntil(server, async () => {
      await server.command("SCRIPT", "KILL");
      await run;
    });
  });
});

describe("a server whose memory is full", () => {
  it("is answered for by the policy, has written nothing by halves, and is back with room", async () => {
    const server = await startServer({ "maxmemory-policy": "noeviction" });
    const limiter = limiterAt(server, "closed", 20_000);
    const log = createLimiter({
      name: "log",
      limit: [slidingWindowLog({ limit: 3, windowMs }), limit],
      store: storeAt(server),
      onStoreFailure: "throw",
    });
    for (let i = 0; i < 2; i++) {
      await limiter.check("user:1");
      await log.check("user:1");
    }
    // Units of one millisecond share an entry, which is taken out first: a full server allows that.
    const lastMs = await serverMs(server);
    const isLater = async () => expect(await serverMs(server)).toBeGreaterThan(lastMs);
    await vi.waitFor(isLater, { timeout: RECOVERY_MS_MAX, interval: 1 });
    await server.command("CONFIG", "SET", "maxmemory", "1");
    expect(await limiter.check("user:1")).toMatchObject({ source: "fallback", allowed: false });
    const failure = await Promise.resolve(log.check("user:1")).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
    expect(String(failure)).toContain("OOM");
    await policiesAnswerUntil(server, () => server.command("CONFIG", "SET", "maxmemory", "0"));
    expect(await limiter.check("user:1")).toMatchObject({ ...byStore, remaining: 97 });
    expect(await log.check("user:1")).toMatchObject({ ...byStore, remaining: 0 });
    expect(await log.check("user:1")).toMatchObject({ allowed: false });
    expect(await eternalKeys(server)).toEqual([]);
  });
});

describe("a server whose memory is full while a log has entries to drop", () => {
  it("decides all of it or nothing: what was used before stays in use", async () => {
    const server = await startServer({ "maxmemory-policy": "noeviction" });
    const client = new Redis(server.port, server.host);
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const store = redisStore(client, { clock });
    closers.push(
      () => client.disconnect(),
      () => store.close(),
    );
    const log = slidingWindowLog({ limit: 3, windowMs: 1_000 });
    const charges = [log, limit].map((each, part) => {
      return { counter: { scope: "log", part, limit: each }, key: "user:1", cost: 1, nowMs: 0 };
    });
    await store.decide(charges);
    clock.advance(600);
    await store.decide(charges);
    clock.advance(600);
    await server.command("CONFIG", "SET", "maxmemory", "1");
    const taken = await store.decide(charges).then(
      ({ allowed }) => (allowed ? 1 : 0),
      () => 0,
    );
    await server.command("CONFIG", "SET", "maxmemory", "0");
    const verdicts = await store.peek(charges);
    expect(verdicts.map(({ remaining }) => remaining)).toEqual([2 - taken, 98 - taken]);
    expect(await eternalKeys(server)).toEqual([]);
  });
});

describe("a server that must not write", () => {
  it("READONLY, a replica: the policy answers until it is a primary", async () => {
    const primary = await startServer();
    const replica = await startServer();
    await replica.command("REPLICAOF", primary.host, primary.port);
    const isReplica = async () => expect((await replica.info("replication")).role).toBe("slave");
    await vi.waitFor(isReplica, { timeout: RECOVERY_MS_MAX });
    await policiesAnswerUntil(replica, () => replica.command("REPLICAOF", "NO", "ONE"));
  });

  it("NOREPLICAS: the policy answers until enough replicas are asked for", async () => {
    const server = await startServer({ "min-replicas-to-write": "1" });
    const end = () => server.command("CONFIG", "SET", "min-replicas-to-write", 0);
    await policiesAnswerUntil(server, end);
  });

  it("MISCONF, a disk that is gone: the policy answers until the operator allows writes", async () => {
    const server = await startServer({ save: "3600 1" });
    const [, folder] = (await server.command("CONFIG", "GET", "dir")) as [string, string];
    rmSync(folder, { recursive: true });
    await server.command("BGSAVE").catch(() => {});
    const isBroken = async () =>
      await expect(server.command("SET", "a", 1)).rejects.toThrow("MISCONF");
    await vi.waitFor(isBroken, { timeout: RECOVERY_MS_MAX });
    const end = () => server.command("CONFIG", "SET", "stop-writes-on-bgsave-error", "no");
    await policiesAnswerUntil(server, end);
  });
});

describe("a user who may not run scripts", () => {
  it("NOPERM: the policy answers until the right is given", async () => {
    const server = await startServer();
    const rights = ["on", "nopass", "~*", "+@all", "-evalsha", "-eval"];
    await server.command("ACL", "SETUSER", "limited", ...rights);
    const front = { port: server.port, host: server.host, username: "limited", password: "any" };
    await policiesAnswerUntil(front, () => server.command("ACL", "SETUSER", "limited", "+@all"));
  });
});
