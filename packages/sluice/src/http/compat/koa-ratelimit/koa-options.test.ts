import { once } from "node:events";
import type { AddressInfo } from "node:net";
import Koa from "koa";
import { afterEach, describe, expect, it } from "vitest";
import { fixedWindow } from "../../../limits/limits.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import byDefault, { type KoaOptions, rateLimit } from "../../adapters/koa/koa.js";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** An application behind these options. */
async function start(options: KoaOptions) {
  const app = new Koa();
  app.silent = true;
  app.use(rateLimit({ clock: new ManualClock(), ...options }));
  app.use((ctx) => {
    ctx.body = "handled";
  });
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const ask = (headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}/`, { headers });
  const statuses = async (...users: string[]) => {
    const found: number[] = [];
    for (const user of users) found.push((await ask({ "x-user": user })).status);
    return found;
  };
  return { ask, statuses };
}

const id: NonNullable<KoaOptions["id"]> = (ctx) => ctx.get("x-user") || false;

describe("options of koa-ratelimit", () => {
  it("counts max in each duration, from the first request of an id on", async () => {
    const clock = new ManualClock(90_500);
    const { ask, statuses } = await start({ duration: 60_000, max: 2, id, clock });
    expect(await statuses("a", "a", "a", "b")).toEqual([200, 200, 429, 200]);
    const response = await ask({ "x-user": "a" });
    expect(response.headers.get("retry-after")).toBe("60");
    expect(response.headers.get("x-ratelimit-limit")).toBe("2");
    clock.advance(60_000);
    expect(await statuses("a")).toEqual([200]);
  });

  it("does not count callers without an id", async () => {
    const { ask } = await start({ max: 1, id });
    for (let i = 0; i < 3; i++) expect((await ask()).status).toBe(200);
  });

  it("admits 2,500 in an hour by default", async () => {
    const { ask } = await start({});
    const { headers } = await ask({ "x-user": "a" });
    expect(headers.get("ratelimit-policy")).toBe('"default";q=2500;w=3600');
  });

  it("lets some pass and refuses others with 403, later as well", async () => {
    const { statuses } = await start({
      max: 1,
      whitelist: async (ctx) => ctx.get("x-user") === "friend",
      blacklist: async (ctx) => ctx.get("x-user") === "foe",
    });
    expect(await statuses("friend", "friend", "foe", "a", "b")).toEqual([200, 200, 403, 200, 429]);
  });

  it("answers with a message and a status", async () => {
    for (const [errorMessage, type, body] of [
      ["slow down", /^text\/plain/, "slow down"],
      [{ error: "slow down" }, /^application\/json/, '{"error":"slow down"}'],
    ] as const) {
      const { ask } = await start({ max: 1, id: () => "all", errorMessage, status: 503 });
      await ask();
      const response = await ask();
      expect(response.status).toBe(503);
      expect(response.headers.get("content-type")).toMatch(type);
      expect(response.headers.get("retry-after")).toBe("3600");
      expect(await response.text()).toBe(body);
    }
  });

  it("throws refusals, with their headers, to the application's error handling", async () => {
    const seen: unknown[] = [];
    const app = new Koa();
    app.use(async (_ctx, next) => {
      try {
        await next();
      } catch (error) {
        seen.push((error as { status: number }).status, (error as Error).message);
        throw error;
      }
    });
    app.silent = true;
    app.use(rateLimit({ max: 1, id: () => "all", throw: true, errorMessage: "slow down" }));
    app.use((ctx) => {
      ctx.body = "handled";
    });
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await fetch(url);
    const response = await fetch(url);
    expect(response.status).toBe(429);
    expect(await response.text()).toBe("slow down");
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(3_000);
    expect(response.headers.get("ratelimit")).toMatch(/^"default";r=0/);
    expect(seen).toEqual([429, "slow down"]);
  });

  it("sends the headers under the given names, or none", async () => {
    const headers = { remaining: "Left", reset: "Until", total: "All" };
    const clock = new ManualClock(1_000_000);
    const named = await start({ max: 3, duration: 60_000, id: () => "all", headers, clock });
    const response = await named.ask();
    expect(response.headers.get("left")).toBe("2");
    expect(response.headers.get("all")).toBe("3");
    expect(response.headers.get("until")).toMatch(/^\d+$/);
    expect(response.headers.get("x-ratelimit-limit")).toBeNull();
    const silent = await start({ max: 1, id: () => "all", disableHeader: true });
    const names = [...(await silent.ask()).headers.keys()];
    expect(names.filter((name) => name.includes("ratelimit"))).toEqual([]);
    expect((await silent.ask()).headers.get("retry-after")).toBe("3600");
  });

  it("needs no options at all, and is the default export too", () => {
    expect(byDefault).toBe(rateLimit);
    for (const limit of [rateLimit(), rateLimit({})]) expect(limit.policy).toBeDefined();
  });

  it("reports refusals", async () => {
    const seen: string[] = [];
    const { statuses } = await start({
      max: 1,
      id: () => "all",
      onLimited: (ctx) => seen.push(ctx.get("x-user")),
    });
    await statuses("a", "b", "c");
    expect(seen).toEqual(["b", "c"]);
  });

  const limit = fixedWindow({ limit: 1, windowMs: 60_000 });
  it.each<[KoaOptions, RegExp]>([
    [{ driver: "memory", max: 1 } as never, /driver is koa-ratelimit's; .* redisStore\(client\)/],
    [{ db: new Map(), max: 1 } as never, /db is koa-ratelimit's/],
    [{ limit, max: 1 }, /takes limit or max, not both/],
    [{ max: 1, key: "ip", id }, /takes key or id, not both/],
    [{ max: -1 }, /a limit must be a whole number from 0, got -1/],
    [{ max: 1, status: 200 }, /status/],
    [
      { max: 1, headers: { left: "x" } as never },
      /headers: unknown option "left"; known: remaining, reset, total/,
    ],
    [{ max: 1, blacklist: ["a"] as never }, /blacklist must be a function/],
    [{ max: 1, namespace: "api" } as never, /namespace is koa-ratelimit's; pass name: …, or redis/],
    [{ maxx: 1 } as never, /unknown option "maxx", did you mean max\? .*duration.*whitelist/],
    [{ max: 1, throw: "yes" as never }, /throw must be true or false, got "yes"/],
    [{ max: 1, disableHeader: 1 as never }, /disableHeader must be true or false, got 1/],
    [{ max: 1, id: "ip" as never }, /id must be a function, got "ip"/],
  ])("refuses %o when it is given", (options, message) => {
    expect(() => rateLimit({ store: memoryStore({ keysMax: 1 }), ...options })).toThrow(message);
  });
});
