import { createServer } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import Koa, { type Context } from "koa";
import { afterEach, describe, expect, it, vi } from "vitest";
import { describeFramework } from "../../../../test/http/framework-cases.js";
import {
  type CaseInfo,
  type CaseReply,
  type CaseRequest,
  type FrameworkHarness,
  listen,
  type RunningServer,
} from "../../../../test/http/framework-harness.js";
import { concurrency, fixedWindow } from "../../../limits/limits.js";
import { parseRules } from "../../../rules/parse/parse.js";
import { createPolicy } from "../../../rules/policy/create-policy.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type RateLimitState, rateLimit } from "./koa.js";

const koa: FrameworkHarness = {
  name: "Koa",
  start: ([first, second], handle) => {
    const app = new Koa<RateLimitState>();
    app.silent = true;
    const limit = rateLimit(first as never, second as never);
    app.use((ctx, next) => (ctx.path === "/rate_limit" ? limit.status(ctx) : next()));
    app.use(limit);
    app.use(async (ctx) => answer(ctx, await handle(toRequest(ctx))));
    return listen(createServer(app.callback()));
  },
};

function toRequest(ctx: Context): CaseRequest {
  return {
    method: ctx.method,
    target: ctx.url,
    text: () => text(ctx.req),
    rateLimit: ctx.state.rateLimit as CaseInfo | undefined,
  };
}

function answer(ctx: Context, { status = 200, headers = {}, body }: CaseReply): void {
  ctx.status = status;
  ctx.set(headers);
  if (body !== undefined) ctx.body = typeof body === "string" ? body : Readable.from(body);
}

describeFramework(koa);

describe("Koa's own ways", () => {
  const running: RunningServer[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.close()));
  });
  const one = fixedWindow({ limit: 1, windowMs: 60_000 });
  const start = async (app: Koa): Promise<string> => {
    app.silent = true;
    const server = await listen(createServer(app.callback()));
    running.push(server);
    return server.url;
  };

  it("shows a refusal to the middleware before it as it shows any answer", async () => {
    const app = new Koa();
    const seen: unknown[] = [];
    app.use(async (ctx, next) => {
      await next();
      seen.push([ctx.status, ctx.type, ctx.res.hasHeader("retry-after")]);
    });
    app.use(rateLimit({ limit: one, clock: new ManualClock() }));
    app.use((ctx) => {
      ctx.body = "hello";
    });
    const url = await start(app);
    await fetch(url);
    await fetch(url);
    expect(seen).toEqual([
      [200, "text/plain", false],
      [429, "application/problem+json", true],
    ]);
  });

  it("counts by a body that a parser has read before it", async () => {
    const app = new Koa();
    app.use(async (ctx, next) => {
      (ctx.request as { body?: unknown }).body = JSON.parse(await text(ctx.req));
      await next();
    });
    app.use(rateLimit({ limit: one, key: "body:account" }));
    app.use((ctx) => {
      ctx.body = (ctx.request as { body?: unknown }).body as object;
    });
    const url = await start(app);
    const headers = { "content-type": "application/json" };
    const send = (account: string) =>
      fetch(url, { method: "POST", headers, body: JSON.stringify({ account }) });
    const answers = [await send("ann"), await send("bob"), await send("ann")];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(await answers[0].json()).toEqual({ account: "ann" });
  });

  it("does not take the word of `ctx.ip`", async () => {
    const app = new Koa({ proxy: true });
    app.use(rateLimit({ limit: one }));
    const url = await start(app);
    const from = async (address: string) =>
      (await fetch(url, { headers: { "x-forwarded-for": address } })).status;
    expect([await from("203.0.113.1"), await from("203.0.113.2")]).toEqual([404, 429]);
  });

  it("matches the path that was sent, where a mounted application sees a shorter one", async () => {
    const rules = parseRules({
      version: 1,
      rules: [{ id: "api", match: { path: "/api/*" }, limit: one }],
    });
    const app = new Koa();
    app.use((ctx, next) => {
      ctx.path = ctx.path.replace(/^\/api/, "");
      return next();
    });
    app.use(rateLimit(createPolicy({ rules })));
    const url = await start(app);
    const ask = async (path: string) => (await fetch(url + path)).status;
    expect([await ask("/api/a"), await ask("/api/a"), await ask("/b")]).toEqual([404, 429, 404]);
  });

  it("settles what a handler holds that answers past Koa", async () => {
    const app = new Koa();
    app.use(rateLimit({ limit: concurrency({ limit: 1, permitMs: 60_000 }) }));
    app.use((ctx) => {
      ctx.respond = false;
      ctx.res.statusCode = 200;
      ctx.res.end("raw");
    });
    const url = await start(app);
    for (let i = 0; i < 3; i++) {
      await vi.waitFor(async () => expect((await fetch(url)).status).toBe(200), 20_000);
    }
  });

  it("names an option that it does not know", () => {
    expect(() => rateLimit({ limit: one, windowMs: 1000 } as never)).toThrow(
      /rateLimit: unknown option "windowMs"/,
    );
  });
});
