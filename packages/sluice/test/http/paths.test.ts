// Whatever way a path is written: if a framework's own router leads it to a handler, the rule with the
// pattern of that route has counted it. Real servers, since what a router takes a path for is nowhere
// written down.

import { Agent, createServer, type IncomingMessage, request } from "node:http";
import { createRequire } from "node:module";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { afterAll, describe, expect, it } from "vitest";
import * as forExpress from "../../src/http/adapters/express/express.js";
import * as forFastify from "../../src/http/adapters/fastify/fastify.js";
import * as forHono from "../../src/http/adapters/hono/hono.js";
import * as forKoa from "../../src/http/adapters/koa/koa.js";
import * as forNode from "../../src/http/adapters/node/node.js";
import { fixedWindow } from "../../src/limits/limits.js";
import { parseRules } from "../../src/rules/parse/parse.js";
import { createPolicy } from "../../src/rules/policy/create-policy.js";
import { listen, type RunningServer } from "./framework-harness.js";

// It comes without types of its own.
const express4 = createRequire(import.meta.url)("express4") as typeof express;

const ROUTES = ["/login", "/users/:id", "/a/:x/b", "/files/*", "/:t/deep", "/"];
/** The routes for those who look at the path themselves. */
const EXPRESSIONS = ROUTES.map(
  (route) => new RegExp(`^${route.replace("/*", "(/.*)?").replace(/:\w+/g, "[^/]+")}$`),
);

const limit = fixedWindow({ limit: 1_000_000, windowMs: 3_600_000 });
const rules = ROUTES.map((path, i) => ({ id: `r${i}`, match: { path }, key: "global", limit }));
const policy = createPolicy({ rules: parseRules({ version: 1, rules }) });

/** A server whose handlers answer with the number of their route. */
type Start = () => Promise<RunningServer>;

const startExpress = (makeApp: typeof express, toRoute: (route: string) => string) => () => {
  const app = makeApp();
  app.set("env", "test");
  app.use(forExpress.rateLimit(policy));
  for (const [i, route] of ROUTES.entries()) {
    app.get(toRoute(route), (_request, response) => void response.end(`${i}`));
  }
  return listen(createServer(app));
};

const startFastify = (routerOptions: object) => async () => {
  const app = fastify({ forceCloseConnections: true, routerOptions });
  await app.register(forFastify.rateLimit(policy));
  for (const [i, route] of ROUTES.entries()) app.get(route, async () => `${i}`);
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  return { url, close: () => app.close() };
};

const startHono = (options: object) => () => {
  const app = new Hono(options);
  app.use(forHono.rateLimit(policy));
  for (const [i, route] of ROUTES.entries()) app.get(route, (c) => c.text(`${i}`));
  return listen(createServer(getRequestListener(app.fetch)));
};

const startKoa = () => {
  const app = new Koa();
  app.silent = true;
  app.use(forKoa.rateLimit(policy));
  app.use((ctx) => {
    const i = EXPRESSIONS.findIndex((each) => each.test(ctx.path));
    if (i >= 0) ctx.body = `${i}`;
  });
  return listen(createServer(app.callback()));
};

/** Handwritten, with what it takes for the path. */
const startNode = (toPath: (target: string) => string) => () => {
  const handle = forNode.rateLimit(policy).wrap(({ url = "" }: IncomingMessage, response) => {
    const i = EXPRESSIONS.findIndex((each) => each.test(toPath(url)));
    response.statusCode = i < 0 ? 404 : 200;
    response.end(`${i}`);
  });
  return listen(createServer(handle));
};

/** The path by the URL standard; what is not a URL has none. */
function toPathname(target: string): string {
  return URL.canParse(target, "http://base") ? new URL(target, "http://base").pathname : "";
}

/** The path without escapes, by which Python's servers route: WSGI and ASGI pass on no other. */
function toDecoded(target: string): string {
  try {
    return decodeURIComponent(target.split("?")[0]);
  } catch {
    return "";
  }
}

const LENIENT = {
  caseSensitive: false,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  useSemicolonDelimiter: true,
};

const servers: readonly [name: string, start: Start][] = [
  ["Express 5", startExpress(express, (route) => route.replace("*", "*rest"))],
  ["Express 4", startExpress(express4, (route) => route)],
  ["Fastify", startFastify({})],
  ["Fastify, with lenient options", startFastify(LENIENT)],
  ["Hono", startHono({})],
  ["Hono, not strict", startHono({ strict: false })],
  ["Koa, by ctx.path", startKoa],
  ["node:http, by URL.pathname", startNode(toPathname)],
  ["node:http, by what is before the query", startNode((target) => target.split("?")[0])],
  ["node:http, by the decoded path", startNode(toDecoded)],
];

const PATHS = ["/login", "/users/1", "/users/", "/a/x/b", "/a//b", "/files/x", "/t/deep", "/"];
/** What is put between the parts of these paths, and into them. */
const PIECES = [
  ...words(
    "/ // ; /; /;x /;x/ \\ /\\ . .. /. /.. /./ /../ //.. %2e /%2e%2e ..; /..;/ ?x # #x /# ;x#",
  ),
  ...words("%2f %5c %00 %23 %3f %3b %25 %c3%a9 %c0%af %zz é * : @ +"),
];
const HOSTS = [
  ...words("http://h http://h? http://h?x http://h# http://h; http://h\\ http://u@h http://h:80"),
  ...words("HTTP://h http:// http:/// http://h/.. http://h// x://h /http://h ?"),
  ...words("//h ///h //h? /\\h /\\/h"),
];

function words(text: string): readonly string[] {
  return text.split(" ");
}

function toTargets(): readonly string[] {
  const targets = new Set(PATHS);
  for (const path of PATHS) {
    targets.add(path.toUpperCase());
    targets.add(`*${path.slice(1)}`);
    targets.add(`/${path.slice(1).replaceAll("/", "%2F")}`);
    for (const host of HOSTS) targets.add(host + path);
    for (const at of placesIn(path)) {
      for (const piece of PIECES) targets.add(path.slice(0, at) + piece + path.slice(at));
    }
  }
  return [...targets];
}

/** Beside the slashes, within the first segment and at the end. */
function placesIn(path: string): readonly number[] {
  const places = Array.from({ length: path.length + 1 }, (_, i) => i);
  return places.filter(
    (i) => path[i] === "/" || path[i - 1] === "/" || i === 3 || i === path.length,
  );
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 });
afterAll(() => agent.destroy());

/** The route that a target led to, and the rules that counted it; undefined if it led nowhere. */
function ask(url: string, path: string): Promise<{ route: string; rules: string } | undefined> {
  return new Promise((resolve) => {
    const sent = request(url, { path, agent }, (response) => {
      let route = "";
      response.setEncoding("utf8");
      response.on("data", (text) => {
        route += text;
      });
      response.on("end", () => {
        const rules = `${response.headers["ratelimit-policy"]}`;
        resolve(response.statusCode === 200 ? { route, rules } : undefined);
      });
    });
    // Some targets are refused by closing the connection.
    sent.on("error", () => resolve(undefined));
    sent.end();
  });
}

describe("a path that leads to a handler has been counted by the rule of its route", () => {
  const targets = toTargets();
  it.each(servers)("in %s", async (_name, start) => {
    const server = await start();
    const answers = await Promise.all(targets.map((target) => ask(server.url, target)));
    await server.close();
    const served = answers.filter((answer) => answer !== undefined);
    const escaped = targets.filter((_, i) => {
      const answer = answers[i];
      return answer !== undefined && !answer.rules.includes(`"r${answer.route}"`);
    });
    expect(escaped).toEqual([]);
    // This many of the spellings are routed by each of them that the list says something.
    expect(served.length).toBeGreaterThan(targets.length / 10);
  });
});
