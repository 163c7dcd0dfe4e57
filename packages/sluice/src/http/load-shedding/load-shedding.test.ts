import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import express from "express";
import { afterEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.js";
import { type ShedLoad, shedLoad, toShedResponse } from "./load-shedding.js";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function listen(handler: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server behind load shedding whose responses wait until they are let go. */
async function setup(shed: ShedLoad) {
  const waiting: (() => void)[] = [];
  const url = await listen(
    shed.wrap((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://localhost");
      if (pathname === "/slow") waiting.push(() => response.end("late"));
      else response.end("ok");
    }),
  );
  const letGo = () => {
    for (const end of waiting.splice(0)) end();
  };
  return { url, letGo };
}

describe("shedLoad", () => {
  it("answers 503 with Retry-After and a problem body when there is no room, and 200 again when there is", async () => {
    const shed = shedLoad({ min: 1, max: 1, retryAfterJitterMs: 0 });
    const server = await setup(shed);
    const first = fetch(`${server.url}/slow`);
    while (shed.limit.inFlight < 1) await turn();
    const refused = await fetch(`${server.url}/`);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(refused.headers.get("cache-control")).toBe("no-store");
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(await refused.json()).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      status: 503,
      code: "OVERLOADED",
    });
    server.letGo();
    expect((await first).status).toBe(200);
    while (shed.limit.inFlight > 0) await turn();
    expect((await fetch(`${server.url}/`)).status).toBe(200);
  });

  describe("before an application that reads bodies", () => {
    const BODY = "x".repeat(100);

    /** Has answered requests that take 10 ms. `post` sends the start of a request with a body. */
    async function readBodies() {
      const clock = new ManualClock(1_700_000_000_000);
      const shed = shedLoad({ clock, initial: 50 });
      const url = await listen(
        shed.wrap((request, response) => {
          request.resume().on("end", () => {
            clock.advance(10);
            response.end("ok");
          });
        }),
      );
      for (let i = 0; i < 30; i++) await (await fetch(url)).text();
      const post = async (sent: string) => {
        const { inFlight } = shed.limit;
        const client = connect(Number(new URL(url).port), "127.0.0.1");
        client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY.length}\r\n\r\n${sent}`);
        while (shed.limit.inFlight === inFlight) await turn();
        return client;
      };
      return { clock, limit: shed.limit, post };
    }

    it("is not tightened by clients that send half a body and leave", async () => {
      const { clock, limit, post } = await readBodies();
      const before = limit.limit;
      for (let i = 0; i < 30; i++) {
        const client = await post("half");
        clock.advance(5_000);
        client.destroy();
        while (limit.inFlight > 0) await turn();
      }
      expect(limit.limit).toBe(before);
    });

    it("does not count the time for which clients send", async () => {
      const { clock, limit, post } = await readBodies();
      for (let i = 0; i < 5; i++) {
        const client = await post("half");
        clock.advance(5_000);
        client.write(BODY.slice("half".length));
        while (limit.inFlight > 0) await turn();
        client.destroy();
      }
      expect(limit.stats().latencyMs).toBe(10);
    });
  });

  it("holds no place for a client that does not read its response", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const shed = shedLoad({ clock, min: 1, max: 1, initial: 1 });
    const answered: ServerResponse[] = [];
    const url = await listen(
      shed.wrap((_request, response) => {
        answered.push(response);
        clock.advance(10);
        response.end(Buffer.alloc(50_000_000));
      }),
    );
    const clients = Array.from({ length: 3 }, () => {
      const client = connect(Number(new URL(url).port), "127.0.0.1").pause();
      client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      return client;
    });
    await expect.poll(() => answered.length).toBe(3);
    clock.advance(60_000);
    expect(answered.map(({ writableFinished }) => writableFinished)).toEqual([false, false, false]);
    expect(shed.limit.inFlight).toBe(0);
    for (const client of clients) client.destroy();
    await expect.poll(() => answered.every(({ closed }) => closed)).toBe(true);
    expect(shed.limit.stats()).toMatchObject({ limit: 1, admitted: 3, shed: { critical: 0 } });
  });

  it("never sheds health checks, with or without a query, and counts none of them", async () => {
    const shed = shedLoad({ min: 1, max: 1 });
    const server = await setup(shed);
    const first = fetch(`${server.url}/slow`);
    while (shed.limit.inFlight < 1) await turn();
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${server.url}/readyz?verbose`)).status).toBe(200);
    expect((await fetch(`${server.url}/healthz`, { method: "POST" })).status).toBe(503);
    expect((await fetch(`${server.url}/healthz/other`)).status).toBe(503);
    expect(shed.limit.stats().admitted).toBe(1);
    server.letGo();
    await first;
  });

  it("sheds the least important first", async () => {
    const shed = shedLoad({
      min: 4,
      max: 4,
      priority: ({ headers }: IncomingMessage) => headers["x-priority"] as "low" | undefined,
    });
    const server = await setup(shed);
    const held = ["low", "low"].map((priority) =>
      fetch(`${server.url}/slow`, { headers: { "x-priority": priority } }),
    );
    while (shed.limit.inFlight < 2) await turn();
    const ask = async (priority: string) =>
      (await fetch(server.url, { headers: { "x-priority": priority } })).status;
    expect(await ask("low")).toBe(503);
    expect(await ask("critical")).toBe(200);
    // What is not a priority is normal.
    expect(await ask("urgent")).toBe(200);
    server.letGo();
    await Promise.all(held);
    expect(shed.limit.stats().shed).toEqual({ critical: 0, high: 0, normal: 0, low: 1 });
  });

  it("gives the place back when the client disconnects", async () => {
    const shed = shedLoad({ min: 1, max: 1 });
    const server = await setup(shed);
    const abort = new AbortController();
    const first = fetch(`${server.url}/slow`, { signal: abort.signal });
    while (shed.limit.inFlight < 1) await turn();
    abort.abort();
    await expect(first).rejects.toThrow();
    while (shed.limit.inFlight > 0) await turn();
    expect((await fetch(server.url)).status).toBe(200);
  });

  it("is a middleware of Express", async () => {
    const shed = shedLoad({ min: 1, max: 1 });
    const app = express();
    app.use(shed);
    app.get("/", (_, response) => {
      response.send("hello");
    });
    const url = await listen(app);
    expect((await fetch(url)).status).toBe(200);
    const held = shed.limit.acquire();
    expect((await fetch(url)).status).toBe(503);
    held.release("ignored");
    expect((await fetch(url)).status).toBe(200);
  });

  it("wraps a handler of fetch, and counts what it throws as an error", async () => {
    const shed = shedLoad({ min: 1, max: 1 });
    const handler = shed.wrapFetch(async (request) => {
      if (request.url.endsWith("/broken")) throw new Error("broken");
      return new Response("hello");
    });
    const ask = (path: string) => handler(new Request(`http://localhost${path}`));
    expect((await ask("/")).status).toBe(200);
    await expect(ask("/broken")).rejects.toThrow("broken");
    const held = shed.limit.acquire();
    const refused = await ask("/");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(refused.status).toBe(503);
    expect((await ask("/healthz")).status).toBe(200);
    held.release("ignored");
    expect((await ask("/")).status).toBe(200);
  });

  it("names what is wrong with its options", () => {
    expect(() => shedLoad({ min: 5, max: 2 })).toThrow("min must be at most max, got 5 and 2");
    expect(() => shedLoad({ healthPaths: "/health" as never })).toThrow("shedLoad: healthPaths");
    expect(() => shedLoad({ healthpaths: [] } as never)).toThrow("did you mean");
  });
});

describe("toShedResponse", () => {
  it("adds jitter to Retry-After and rounds it up", () => {
    const retry = { retryAfterMs: 1_500, jitterMsMax: 2_000, random: () => 1_000 };
    const { status, fields, body } = toShedResponse("circuit-open", retry);
    expect(status).toBe(503);
    expect(fields.slice(-2)).toEqual(["Retry-After", "3"]);
    expect(JSON.parse(body)).toMatchObject({ code: "CIRCUIT_OPEN", retryAfterMs: 2_500 });
  });
});
