import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { rateLimit as expressRateLimit } from "express-rate-limit";
import { type FastifyPluginCallback, fastify } from "fastify";
import { onStop, startNginx, stopAll } from "sluice-test-servers";
import { Agent, request } from "undici";
import { afterAll, describe, expect, it } from "vitest";
import { createFetch, createInterceptor } from "../../src/client/client.js";
import { rateLimit } from "../../src/http/adapters/express/express.js";
import { fixedWindow, tokenBucket } from "../../src/limits/limits.js";

afterAll(stopAll);

// By a name that is not constant: its types would change those of every Fastify application in the tests.
const fastifyRateLimit: string = "@fastify/rate-limit";

/** Requests that each server gets: three times what it admits in a second. */
const REQUESTS = 30;
const ADMITTED = 10;

/** Each server, which admits ten requests a second, and its address. */
const servers = {
  "Sluice, a token bucket": () =>
    serve(
      withLimit(rateLimit({ limit: tokenBucket({ capacity: ADMITTED, refillPerSecond: 10 }) })),
    ),
  "Sluice, a fixed window": () =>
    serve(withLimit(rateLimit({ limit: fixedWindow({ limit: ADMITTED, windowMs: 1_000 }) }))),
  "Sluice, X-RateLimit only": () =>
    serve(
      withLimit(
        rateLimit({
          limit: fixedWindow({ limit: ADMITTED, windowMs: 1_000 }),
          headers: "none",
          legacyHeaders: "epoch",
        }),
      ),
    ),
  ...Object.fromEntries(
    (["draft-6", "draft-7", "draft-8"] as const).map((standardHeaders) => [
      `express-rate-limit, ${standardHeaders}`,
      () =>
        serve(withLimit(expressRateLimit({ windowMs: 1_000, limit: ADMITTED, standardHeaders }))),
    ]),
  ),
  "express-rate-limit, X-RateLimit": () =>
    serve(withLimit(expressRateLimit({ windowMs: 1_000, limit: ADMITTED, legacyHeaders: true }))),
  "@fastify/rate-limit": serveFastify,
};

// Beside each other: they wait for the clocks of servers.
describe.concurrent("a client", () => {
  it.each(Object.entries(servers))(
    "of %s gets an answer to every request, with few refusals on the way",
    async (_name, start) => {
      const url = await start();
      const { statuses, refusals, fetch } = await askAll(url);
      expect(statuses).toEqual(Array(REQUESTS).fill(200));
      expect(refusals).toBeLessThanOrEqual(6);
      expect(fetch.stats).toMatchObject({ requests: REQUESTS, inFlight: 0, waiting: 0 });
      await expectToLimit(url);
    },
  );

  // It refuses with 503 and says nothing at all, so the client learns from refusals alone.
  it("of nginx with limit_req gets nearly every answer, and repeats no more than its retry budget allows", async () => {
    const url = await serveNginx();
    const { statuses, refusals, fetch } = await askAll(url);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(25);
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
    // Ten, and a tenth of the requests.
    expect(fetch.stats.retries).toBeLessThanOrEqual(13);
    expect(refusals).toBeLessThanOrEqual(13 + REQUESTS - 25);
    expect(fetch.stats).toMatchObject({ requests: REQUESTS, inFlight: 0, waiting: 0 });
    await expectToLimit(url);
  });

  it("by the interceptor of undici gets an answer to every request too", async () => {
    const url = await servers["Sluice, a token bucket"]();
    const interceptor = createInterceptor();
    const agent = new Agent();
    onStop(() => agent.close());
    const dispatcher = agent.compose(interceptor);
    const bodies = await Promise.all(
      Array.from({ length: REQUESTS }, async () => {
        const { body } = await request(url, { dispatcher });
        return body.text();
      }),
    );
    expect(bodies).toEqual(Array(REQUESTS).fill("hello"));
    expect(interceptor.stats).toMatchObject({ requests: REQUESTS, inFlight: 0, waiting: 0 });
  });
});

/** Makes all requests together, as one client. */
async function askAll(url: string) {
  let refusals = 0;
  const fetch = createFetch({
    onEvent: ({ type }) => {
      if (type === "refused") refusals++;
    },
  });
  const statuses = await Promise.all(Array.from({ length: REQUESTS }, () => statusOf(fetch(url))));
  return { statuses, refusals, fetch };
}

/** Without the client, not all of as many requests are answered. */
async function expectToLimit(url: string): Promise<void> {
  const statuses = await Promise.all(
    Array.from({ length: REQUESTS }, () => statusOf(globalThis.fetch(url))),
  );
  expect(statuses.some((status) => status !== 200)).toBe(true);
}

async function statusOf(asked: Promise<Response>): Promise<number> {
  const response = await asked;
  await response.text();
  return response.status;
}

function withLimit(limiter: express.RequestHandler): Server {
  const app = express();
  app.use(limiter);
  app.get("/", (_request, response) => {
    response.send("hello");
  });
  return createServer(app);
}

async function serve(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onStop(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function serveFastify(): Promise<string> {
  const app = fastify();
  const plugin = (await import(fastifyRateLimit)).default as FastifyPluginCallback<object>;
  const options: object = { max: ADMITTED, timeWindow: 1_000 };
  await app.register(plugin, options);
  app.get("/", (_request, reply) => reply.send("hello"));
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  onStop(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  return `${url}/`;
}

async function serveNginx(): Promise<string> {
  const nginx = await startNginx({
    config: (port) => `
events {}
http {
  limit_req_zone $binary_remote_addr zone=one:1m rate=10r/s;
  server {
    listen 127.0.0.1:${port};
    location / {
      limit_req zone=one burst=9 nodelay;
      # Not "return" here, which nginx answers before it looks at the limit.
      try_files /none @hello;
    }
    location @hello {
      return 200 "hello";
    }
  }
}
`,
  });
  onStop(() => nginx.stop());
  return `${nginx.url}/`;
}
