import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { describe, expect, it } from "vitest";
import { describeFramework } from "../../../../test/http/framework-cases.js";
import {
  type CaseReply,
  type CaseRequest,
  type FrameworkHarness,
  listen,
  toBody,
} from "../../../../test/http/framework-harness.js";
import { concurrency, fixedWindow } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { rateLimit } from "./hono.js";

const hono: FrameworkHarness = {
  name: "Hono on Node",
  without: {
    "lets a client that waits for leave send the body that a rule needs":
      "it is the runtime that gives leave: a Request has no way to",
  },
  start: ([first, second], handle) => {
    const app = new Hono();
    app.onError((_error, c) => c.text("Internal Server Error", 500));
    const limit = rateLimit(first as never, second as never);
    app.get("/rate_limit", limit.status);
    app.use(limit);
    app.all("*", async (c) => answer(await handle(toRequest(c))));
    return listen(createServer(getRequestListener(app.fetch)));
  },
};

function toRequest(c: Context): CaseRequest {
  const { pathname, search } = new URL(c.req.url);
  return {
    method: c.req.method,
    target: pathname + search,
    text: () => c.req.text(),
    rateLimit: c.get("rateLimit"),
  };
}

function answer({ status = 200, headers = {}, body }: CaseReply): Response {
  return new Response(toBody(body), { status, headers });
}

describeFramework(hono);

describe("Hono's own ways", () => {
  const one = fixedWindow({ limit: 1, windowMs: 60_000 });
  const node = { incoming: { socket: { remoteAddress: "203.0.113.1" } } };

  it("gives handlers what was decided, with its type", async () => {
    const app = new Hono()
      .use(rateLimit({ limit: fixedWindow({ limit: 5, windowMs: 1000 }) }))
      .get("/", (c) => c.json(c.get("rateLimit").remaining));
    expect(await (await app.request("/", {}, node)).json()).toBe(4);
  });

  it("holds only the routes that it stands before", async () => {
    const app = new Hono().use("/api/*", rateLimit({ limit: one })).all("*", (c) => c.text("ok"));
    const ask = async (path: string) => (await app.request(path, {}, node)).status;
    expect([await ask("/api/a"), await ask("/api/b"), await ask("/c")]).toEqual([200, 429, 200]);
  });

  it.each([
    ["Bun", { requestIP: () => ({ address: "203.0.113.1" }) }],
    ["Deno", { remoteAddr: { hostname: "203.0.113.1" } }],
    ["a server that hides it in `server`", { server: node }],
  ])("finds the client in what %s passes along", async (_name, env) => {
    const app = new Hono().use(rateLimit({ limit: one })).get("/", (c) => c.text("ok"));
    const ask = async (bindings: object) => (await app.request("/", {}, bindings)).status;
    expect([await ask(env), await ask(env)]).toEqual([200, 429]);
    const other = { incoming: { socket: { remoteAddress: "203.0.113.2" } } };
    expect(await ask(other)).toBe(200);
  });

  it("adds its headers to answers whose headers can't be written", async () => {
    const app = new Hono()
      .use(rateLimit({ limit: one, clock: new ManualClock() }))
      .get("/", () => Response.redirect("http://www.example.com/", 302));
    const response = await app.request("/", {}, node);
    expect([response.status, response.headers.get("location")]).toEqual([
      302,
      "http://www.example.com/",
    ]);
    expect(response.headers.get("ratelimit")).toBe('"default";r=0;t=60');
  });

  it("replaces headers of its names in an answer that comes from another server", async () => {
    const upstream = await listen(
      createServer((_request, response) => {
        response.setHeader("X-RateLimit-Limit", "1000000").end("from there");
      }),
    );
    try {
      const app = new Hono().use(rateLimit({ limit: one })).get("/", () => fetch(upstream.url));
      const response = await app.request("/", {}, node);
      expect(response.headers.get("x-ratelimit-limit")).toBe("1");
      expect(await response.text()).toBe("from there");
    } finally {
      await upstream.close();
    }
  });

  it("keeps every header of an answer that it has to watch", async () => {
    const app = new Hono()
      .use(rateLimit({ limit: concurrency({ limit: 1, permitMs: 60_000 }) }))
      .get("/", (c) => {
        c.header("set-cookie", "a=1", { append: true });
        c.header("set-cookie", "b=2", { append: true });
        return c.json({ fine: true }, 201);
      });
    const response = await app.request("/", {}, node);
    expect(response.status).toBe(201);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({ fine: true });
    expect((await app.request("/", {}, node)).status).toBe(201);
  });

  it("counts by a body that was read before it, and leaves it to the handler", async () => {
    const app = new Hono()
      .use(async (c, next) => {
        await c.req.json();
        await next();
      })
      .use(rateLimit({ limit: one, key: "body:account" }))
      .post("/", async (c) => c.json(await c.req.json()));
    const headers = { "content-type": "application/json" };
    const send = (account: string) => {
      const body = JSON.stringify({ account });
      return app.request("/", { method: "POST", headers, body }, node);
    };
    const answers = [await send("ann"), await send("bob"), await send("ann")];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(await answers[1].json()).toEqual({ account: "bob" });
  });

  it("releases a permit when a handler throws what is not an error", async () => {
    const app = new Hono()
      .use(rateLimit({ limit: concurrency({ limit: 1, permitMs: 60_000 }) }))
      .get("/", () => {
        throw "text";
      });
    for (let i = 0; i < 2; i++) {
      await expect(app.request("/", {}, node)).rejects.toBe("text");
    }
  });
});
