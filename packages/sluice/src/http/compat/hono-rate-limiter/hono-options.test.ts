import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { fixedWindow } from "../../../limits/limits.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type HonoOptions, rateLimiter } from "../../adapters/hono/hono.js";

const keyGenerator = () => "caller";

/** An application behind these options: its route answers with the status that the path says. */
function toApp(options: HonoOptions) {
  const app = new Hono<{ Variables: Record<string, { limit: number; remaining: number }> }>();
  app.use(rateLimiter({ clock: new ManualClock(), ...options }));
  app.get("/info/:name", (c) => c.json(c.get(c.req.param("name")) ?? null));
  app.get("/:status", (c) => c.text("handled", Number(c.req.param("status")) as 200));
  const statuses = async (...paths: string[]) => {
    const found: number[] = [];
    for (const path of paths) {
      const response = await app.request(path);
      // What depends on the response is settled when its body is out.
      await response.text();
      found.push(response.status);
    }
    return found;
  };
  return { app, statuses };
}

describe("options of hono-rate-limiter", () => {
  it("counts numbers in windows that start with the first request", async () => {
    const clock = new ManualClock(90_500);
    const { app, statuses } = toApp({ windowMs: 60_000, limit: 2, keyGenerator, clock });
    expect(await statuses("/200", "/200", "/200")).toEqual([200, 200, 429]);
    expect((await app.request("/200")).headers.get("retry-after")).toBe("60");
    clock.advance(59_999);
    expect(await statuses("/200")).toEqual([429]);
    clock.advance(1);
    expect(await statuses("/200")).toEqual([200]);
  });

  it("admits 5 in a minute by default", async () => {
    for (const options of [
      { keyGenerator },
      { windowMs: 60_000, key: "global" },
      { key: "global" },
    ]) {
      const { statuses } = toApp(options);
      const paths = Array.from({ length: 6 }, () => "/200");
      expect(await statuses(...paths)).toEqual([200, 200, 200, 200, 200, 429]);
    }
  });

  it("needs no options at all", () => {
    for (const limit of [rateLimiter(), rateLimiter({})]) expect(limit.policy).toBeDefined();
  });

  it("lets a function choose the number, later as well, and each number count apart", async () => {
    const limit = async (c: { req: { query(name: string): string | undefined } }) =>
      Number(c.req.query("limit"));
    const { app, statuses } = toApp({ limit, keyGenerator, skip: (c) => c.req.path === "/202" });
    expect(await statuses("/200?limit=1", "/200?limit=1", "/200?limit=2")).toEqual([200, 429, 200]);
    expect(await statuses("/202", "/202", "/202")).toEqual([202, 202, 202]);
    expect((await app.request("/200?limit=0")).status).toBe(429);
  });

  it("answers with a message and a status, and keeps the headers", async () => {
    for (const [message, type, body] of [
      ["slow down", /^text\/plain/, "slow down"],
      [{ error: "slow down" }, /^application\/json/, '{"error":"slow down"}'],
      [async () => "later", /^text\/plain/, "later"],
    ] as const) {
      const { app } = toApp({ limit: 1, keyGenerator, message, statusCode: 503 });
      await app.request("/200");
      const response = await app.request("/200");
      expect(response.status).toBe(503);
      expect(response.headers.get("content-type")).toMatch(type);
      expect(response.headers.get("retry-after")).toBe("60");
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("ratelimit")).toMatch(/^"default";r=0/);
      expect(await response.text()).toBe(body);
    }
  });

  it("sends the usual body under another status", async () => {
    const { app } = toApp({ limit: 1, keyGenerator, statusCode: 420 });
    await app.request("/200");
    const response = await app.request("/200");
    expect(response.status).toBe(420);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({ code: "RATE_LIMIT_EXCEEDED" });
  });

  it("leaves the answer to a handler, which may let the request go on", async () => {
    const seen: unknown[] = [];
    const { app, statuses } = toApp({
      limit: 1,
      keyGenerator,
      handler: async (c, next, options) => {
        seen.push(options.statusCode, options.message);
        if (c.req.path !== "/201") return c.text("mine", 418);
        return next();
      },
    });
    expect(await statuses("/200", "/200", "/201")).toEqual([200, 418, 201]);
    expect(seen.slice(0, 2)).toEqual([429, "Too many requests, please try again later."]);
    expect((await app.request("/200")).headers.get("retry-after")).toBe("60");
  });

  it("has the older forms of the headers", async () => {
    for (const [standardHeaders, name] of [
      [true, "ratelimit-limit"],
      ["draft-6", "ratelimit-limit"],
      ["draft-7", "ratelimit"],
    ] as const) {
      const { app } = toApp({ limit: 3, keyGenerator, standardHeaders });
      expect((await app.request("/200")).headers.get(name)).toMatch(/3/);
    }
    const { app } = toApp({ limit: 3, keyGenerator, standardHeaders: false });
    expect((await app.request("/200")).headers.get("ratelimit")).toBeNull();
  });

  it("counts failures only, or none of them", async () => {
    const { statuses } = toApp({ limit: 1, keyGenerator, skipSuccessfulRequests: true });
    expect(await statuses("/200", "/404", "/200")).toEqual([200, 404, 429]);
    const other = toApp({ limit: 1, keyGenerator, skipFailedRequests: true });
    expect(await other.statuses("/404", "/500", "/200", "/200")).toEqual([404, 500, 200, 429]);
  });

  it("asks what a success is, later as well", async () => {
    const { statuses } = toApp({
      limit: 1,
      keyGenerator,
      skipFailedRequests: true,
      requestWasSuccessful: async (c) => c.res.status !== 202,
    });
    expect(await statuses("/202", "/202", "/404", "/404")).toEqual([202, 202, 404, 429]);
  });

  it("shows handlers what was decided under another name", async () => {
    const { app } = toApp({ limit: 3, keyGenerator, requestPropertyName: "quota" });
    expect(await (await app.request("/info/quota")).json()).toMatchObject({
      limit: 3,
      remaining: 2,
    });
    expect(await (await app.request("/info/rateLimit")).json()).toBeNull();
  });

  it("takes keys that are numbers, and refuses those that all would share", async () => {
    const { statuses } = toApp({ limit: 1, keyGenerator: (c) => Number(c.req.query("id")) });
    expect(await statuses("/200?id=1", "/200?id=2", "/200?id=1")).toEqual([200, 200, 429]);
    const empty = toApp({ limit: 1, keyGenerator: () => "" });
    empty.app.onError((error, c) => c.text(error.message, 400));
    expect(await (await empty.app.request("/200")).text()).toMatch(/keyGenerator answered ""/);
  });

  const limit = fixedWindow({ limit: 1, windowMs: 60_000 });
  it.each<[HonoOptions, RegExp]>([
    [{ limit, windowMs: 1_000 }, /windowMs needs a limit that is a number/],
    [{ limit: "3" as never }, /limit must be a number, a function or a limit, got "3"/],
    [{ limit: 1, key: "ip", keyGenerator }, /takes key or keyGenerator, not both/],
    [{ limit: 1, body: "text", message: "no" }, /takes body or message, not both/],
    [{ limit: 1, statusCode: 200 }, /statusCode/],
    [{ limit: 1, handler: "no" as never }, /handler must be a function/],
    [{ limit: 1, requestStore: 1 } as never, /unknown option "requestStore"/],
    [{ limit: 1, skipFailedRequests: true, skipSuccessfulRequests: true }, /not both/],
    [{ limit: 1, skipFailedRequests: "false" as never }, /must be true or false, got "false"/],
    [{ limit: 1, requestPropertyName: "" }, /requestPropertyName must be a non-empty string/],
    [{ limit: 1, requestWasSuccessful: true as never }, /must be a function, got true/],
    [{ limitt: 1 } as never, /unknown option "limitt", did you mean limit\?.*windowMs.*peer/],
  ])("refuses %o when it is given", (options, message) => {
    expect(() => rateLimiter({ store: memoryStore({ keysMax: 1 }), ...options })).toThrow(message);
  });
});
