import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { START_MS } from "../../../../test/handler-stand.js";
import { concurrency, fixedWindow, tokenBucket } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type LimitedRequest, type RateLimitOptions, rateLimit } from "./node.js";

const ASK =
  "GET /chat HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const SWITCHED =
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

const running: Server[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of running.splice(0)) server.close();
});

/** A server that upgrades allowed clients, and reports what it saw. */
async function serve(options: RateLimitOptions<IncomingMessage>) {
  const clock = new ManualClock(START_MS);
  const limit = rateLimit({ ...options, clock });
  const asked: Duplex[] = [];
  const upgraded: { request: LimitedRequest; socket: Duplex }[] = [];
  const server = createServer(limit.wrap((_request, response) => response.end("plain")));
  const upgrade = limit.wrapUpgrade((request, socket, head) => {
    upgraded.push({ request, socket });
    socket.on("error", () => {});
    socket.write(SWITCHED);
    socket.unshift(head);
    socket.on("data", (chunk) => socket.write(chunk));
    socket.on("end", () => socket.end());
  });
  server.on("upgrade", (request, socket, head) => {
    upgrade(request, socket, head);
    asked.push(socket);
  });
  running.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const dial = () => {
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => {});
    socket.write(ASK);
    return socket;
  };
  /** Dials, and resolves with both ends once the server has got the request: clients come in a known order. */
  const arrive = async (more = "") => {
    const [socket, count] = [dial(), asked.length + 1];
    socket.write(more);
    await soon(() => expect(asked).toHaveLength(count));
    return { socket, serverSide: asked[count - 1] as Duplex };
  };
  return { clock, dial, arrive, upgraded, port };
}

/** Waits for what needs no time but that of a busy machine. */
function soon<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, 20_000);
}

/** What has been decided continues meanwhile. */
function turn(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

/** One a second, and one that waits. */
const SLOW = {
  limit: tokenBucket({ capacity: 1, refillPerSecond: 1 }),
  onExceed: "delay",
  delayMsMax: 5_000,
  delayedMax: 1,
} as const;

/** The first line that the server sends. */
function statusOf(socket: Socket): Promise<string> {
  return new Promise((done) =>
    socket.once("data", (chunk) => done(chunk.toString().split("\r\n")[0])),
  );
}

describe("an upgrade", () => {
  it("is counted like any request, together with them", async () => {
    const { dial, port, upgraded } = await serve({
      limit: fixedWindow({ limit: 2, windowMs: 60_000 }),
    });
    expect(await statusOf(dial())).toBe("HTTP/1.1 101 Switching Protocols");
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
    expect(await statusOf(dial())).toBe("HTTP/1.1 429 Too Many Requests");
    expect(upgraded).toHaveLength(1);
    expect(upgraded[0].request.rateLimit).toMatchObject({ limit: 2, used: 1, remaining: 1 });
  });

  it("that is refused gets a whole response with the same headers, and its socket ends", async () => {
    const { dial } = await serve({ limit: fixedWindow({ limit: 1, windowMs: 60_000 }) });
    await statusOf(dial());
    const [head, body] = (await text(dial())).split("\r\n\r\n");
    expect(head.split("\r\n")).toEqual([
      "HTTP/1.1 429 Too Many Requests",
      "Connection: close",
      'RateLimit-Policy: "default";q=1;w=60',
      'RateLimit: "default";r=0;t=60',
      "X-RateLimit-Limit: 1",
      "X-RateLimit-Remaining: 0",
      `X-RateLimit-Reset: ${START_MS / 1000 + 60}`,
      "Cache-Control: no-store",
      "Content-Type: application/problem+json",
      `Content-Length: ${body.length}`,
      "Retry-After: 60",
    ]);
    expect(JSON.parse(body)).toMatchObject({ code: "RATE_LIMIT_EXCEEDED" });
  });

  it("holds its place until its socket closes, whichever side closes it", async () => {
    const { dial, upgraded } = await serve({ limit: concurrency({ limit: 1, permitMs: 60_000 }) });
    const first = dial();
    expect(await statusOf(first)).toContain("101");
    expect(await statusOf(dial())).toContain("429");
    first.destroy();
    await soon(async () => expect(await statusOf(dial())).toContain("101"));
    upgraded[1].socket.destroy();
    await soon(async () => expect(await statusOf(dial())).toContain("101"));
  });

  it("waits for its turn, and nothing that its client sends meanwhile is lost", async () => {
    const { dial, arrive, clock, upgraded } = await serve(SLOW);
    await statusOf(dial());
    const { socket: waiting } = await arrive("with it,");
    expect(await statusOf(dial())).toContain("429");
    waiting.write("later,");
    expect(upgraded).toHaveLength(1);
    const heard = new Promise<string>((done) => {
      let all = "";
      waiting.on("data", (chunk) => {
        all += chunk;
        if (all.endsWith("after")) done(all);
      });
    });
    clock.advance(1_000);
    await soon(() => expect(upgraded).toHaveLength(2));
    waiting.write("after");
    expect(await heard).toBe(`${SWITCHED}with it,later,after`);
  });

  it.each<[string, (socket: Socket) => unknown]>([
    ["closes", (socket) => socket.end()],
    ["breaks off", (socket) => socket.resetAndDestroy()],
  ])("gives its turn up when its client %s while it waits", async (_how, leave) => {
    const { dial, arrive, clock, upgraded } = await serve(SLOW);
    await statusOf(dial());
    const leaving = await arrive();
    expect(await statusOf(dial())).toContain("429");
    leave(leaving.socket);
    // As soon as it is gone there is room for another to wait, behind its place in the queue.
    await soon(() => expect(leaving.serverSide.destroyed).toBe(true));
    const next = await arrive();
    const answered = statusOf(next.socket);
    await turn();
    expect(next.serverSide.writableEnded).toBe(false);
    clock.advance(1_000);
    await turn();
    expect(upgraded).toHaveLength(1);
    clock.advance(1_000);
    expect(await answered).toContain("101");
    expect(upgraded).toHaveLength(2);
  });

  it.each([
    [
      "synchronously",
      () => {
        throw new Error("broken");
      },
    ],
    ["later", () => Promise.reject(new Error("broken"))],
  ])(
    "ends in a 500 where a function of the user fails %s, and onError hears of it",
    async (_when, key) => {
      const errors: unknown[] = [];
      const { dial, upgraded } = await serve({
        limit: fixedWindow({ limit: 1, windowMs: 60_000 }),
        key,
        onError: (error) => errors.push(error),
      });
      const answer = await text(dial());
      expect(answer).toMatch(/^HTTP\/1\.1 500 Internal Server Error\r\n/);
      expect(answer).not.toContain("broken");
      expect(errors).toMatchObject([{ message: "broken" }]);
      expect(upgraded).toEqual([]);
    },
  );
});
