// `app.use(rateLimit)` without a call: every request fails with an error that says what to write.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { Hono } from "hono";
import Koa from "koa";
import { describe, expect, it } from "vitest";
import { rateLimit as expressRateLimit } from "./express/express.js";
import { rateLimit as fetchRateLimit } from "./fetch/fetch.js";
import { rateLimit as honoRateLimit } from "./hono/hono.js";
import { rateLimit as koaRateLimit } from "./koa/koa.js";
import { rateLimit as nodeRateLimit } from "./node/node.js";

const MESSAGE =
  "rateLimit: got a request, not options; write app.use(rateLimit({ limit: … })) instead of app.use(rateLimit)";

async function ask(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } });
  await new Promise((resolve) => server.close(resolve));
  return status;
}

describe("rateLimit that was not called", () => {
  it("fails requests of Express", async () => {
    const errors: unknown[] = [];
    const app = express();
    app.use(expressRateLimit as never);
    app.use(((error, _request, response, _next) => {
      errors.push(error);
      response.status(500).end();
    }) as express.ErrorRequestHandler);
    expect(await ask(createServer(app))).toBe(500);
    expect(errors).toMatchObject([{ message: expect.stringContaining(MESSAGE) }]);
  });

  it("fails requests of Koa", async () => {
    const errors: unknown[] = [];
    const app = new Koa();
    app.on("error", (error) => errors.push(error));
    app.use(koaRateLimit as never);
    expect(await ask(createServer(app.callback()))).toBe(500);
    expect(errors).toMatchObject([{ message: expect.stringContaining(MESSAGE) }]);
  });

  it("fails requests of Hono", async () => {
    const errors: unknown[] = [];
    const app = new Hono();
    app.onError((error, c) => {
      errors.push(error);
      return c.text("failed", 500);
    });
    app.use(honoRateLimit as never);
    app.get("/", (c) => c.text("ok"));
    expect((await app.request("/")).status).toBe(500);
    expect(errors).toMatchObject([{ message: expect.stringContaining(MESSAGE) }]);
  });

  it("fails requests of node:http, connect and fetch handlers", async () => {
    const server = createServer((request, response) => {
      try {
        (nodeRateLimit as (...args: unknown[]) => unknown)(request, response, () => {});
      } catch (error) {
        response.statusCode = (error as Error).message.includes(MESSAGE) ? 500 : 200;
      }
      response.end();
    });
    expect(await ask(server)).toBe(500);
    expect(() => fetchRateLimit(new Request("http://localhost/") as never)).toThrow(MESSAGE);
  });
});
