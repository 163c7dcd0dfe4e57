// `rateLimit({ limit: "1/minute" })` in every adapter, alone and in a list.

import "reflect-metadata";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { afterEach, describe, expect, it } from "vitest";
import { listen } from "../../../test/http/framework-harness.js";
import { tokenBucket } from "../../limits/limits.js";
import type { LimitOrRate } from "../../limits/rate.js";
import { rateLimit as expressLimit } from "./express/express.js";
import { rateLimit as fastifyLimit } from "./fastify/fastify.js";
import { rateLimit as fetchLimit } from "./fetch/fetch.js";
import { rateLimit as honoLimit } from "./hono/hono.js";
import { rateLimit as koaLimit } from "./koa/koa.js";
import { RateLimit } from "./nest/nest.js";
import { rateLimit as nodeLimit } from "./node/node.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type OneOrMany = LimitOrRate | readonly LimitOrRate[];
type Statuses = (limit: OneOrMany) => Promise<number[]>;

async function statusesOf(handle: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const { url, close } = await listen(createServer(handle));
  closing.push(close);
  return [(await fetch(url)).status, (await fetch(url)).status];
}

const ADAPTERS: Record<string, Statuses> = {
  express: (limit) => {
    const app = express();
    app.use(expressLimit({ limit }));
    app.get("/", (_request, response) => void response.send("ok"));
    return statusesOf(app);
  },
  koa: (limit) => {
    const app = new Koa();
    app.use(koaLimit({ limit }));
    app.use((ctx) => {
      ctx.body = "ok";
    });
    return statusesOf(app.callback());
  },
  node: (limit) => {
    const limited = nodeLimit({ limit });
    return statusesOf((request, response) => limited(request, response, () => response.end("ok")));
  },
  hono: async (limit) => {
    const app = new Hono();
    app.use(honoLimit({ limit, key: () => "all" }));
    app.get("/", (c) => c.text("ok"));
    return [(await app.request("/")).status, (await app.request("/")).status];
  },
  fastify: async (limit) => {
    const app = fastify();
    closing.push(() => app.close());
    await app.register(fastifyLimit({ limit }));
    app.get("/", () => "ok");
    return [(await app.inject("/")).statusCode, (await app.inject("/")).statusCode];
  },
  fetch: async (limit) => {
    const handle = fetchLimit({ limit, key: () => "all" }).wrap(() => new Response("ok"));
    const ask = async () => (await handle(new Request("http://localhost/"))).status;
    return [await ask(), await ask()];
  },
};

describe.each(Object.entries(ADAPTERS))("a rate in %s", (_name, statuses) => {
  it("is a limit", async () => {
    expect(await statuses("1/minute")).toEqual([200, 429]);
  });

  it("may stand in a list beside limits", async () => {
    const burst = tokenBucket({ capacity: 50, refillPerSecond: 10 });
    expect(await statuses([burst, "1/hour"])).toEqual([200, 429]);
  });

  it("is refused with what was probably meant", async () => {
    const statusesOfMisspelt = async () => statuses("1/min" as LimitOrRate);
    await expect(statusesOfMisspelt()).rejects.toThrow(/did you mean "1\/minute"\?/);
  });
});

describe("a rate in Nest", () => {
  it("is a limit of a decorator", () => {
    expect(() => RateLimit({ limit: "1/minute" })).not.toThrow();
    expect(() => RateLimit({ limits: [{ name: "burst", limit: "5/second" }] })).not.toThrow();
  });
});
