// WebSockets over real sockets: the gateway in front of an upstream that says what it saw.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { connectTo, type RawClient, rawExchange } from "sluice-test-servers";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  closedUrl,
  eventually,
  type FixtureOptions,
  onStop,
  startGateway,
  startServer,
  stopAll,
} from "../../test/proxy-fixture.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";

afterEach(stopAll);

/** What the upstream answers at some paths; at those that begin with `/cut` it closes then. */
const ODDITIES: Readonly<Record<string, string>> = {
  "/h2c": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nhello",
  "/bare": "HTTP/1.1 101 Switching Protocols\r\n\r\nhello",
  "/cut-chunk": "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n5\r\npart \r\n",
  "/cut-length": "HTTP/1.1 403 Forbidden\r\nContent-Length: 50\r\n\r\npart ",
};

/** An upstream, and what it saw. */
interface Seen {
  url: string;
  readonly upgrades: IncomingMessage[];
  readonly sockets: Duplex[];
  /** Answers the ordinary request to `/later`. */
  release: () => void;
}

/** Echoes what comes after the upgrade; `/no` is answered with 403 instead, `/silent` never. */
async function startUpstream(): Promise<Seen> {
  const seen: Seen = { url: "", upgrades: [], sockets: [], release: () => {} };
  const { url, server } = await startServer((request, response) => {
    void answerPlain(request, response, seen);
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    seen.upgrades.push(request);
    seen.sockets.push(socket);
    onStop(() => socket.destroy());
    socket.on("error", () => {});
    switchTo(request.url ?? "", socket, head);
  });
  seen.url = url;
  return seen;
}

async function answerPlain(request: IncomingMessage, response: ServerResponse, seen: Seen) {
  let body = "";
  for await (const piece of request) body += piece;
  const answer = () => response.end(`plain ${request.method} ${body}`);
  if (request.url === "/later") seen.release = answer;
  else answer();
}

function switchTo(path: string, socket: Duplex, head: Buffer): void {
  if (path === "/silent") return void socket.resume();
  const oddity = ODDITIES[path];
  if (path === "/no") {
    socket.end("HTTP/1.1 403 Forbidden\r\nRateLimit: theirs\r\nContent-Length: 2\r\n\r\nno");
  } else if (oddity !== undefined) {
    socket.resume().write(oddity);
    if (path.startsWith("/cut")) setTimeout(() => socket.destroy(), 20);
  } else {
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nhello ",
    );
    socket.write(head);
    if (path !== "/sink") socket.pipe(socket);
  }
}

const TEN = { fixedWindow: { limit: 10, windowMs: 3_600_000, align: "first" } };
const MANY = { fixedWindow: { limit: 10_000, windowMs: 3_600_000, align: "first" } };
const ONE_PLACE = { concurrency: { limit: 1, permitMs: 3_600_000 } };

async function start(
  limit: object = TEN,
  options: FixtureOptions = {},
  backends?: string | readonly string[],
) {
  const upstream = await startUpstream();
  const telemetry = silentTelemetry();
  const problems = vi.spyOn(telemetry, "problem");
  const errors = vi.spyOn(telemetry.log, "error");
  const routes = [{ path: "/*", host: "example.com", upstream: "app", preserveHost: true }];
  const { url, core } = await startGateway(backends ?? upstream.url, {
    rules: [{ id: "all", key: "global", limit }],
    core: { telemetry },
    config: { routes },
    ...options,
  });
  return { url, core, upstream, telemetry, problems, errors };
}

async function open(url: string): Promise<RawClient> {
  const client = await connectTo(url);
  onStop(() => client.end());
  return client;
}

const NOT_A_WEBSOCKET = "GET /plain HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n";

function ask(path: string, fields = "", behind = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: example.com\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n${fields}\r\n${behind}`;
}

describe("an upgrade to a WebSocket", () => {
  it("joins both ends, with what was sent right behind the heads", async () => {
    const { url, upstream } = await start();
    const client = (await open(url)).send(
      ask("//a/../b?c", "X-Forwarded-For: 192.0.2.1\r\n", "early "),
    );
    await client.until((text) => text.endsWith("hello early "));
    client.send("more");
    const text = await client.until((now) => now.endsWith("more"));
    expect(text).toMatch(/^HTTP\/1.1 101 Switching Protocols\r\n/);
    expect(text).toMatch(/\r\nConnection: Upgrade\r\n/);
    expect(text).toMatch(/\r\nUpgrade: websocket\r\n/);
    expect(text).toMatch(/\r\nRateLimit: "all";r=9/);
    expect(upstream.upgrades).toHaveLength(1);
    const [{ url: path, headers }] = upstream.upgrades;
    expect(path).toBe("/b?c");
    expect(headers).toMatchObject({
      connection: "Upgrade",
      upgrade: "websocket",
      host: "example.com",
      "sec-websocket-key": "k",
      "x-forwarded-for": "127.0.0.1",
    });
  });

  it("carries megabytes both ways, whole", async () => {
    const { url } = await start();
    const client = (await open(url)).send(ask("/a"));
    await client.until((text) => text.endsWith("hello "));
    const before = client.text.length;
    const piece = "0123456789abcdef".repeat(65_536);
    for (let i = 0; i < 8; i++) client.send(piece);
    await client.until((text) => text.length === before + 8 * piece.length);
    expect(client.text.slice(before)).toBe(piece.repeat(8));
  });

  it("is counted, and refused with 429 and a closed connection before anything is forwarded", async () => {
    const { url, upstream, telemetry } = await start({
      fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" },
    });
    await (await open(url)).send(ask("/a")).until((text) => text.includes("hello"));
    const text = await (await open(url)).send(ask("/a")).closed();
    expect(text).toMatch(/^HTTP\/1.1 429 Too Many Requests\r\n/);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
    expect(text).toMatch(/\r\nRetry-After: \d+\r\n/);
    expect(text).toContain("RATE_LIMIT_EXCEEDED");
    expect(upstream.upgrades).toHaveLength(1);
    expect(await telemetry.metrics()).toMatch(/http_429_total\{[^}]*listener="gateway"[^}]*\} 1\n/);
  });

  it("passes on what the upstream answers instead, with our fields about limits, and closes", async () => {
    const { url } = await start();
    const text = await (await open(url)).send(ask("/no")).closed();
    expect(text).toMatch(/^HTTP\/1.1 403 Forbidden\r\n/);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
    expect(text.match(/\r\nRateLimit:/g)).toHaveLength(1);
    expect(text).not.toContain("theirs");
    expect(text.endsWith("\r\n\r\nno")).toBe(true);
  });

  it("closes the upstream when the client resets, and the client when the upstream does", async () => {
    const { url, upstream } = await start();
    const first = (await open(url)).send(ask("/a"));
    await first.until((text) => text.includes("hello"));
    first.socket.resetAndDestroy();
    await eventually(() => upstream.sockets[0].destroyed);
    const second = (await open(url)).send(ask("/a"));
    await second.until((text) => text.includes("hello"));
    upstream.sockets[1].destroy();
    await second.closed();
  });

  it("counts towards connectionsMax of its upstream until it closes: beyond it 503, and other requests wait too", async () => {
    const { url, upstream } = await start(MANY, {
      upstream: { connectionsMax: 5, waitingMax: 10, connectTimeoutMs: 300 },
    });
    const clients = await Promise.all(Array.from({ length: 60 }, () => open(url)));
    for (const client of clients) client.send(ask("/a"));
    const answers = await Promise.all(
      clients.map((client) => client.until((text) => text.includes("\r\n\r\n"))),
    );
    const joined = answers.flatMap((text, i) => (text.includes(" 101 ") ? [clients[i]] : []));
    expect(joined).toHaveLength(5);
    expect(answers.filter((text) => text.startsWith("HTTP/1.1 503 "))).toHaveLength(55);
    expect(upstream.upgrades).toHaveLength(5);
    const statusOfNext = async () => {
      const text = await rawExchange(url, NOT_A_WEBSOCKET);
      return text.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
    };
    expect(await statusOfNext()).toBe("503");
    joined[0].end();
    await eventually(async () => (await statusOfNext()) === "200");
  });

  it("holds its permit until it closes", async () => {
    const { url } = await start(ONE_PLACE);
    const first = (await open(url)).send(ask("/a"));
    await first.until((text) => text.includes("hello"));
    expect(await (await open(url)).send(ask("/a")).closed()).toContain("429");
    first.end();
    await eventually(async () => {
      const next = (await open(url)).send(ask("/a"));
      return (await next.until((text) => text.includes("\r\n\r\n"))).includes(" 101 ");
    });
  });

  it.each([
    ["", "end"],
    ["early", "end"],
    ["early", "resetAndDestroy"],
  ] as const)(
    "whose client leaves while the upstream is silent refunds everything: %j, %s",
    async (early, leave) => {
      const { url, upstream, core } = await start(ONE_PLACE);
      const isFree = async () => {
        const { remaining } = await core.policy.peek({ method: "GET", path: "/" });
        return remaining === 1;
      };
      const client = (await open(url)).send(ask("/silent", "", early));
      await eventually(() => upstream.upgrades.length === 1);
      expect(await isFree()).toBe(false);
      client.socket[leave]();
      await eventually(isFree);
      await eventually(() => upstream.sockets[0].readableEnded);
    },
  );

  it("is closed when nothing moves for longer than the idle time", async () => {
    const { url, upstream } = await start(TEN, { upstream: { idleTimeoutMs: 50 } });
    const client = (await open(url)).send(ask("/a"));
    expect(await client.closed()).toContain("hello");
    await eventually(() => upstream.sockets[0].destroyed);
  });

  it("is answered with 504 if the upstream is silent, and with 502 if there is none", async () => {
    const silent = await start(TEN, { upstream: { responseTimeoutMs: 50 } });
    expect(await (await open(silent.url)).send(ask("/silent")).closed()).toMatch(/^HTTP\/1.1 504 /);
    expect(silent.problems.mock.calls).toEqual([
      [
        "upstream app failed: response-timeout",
        undefined,
        expect.objectContaining({ kind: "response-timeout" }),
      ],
    ]);
    const gone = await start(TEN, {}, await closedUrl());
    expect(await (await open(gone.url)).send(ask("/a")).closed()).toMatch(/^HTTP\/1.1 502 /);
    expect(gone.problems).toHaveBeenCalledTimes(1);
  });

  it("goes to a backend that is there", async () => {
    const { url: there } = await startUpstream();
    const { url } = await start(TEN, {}, [await closedUrl(), there]);
    await (await open(url)).send(ask("/a")).until((text) => text.endsWith("hello "));
  });

  it("delivers the last bytes of a client that closes right after them", async () => {
    const { url, upstream } = await start();
    const client = (await open(url)).send(ask("/sink"));
    await eventually(() => upstream.sockets.length === 1);
    const [sink] = upstream.sockets;
    let bytes = 0;
    const piece = "x".repeat(1_000_000);
    await client.until((text) => text.endsWith("hello "));
    for (let i = 0; i < 8; i++) client.send(piece);
    client.socket.end();
    sink.on("data", (more: Buffer) => {
      bytes += more.length;
    });
    await eventually(() => sink.readableEnded || sink.destroyed);
    expect(bytes).toBe(8 * piece.length);
  });

  it.each(["/h2c", "/bare"])(
    "is 502 if the upstream switches to another protocol, %s",
    async (path) => {
      const { url, upstream, problems } = await start();
      const text = await (await open(url)).send(ask(path)).closed();
      expect(text).toMatch(/^HTTP\/1.1 502 /);
      expect(text).not.toContain("hello");
      expect(problems).toHaveBeenCalledTimes(1);
      await eventually(() => upstream.sockets[0].readableEnded);
    },
  );

  it("never makes a response look whole that is not", async () => {
    const { url } = await start();
    const chunked = await (await open(url)).send(ask("/cut-chunk")).closed();
    expect(chunked).toMatch(/^HTTP\/1.1 403 [\s\S]*\r\n\r\n5\r\npart \r\n$/);
    const long = await (await open(url)).send(ask("/cut-length")).closed();
    expect(long).toMatch(/^HTTP\/1.1 403 [\s\S]*\r\n\r\npart $/);
    expect(long).toMatch(/\r\nContent-Length: 50\r\n/);
  });

  it("is refused with 400 if its target or host is bad, with 404 without a route, and nothing is forwarded", async () => {
    const { url, upstream, problems, errors } = await start();
    for (const text of [ask("/a%2fb"), ask("/a", "Host: b\r\n")]) {
      expect(await (await open(url)).send(text).closed()).toMatch(/^HTTP\/1.1 400 /);
    }
    const lost = ask("/a").replace("example.com", "other.example.com");
    expect(await (await open(url)).send(lost).closed()).toMatch(/^HTTP\/1.1 404 /);
    expect(upstream.upgrades).toHaveLength(0);
    // What clients do wrong is not for the log.
    expect(problems).not.toHaveBeenCalled();
    expect(errors).not.toHaveBeenCalled();
  });

  it("waits while an earlier response is still to come on its connection", async () => {
    const { url, upstream } = await start();
    const first = "GET /later HTTP/1.1\r\nHost: example.com\r\n\r\n";
    const client = (await open(url)).send(first + ask("/a", "", "early"));
    const idle = upstream.release;
    await eventually(() => upstream.release !== idle);
    expect(upstream.upgrades).toHaveLength(0);
    upstream.release();
    const text = await client.until((now) => now.endsWith("hello early"));
    expect([...text.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      "200",
      "101",
    ]);
  });
});

describe("an upgrade to anything else", () => {
  const h2c =
    "Host: example.com\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";

  it("is ignored: the request is served as an ordinary one, and so is the next", async () => {
    const { url, upstream } = await start();
    const client = (await open(url)).send(`GET /a HTTP/1.1\r\n${h2c}\r\n`);
    const text = await client.until((now) => now.includes("plain GET"));
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(text).not.toContain("h2c");
    client.send("GET /b HTTP/1.1\r\nHost: example.com\r\n\r\n");
    await client.until((now) => now.split("plain GET").length === 3);
    expect(upstream.upgrades).toHaveLength(0);
  });

  it("is one in HTTP/1.0, whatever it asks for", async () => {
    const { url, upstream } = await start();
    const client = (await open(url)).send(ask("/a").replace("HTTP/1.1", "HTTP/1.0"));
    await client.until((text) => text.includes("plain GET"));
    expect(upstream.upgrades).toHaveLength(0);
  });

  it("keeps its body, sent with the head or later", async () => {
    const { url } = await start();
    const client = (await open(url)).send(`POST /a HTTP/1.1\r\n${h2c}Content-Length: 6\r\n\r\nabc`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    client.send("def");
    await client.until((now) => now.includes("plain POST abcdef"));
    const put = `POST /a HTTP/1.1\r\n${h2c.replace("h2c", "websocket")}Content-Length: 2\r\n\r\nhi`;
    await (await open(url)).send(put).until((now) => now.includes("plain POST hi"));
  });
});
