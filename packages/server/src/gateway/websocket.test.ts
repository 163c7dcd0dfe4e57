// WebSockets over real sockets: a server with upgrades in front of an upstream that says what it saw.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import { fixedWindow } from "sluice";
import { createDoor } from "sluice/http";
import { createPolicy, type Policy, parseRules } from "sluice/rules";
import { afterEach, describe, expect, it, vi } from "vitest";
import { connectTo, type RawClient } from "../../test/raw-client.js";
import { Routes } from "../config/routes.js";
import { ServerError } from "../errors.js";
import { quietTelemetry } from "../telemetry/quiet.js";
import { type UpgradeConnection, Upgrades } from "./websocket.js";

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What the upstream answers at some paths; at those that begin with `/cut` it closes then. */
const ODDITIES: Readonly<Record<string, string>> = {
  "/h2c": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nhello",
  "/bare": "HTTP/1.1 101 Switching Protocols\r\n\r\nhello",
  "/cut-chunk": "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n5\r\npart \r\n",
  "/cut-length": "HTTP/1.1 403 Forbidden\r\nContent-Length: 50\r\n\r\npart ",
};

/** Echoes what comes after the upgrade; `/no` is answered with 403 instead. */
async function startUpstream() {
  const seen: IncomingMessage[] = [];
  const sockets: Duplex[] = [];
  const server = createServer();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    seen.push(request);
    sockets.push(socket);
    closers.push(() => socket.destroy());
    socket.on("error", () => {});
    if (request.url === "/silent") return;
    if (request.url === "/no") {
      socket.end("HTTP/1.1 403 Forbidden\r\nRateLimit: theirs\r\nContent-Length: 2\r\n\r\nno");
      return;
    }
    const oddity = ODDITIES[request.url ?? ""];
    if (oddity !== undefined) {
      socket.resume().write(oddity);
      if (request.url?.startsWith("/cut")) setTimeout(() => socket.destroy(), 20);
      return;
    }
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nhello ",
    );
    socket.write(head);
    socket.pipe(socket);
  });
  return { url: await listen(server), seen, sockets };
}

async function start(
  limit = 10,
  times: Partial<UpgradeConnection["upstream"]> = {},
  rule: object = {},
) {
  const upstream = await startUpstream();
  const policy: Policy = createPolicy({
    rules: parseRules({
      version: 1,
      rules: [
        { id: "all", key: "ip", limit: fixedWindow({ limit, windowMs: 3_600_000 }), ...rule },
      ],
    }),
  });
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    const answer = `${JSON.stringify(request.headers)} plain ${request.method} ${body}`;
    if (request.url !== "/never") response.end(answer);
  });
  const telemetry = quietTelemetry();
  const troubles = vi.spyOn(telemetry, "trouble");
  const errors = vi.spyOn(telemetry.log, "error");
  const upgrades = new Upgrades({
    telemetry,
    door: createDoor(policy),
    routes: new Routes([{ path: "/*", host: "example.com", upstream: "a", preserveHost: true }]),
    protocol: "http",
    isPeerTrusted: () => false,
    connect: async () => {
      const { port, host } = new URL(upstream.url);
      if (times.responseTimeoutMs === -1)
        throw new ServerError("SLUICE_UPSTREAM_UNAVAILABLE", host);
      const socket = connect(Number(port), "127.0.0.1");
      return {
        socket,
        targetHost: host,
        upstream: { responseTimeoutMs: 10_000, idleTimeoutMs: 0, ...times },
      };
    },
  });
  upgrades.attach(server);
  closers.push(() => upgrades.close());
  return { url: await listen(server), upgrades, upstream, policy, telemetry, troubles, errors };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
}

async function open(url: string): Promise<RawClient> {
  const client = await connectTo(url);
  closers.push(() => client.end());
  return client;
}

function ask(path: string, fields = "", behind = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: example.com\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n${fields}\r\n${behind}`;
}

async function poll(isSo: () => boolean): Promise<void> {
  for (let i = 0; i < 1_000 && !isSo(); i++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  expect(isSo()).toBe(true);
}

describe("an upgrade to a WebSocket", () => {
  it("joins both ends, with what was sent right behind the heads", async () => {
    const { url, upstream, upgrades } = await start();
    const client = (await open(url)).send(
      ask("//a/../b?c", "X-Forwarded-For: 192.0.2.1\r\n", "early "),
    );
    await client.until((text) => text.endsWith("hello early "));
    client.send("more");
    const text = await client.until((now) => now.endsWith("more"));
    expect(text).toMatch(/^HTTP\/1.1 101 Switching Protocols\r\n/);
    expect(text).toMatch(/\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n/);
    expect(text).toMatch(/\r\nRateLimit: "all";r=9/);
    const [{ url: path, headers }] = upstream.seen;
    expect(path).toBe("/b?c");
    expect(headers).toMatchObject({
      connection: "Upgrade",
      upgrade: "websocket",
      host: "example.com",
      "sec-websocket-key": "k",
      "x-forwarded-for": "127.0.0.1",
    });
    expect(upgrades.size).toBe(1);
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
    const { url, upstream, telemetry } = await start(1);
    await (await open(url)).send(ask("/a")).until((text) => text.includes("hello"));
    const text = await (await open(url)).send(ask("/a")).closed();
    expect(text).toMatch(/^HTTP\/1.1 429 Too Many Requests\r\nConnection: close\r\n/);
    expect(text).toMatch(/\r\nRetry-After: \d+\r\n/);
    expect(text).toContain("RATE_LIMIT_EXCEEDED");
    expect(upstream.seen).toHaveLength(1);
    expect(await telemetry.metrics()).toMatch(/http_429_total\{[^}]*door="gateway"[^}]*\} 1\n/);
  });

  it("passes on what the upstream answers instead, with our fields about limits, and closes", async () => {
    const { url } = await start();
    const text = await (await open(url)).send(ask("/no")).closed();
    expect(text).toMatch(/^HTTP\/1.1 403 Forbidden\r\nConnection: close\r\n/);
    expect(text.match(/\r\nRateLimit:/g)).toHaveLength(1);
    expect(text).not.toContain("theirs");
    expect(text.endsWith("\r\n\r\nno")).toBe(true);
  });

  it("closes the upstream when the client resets, and the client when the upstream does", async () => {
    const { url, upstream, upgrades } = await start();
    const first = (await open(url)).send(ask("/a"));
    await first.until((text) => text.includes("hello"));
    first.socket.resetAndDestroy();
    await poll(() => upstream.sockets[0].destroyed && upgrades.size === 0);
    const second = (await open(url)).send(ask("/a"));
    await second.until((text) => text.includes("hello"));
    upstream.sockets[1].destroy();
    await second.closed();
    await poll(() => upgrades.size === 0);
  });

  it("holds its permit until it closes", async () => {
    const limit = { concurrency: { limit: 1, permitMs: 600_000 } };
    const { url, upgrades } = await start(1, {}, { limit });
    const first = (await open(url)).send(ask("/a"));
    await first.until((text) => text.includes("hello"));
    expect(await (await open(url)).send(ask("/a")).closed()).toContain("429");
    first.end();
    await poll(() => upgrades.size === 0);
    await (await open(url)).send(ask("/a")).until((text) => text.includes("101"));
  });

  it("is closed when nothing moves for longer than the idle time", async () => {
    const { url, upstream } = await start(10, { idleTimeoutMs: 50 });
    const client = (await open(url)).send(ask("/a"));
    expect(await client.closed()).toContain("hello");
    await poll(() => upstream.sockets[0].destroyed);
  });

  it("is answered with 504 if the upstream is silent, and with 502 if there is none", async () => {
    const silent = await start(10, { responseTimeoutMs: 50 });
    expect(await (await open(silent.url)).send(ask("/silent")).closed()).toMatch(/^HTTP\/1.1 504 /);
    expect(silent.troubles.mock.calls).toEqual([
      ["upstream failed an upgrade", expect.objectContaining({ status: 504 })],
    ]);
    const gone = await start(10, { responseTimeoutMs: -1 });
    expect(await (await open(gone.url)).send(ask("/a")).closed()).toMatch(/^HTTP\/1.1 502 /);
    expect(gone.troubles).toHaveBeenCalledTimes(1);
  });

  it.each(["/h2c", "/bare"])(
    "is 502 if the upstream switches to another protocol, %s",
    async (path) => {
      const { url, upstream, troubles } = await start();
      const text = await (await open(url)).send(ask(path)).closed();
      expect(text).toMatch(/^HTTP\/1.1 502 /);
      expect(text).not.toContain("hello");
      expect(troubles).toHaveBeenCalledTimes(1);
      await poll(() => upstream.sockets[0].readableEnded);
    },
  );

  it.each(["/cut-chunk", "/cut-length"])(
    "never makes a response look whole that is not, %s",
    async (path) => {
      const { url } = await start();
      const client = await open(url);
      const failed = once(client.socket, "error");
      client.send(ask(path));
      const [error] = await Promise.race([failed, client.closed().then(() => [{ code: "ended" }])]);
      expect(client.text).toMatch(/^HTTP\/1.1 403 /);
      expect(error).toMatchObject({ code: "ECONNRESET" });
    },
  );

  it("is refused with 400 if its target or framing is bad, with 404 without a route, and nothing is forwarded", async () => {
    const { url, upstream, troubles, errors } = await start();
    for (const text of [
      ask("/a%2fb"),
      ask("/a", "Content-Length: 5\r\n", "12345"),
      ask("/a", "Host: b\r\n"),
    ]) {
      expect(await (await open(url)).send(text).closed()).toMatch(/^HTTP\/1.1 400 /);
    }
    const lost = ask("/a").replace("example.com", "other.example.com");
    expect(await (await open(url)).send(lost).closed()).toMatch(/^HTTP\/1.1 404 /);
    expect(upstream.seen).toHaveLength(0);
    // What clients do wrong is not for the log.
    expect(troubles).not.toHaveBeenCalled();
    expect(errors).not.toHaveBeenCalled();
  });

  it("closes the connection if an earlier response is still to come on it", async () => {
    const { url } = await start();
    const client = (await open(url)).send(`GET /never HTTP/1.1\r\nHost: a\r\n\r\n${ask("/a")}`);
    expect(await client.closed()).not.toContain("101");
  });
});

describe("an upgrade to anything else", () => {
  const h2c =
    "Host: example.com\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";

  it("is ignored: the request is served as an ordinary one, and so is the next", async () => {
    const { url, upgrades } = await start();
    const client = (await open(url)).send(`GET /a HTTP/1.1\r\n${h2c}\r\n`);
    const text = await client.until((now) => now.includes("plain GET"));
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(text).not.toContain("h2c");
    client.send("GET /b HTTP/1.1\r\nHost: example.com\r\n\r\n");
    await client.until((now) => now.split("plain GET").length === 3);
    expect(upgrades.size).toBe(0);
  });

  it("is one in HTTP/1.0, whatever it asks for", async () => {
    const { url, upgrades } = await start();
    const client = (await open(url)).send(ask("/a").replace("HTTP/1.1", "HTTP/1.0"));
    await client.until((text) => text.includes("plain GET"));
    expect(upgrades.size).toBe(0);
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
