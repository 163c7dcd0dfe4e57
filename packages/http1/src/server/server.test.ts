// The server over real sockets: listening, draining and closing, half-closed connections, and TLS.

import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import {
  connectTo,
  eventually,
  makeCertificate,
  makeFolder,
  onStop,
  RawClient,
  rawExchange,
  stopAll,
} from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { listen } from "../../test/listen.js";
import type { Exchange } from "./exchange.js";
import { type Http1Bounds, Http1Server } from "./server.js";

afterEach(stopAll);

const BOUNDS: Http1Bounds = {
  headBytesMax: 16_384,
  fieldsMax: 100,
  headMsMax: 10_000,
  requestMsMax: 60_000,
  keepAliveMs: 65_000,
  connectionsMax: 100,
};

/** `/late` is answered when the test says so, all else with its target. */
async function start(isTls = false, bounds: Partial<Http1Bounds> = {}) {
  const late: Exchange[] = [];
  const onExchange = (exchange: Exchange) => {
    if (exchange.target === "/late") late.push(exchange);
    else exchange.reply(200, "", exchange.target);
  };
  const toRefusal = (status: number) => `HTTP/1.1 ${status} Problem\r\nConnection: close\r\n\r\n`;
  const tls = isTls ? createTlsServer(toCertificate()) : undefined;
  const server = new Http1Server({ ...BOUNDS, ...bounds }, { onExchange, toRefusal }, tls);
  onStop(() => server.close());
  return { url: await listen(server), server, late };
}

function toCertificate() {
  const { certFile, keyFile } = makeCertificate(makeFolder("http1"), "http1");
  return { cert: readFileSync(certFile), key: readFileSync(keyFile), noDelay: true };
}

async function open(url: string): Promise<RawClient> {
  const client = await connectTo(url);
  onStop(() => client.end());
  return client;
}

async function openTls(url: string): Promise<RawClient> {
  const { port, hostname: host } = new URL(url);
  const socket = connectTls({ port: Number(port), host, rejectUnauthorized: false });
  const client = new RawClient(socket);
  onStop(() => client.end());
  await new Promise<void>((resolve, reject) =>
    socket.once("secureConnect", resolve).once("error", reject),
  );
  return client;
}

function get(target: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`;
}

describe("a server", () => {
  it("says when it was, and how long it keeps a connection", async () => {
    const { url } = await start();
    const before = Date.now() - 1_000;
    const text = await (await open(url)).send(get("/a")).until((now) => now.endsWith("/a"));
    const [, date = ""] = /\r\nDate: ([^\r]+)\r\n/.exec(text) ?? [];
    expect(Date.parse(date)).toBeGreaterThan(before);
    expect(Date.parse(date)).toBeLessThanOrEqual(Date.now());
    expect(date).toBe(new Date(date).toUTCString());
    expect(text).toMatch(/\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65\r\n/);
  });

  it("states no timeout for a connection that it keeps without one", async () => {
    const { url } = await start(false, { keepAliveMs: 0 });
    const text = await (await open(url)).send(get("/a")).until((now) => now.endsWith("/a"));
    expect(text).toMatch(/\r\nConnection: keep-alive\r\n/);
    expect(text).not.toMatch(/timeout/);
  });

  it("drains: what is under way is answered, and idle connections are closed", async () => {
    const { url, server, late } = await start();
    const [busy, idle] = [await open(url), await open(url)];
    busy.send(get("/late"));
    await idle.send(get("/a")).until((text) => text.endsWith("/a"));
    await eventually(() => late.length === 1);
    const drained = server.drain();
    await idle.closed();
    late[0]?.reply(200, "", "last");
    expect(await busy.closed()).toMatch(/\r\nConnection: close\r\n[\s\S]*last$/);
    await drained;
  });

  it("closes: nothing stays open", async () => {
    const { url, server, late } = await start();
    const [busy, unused] = [await open(url), await open(url)];
    busy.send(get("/late"));
    await eventually(() => late.length === 1);
    await server.close();
    expect(await busy.closed()).toBe("");
    await unused.closed();
    expect(late[0]?.isGone).toBe(true);
  });

  it("accepts as many connections as it may, and no more", async () => {
    const { url } = await start(false, { connectionsMax: 1 });
    const first = await open(url);
    await first.send(get("/a")).until((text) => text.endsWith("/a"));
    const second = await open(url);
    expect(await second.closed()).toBe("");
    await first.send(get("/b")).until((text) => text.endsWith("/b"));
  });

  it("drops requests of a client that reset its connection before its address was known", async () => {
    const { url, late } = await start();
    const { port, hostname: host } = new URL(url);
    for (let i = 0; i < 10; i++) {
      const socket = connect({ port: Number(port), host });
      // The kernel still delivers what came before the reset, but no longer knows the address.
      socket.on("connect", () => socket.write(get("/late"), () => socket.resetAndDestroy()));
      await new Promise((resolve) => socket.once("close", resolve));
    }
    await (await open(url)).send(get("/a")).until((text) => text.endsWith("/a"));
    expect(late.filter(({ peer }) => peer === undefined)).toEqual([]);
  });

  it("answers within its ticks what came too slowly, and closes what is idle", async () => {
    const bounds = { headMsMax: 150, requestMsMax: 150, keepAliveMs: 150 };
    const { url } = await start(false, bounds);
    expect(await rawExchange(url, "GET / HT")).toMatch(/^HTTP\/1.1 408 /);
    expect(await rawExchange(url, "")).toBe("");
    expect(await rawExchange(url, get("/a"))).toMatch(/\/a$/);
    const body = "POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab";
    expect(await rawExchange(url, body)).toMatch(/^HTTP\/1.1 408 /);
  });
});

describe.each([
  ["TCP", false],
  ["TLS", true],
])("over %s", (_, isTls) => {
  const connect = (url: string) => (isTls ? openTls(url) : open(url));

  it("requests are answered in order, and a malformed one ends the connection", async () => {
    const { url } = await start(isTls);
    const client = (await connect(url)).send(`${get("/a")}${get("/b")}HELLO\r\n\r\n${get("/c")}`);
    const text = await client.closed();
    const answered = [...text.matchAll(/HTTP\/1.1 (\d+)|\r\n\r\n(\/\w)/g)].map((found) => found[0]);
    expect(answered).toEqual([
      ...["HTTP/1.1 200", "\r\n\r\n/a", "HTTP/1.1 200", "\r\n\r\n/b", "HTTP/1.1 400"],
    ]);
  });

  it("a client that closes its half has its answer if that is there, and else has left", async () => {
    const { url, late } = await start(isTls);
    const quick = await connect(url);
    quick.socket.end(get("/a"));
    expect(await quick.closed()).toMatch(/\/a$/);
    const gone = await connect(url);
    gone.socket.end(get("/late"));
    expect(await gone.closed()).toBe("");
    await eventually(() => late[0]?.isGone);
  });

  it("a large answer to a slow client is whole, though its connection is closed behind it", async () => {
    const { url, late } = await start(isTls);
    const client = await connect(url);
    client.socket.pause();
    client.send(get("/late").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    await eventually(() => late.length === 1);
    const body = "0123456789abcdef".repeat(1_000_000);
    late[0]?.reply(200, "", body);
    // Longer than a connection is read from once its answer is out.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    client.socket.resume();
    const text = await client.closed();
    expect(text.length - text.indexOf("\r\n\r\n") - 4).toBe(body.length);
  });
});
