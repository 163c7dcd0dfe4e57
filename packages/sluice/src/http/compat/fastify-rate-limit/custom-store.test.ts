import { type FastifyInstance, fastify } from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { type FastifyOptions, rateLimit } from "../../adapters/fastify/fastify.js";

const running: FastifyInstance[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((app) => app.close()));
});

type Done = (error: Error | null, hits?: { current: number; ttl: number }) => void;

/** Counts in a map, and keeps what it was made with. */
class MapStore {
  static made: object[] = [];
  readonly #hits = new Map<string, number>();

  constructor(options: object) {
    MapStore.made.push(options);
  }

  incr(key: string, done: Done, windowMs: number): void {
    if (key === "broken") {
      done(new Error("store is down"));
      return;
    }
    const current = (this.#hits.get(key) ?? 0) + 1;
    this.#hits.set(key, current);
    done(null, { current, ttl: windowMs });
  }

  child(options: object): MapStore {
    return new MapStore(options);
  }
}

async function make(options: FastifyOptions): Promise<FastifyInstance> {
  const app = fastify();
  running.push(app);
  await app.register(rateLimit, { store: MapStore, ...options });
  app.get("/", async () => "hello");
  app.get("/own", { config: { rateLimit: { max: 1, timeWindow: "5s" } } }, async () => "own");
  return app;
}

describe("a store class that was written for @fastify/rate-limit", () => {
  it("counts, and refusals are answered as the original does", async () => {
    const app = await make({ max: 1, timeWindow: 2_000, ban: 1 });
    const [passed, refused, banned] = [
      await app.inject("/"),
      await app.inject("/"),
      await app.inject("/"),
    ];
    expect([passed.statusCode, refused.statusCode, banned.statusCode]).toEqual([200, 429, 403]);
    expect(passed.headers).toMatchObject({ "x-ratelimit-limit": "1", "x-ratelimit-reset": "2" });
    expect(refused.headers).toMatchObject({ "x-ratelimit-remaining": "0", "retry-after": "2" });
    expect(refused.json()).toEqual({
      statusCode: 429,
      error: "Too Many Requests",
      message: "Rate limit exceeded, retry in 2 seconds",
    });
  });

  it("makes a child for each route, with its options", async () => {
    MapStore.made = [];
    const app = await make({ max: 9 });
    const statuses = [];
    for (const url of ["/own", "/own", "/"]) statuses.push((await app.inject(url)).statusCode);
    expect(statuses).toEqual([200, 429, 200]);
    const routeInfo = expect.objectContaining({ url: "/own", method: "GET" });
    expect(MapStore.made).toContainEqual(
      expect.objectContaining({ max: 1, timeWindow: 5_000, routeInfo }),
    );
  });

  it("that fails is an error, or with skipOnError none", async () => {
    for (const [skipOnError, status] of [
      [false, 500],
      [true, 200],
    ] as const) {
      const app = await make({ max: 1, skipOnError, keyGenerator: () => "broken" });
      expect((await app.inject("/")).statusCode).toBe(status);
    }
  });

  it("can be asked by createRateLimit, and says so if it can't be read", async () => {
    const app = await make({ global: false, max: 1, timeWindow: 2_000, allowList: ["free"] });
    const check = app.createRateLimit();
    app.get("/count", (request) => check(request));
    app.get("/read", (request) => check(request, { increment: false }));
    const counted = (await app.inject("/count")).json();
    expect(counted).toMatchObject({
      key: "127.0.0.1",
      remaining: 0,
      ttl: 2_000,
      isExceeded: false,
    });
    const { statusCode, body } = await app.inject("/read");
    expect([statusCode, body]).toEqual([500, expect.stringContaining("does not implement")]);
  });
});
