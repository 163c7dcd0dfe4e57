// Real proxies in front of an application, with the configurations of examples/service: clients get through
// until they are limited, and then get the same refusal as any client of Sluice.

import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { type ProxyProcess, rawExchange, startHaproxy, startNginx } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openTestListener, type TestListener } from "../../../test/decision-listener.js";

let app: Server;
let seen: { url: string; body: string }[] = [];
/** X-Forwarded-For as the application got it. */
let forwardedFor: unknown[] = [];
let test: TestListener;
let proxy: ProxyProcess | undefined;

beforeAll(async () => {
  // It takes what Node.js refuses by itself: otherwise no request that was let in wrongly would be seen.
  app = createServer({ insecureHTTPParser: true }, (request, response) => {
    forwardedFor.push(request.headersDistinct["x-forwarded-for"]);
    let body = "";
    request.setEncoding("utf8").on("data", (piece) => {
      body += piece;
    });
    request.on("end", () => {
      seen.push({ url: request.url ?? "", body });
      response.writeHead(request.url === "/teapot" ? 403 : 200, { "content-type": "text/plain" });
      response.end("hello");
    });
  });
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  app.closeAllConnections();
  app.close();
});

beforeEach(async () => {
  seen = [];
  forwardedFor = [];
  test = await openTestListener({
    config: { identity: { trustedProxies: ["loopback"], apiKey: { header: "x-api-key" } } },
    rules: [
      { id: "api", match: { path: "/api/*" }, key: "ip", limit: window(2) },
      { id: "keys", match: { path: "/keys" }, key: "apiKey", onMissing: "skip", limit: window(1) },
    ],
  });
});
afterEach(async () => {
  await proxy?.stop();
  await test.close();
});

function window(limit: number) {
  return { fixedWindow: { limit, windowMs: 60_000, align: "first" } };
}

function example(name: string): string {
  return readFileSync(new URL(`../../../../../examples/service/${name}`, import.meta.url), "utf8");
}

/** An example with the ports of this run. */
function withPorts(text: string, ports: { port?: number; sluice: string }): string {
  const { port: appPort } = app.address() as AddressInfo;
  return text
    .replaceAll("127.0.0.1:8080", `127.0.0.1:${ports.port ?? 0}`)
    .replaceAll("127.0.0.1:8082", new URL(ports.sluice).host)
    .replaceAll("127.0.0.1:3000", `127.0.0.1:${appPort}`);
}

function nginx(
  change: (config: string) => string = (config) => config,
  sluice = test.listener.url,
): Promise<ProxyProcess> {
  const text = change(example("nginx.conf"));
  return startNginx({ config: (port) => withPorts(text, { port, sluice }) });
}

function haproxy(
  change: (script: string) => string = (script) => script,
  sluice = test.listener.url,
): Promise<ProxyProcess> {
  return startHaproxy({
    config: (port) => withPorts(example("haproxy.cfg"), { port, sluice }),
    files: { "sluice.lua": withPorts(change(example("sluice.lua")), { sluice }) },
  });
}

function ask(path: string, init?: RequestInit): Promise<Response> {
  return fetch(`${proxy?.url}${path}`, init);
}

const proxies: [string, () => Promise<ProxyProcess>][] = [
  ["nginx", () => nginx()],
  ["HAProxy", () => haproxy()],
];

describe.each(proxies)("%s", (_, start) => {
  it("passes requests on until the limit, then answers 429 as Sluice does", async () => {
    proxy = await start();
    const first = await ask("/api/items?page=1", { method: "POST", body: "posted" });
    expect([first.status, await first.text()]).toEqual([200, "hello"]);
    expect(first.headers.get("ratelimit")).toBe('"api";r=1;t=60');
    expect(first.headers.get("ratelimit-policy")).toBe('"api";q=2;w=60');
    expect((await ask("/api/items")).status).toBe(200);
    const refused = await ask("/api/items");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("ratelimit")).toBe('"api";r=0;t=60');
    expect(refused.headers.get("ratelimit-policy")).toBe('"api";q=2;w=60');
    expect(refused.headers.get("retry-after")).toBe("60");
    expect(refused.headers.get("cache-control")).toBe("no-store");
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(await refused.json()).toMatchObject({ status: 429, code: "RATE_LIMIT_EXCEEDED" });
    expect(seen.map(({ url }) => url)).toEqual(["/api/items?page=1", "/api/items"]);
    expect(seen[0].body).toBe("posted");
  });

  it("lets a client change nothing by fields of its own", async () => {
    proxy = await start();
    const forged = (i: number) => ({
      "x-forwarded-for": `198.51.100.${i}`,
      "x-real-ip": `198.51.100.${i}`,
      "x-forwarded-uri": "/free",
      "x-original-uri": "/free",
      "x-forwarded-method": "OPTIONS",
      "x-original-method": "OPTIONS",
    });
    for (let i = 0; i < 2; i++) await ask("/api/items", { headers: forged(i) });
    expect((await ask("/api/items", { headers: forged(3) })).status).toBe(429);
  });

  it("lets rules count by what the client sends", async () => {
    proxy = await start();
    const by = (key: string) => ask("/keys", { headers: { "x-api-key": key } });
    expect((await by("one")).status).toBe(200);
    expect((await by("one")).status).toBe(429);
    expect((await by("two")).status).toBe(200);
  });

  it("gives the application the client's address, and never one that the client made up", async () => {
    proxy = await start();
    await ask("/free");
    await ask("/free", { headers: { "x-forwarded-for": "198.51.100.1, 198.51.100.2" } });
    const [host, twice] = ["Host: a\r\n", "X-Forwarded-For: 198.51.100.1\r\n".repeat(2)];
    expect(await sendRaw(`GET /free HTTP/1.1\r\n${host}${twice}`)).toBe(200);
    expect(forwardedFor).toEqual([["127.0.0.1"], ["127.0.0.1"], ["127.0.0.1"]]);
  });

  it("leaves the application's own refusals alone", async () => {
    proxy = await start();
    const { status, headers } = await ask("/teapot");
    expect(status).toBe(403);
    expect(headers.get("content-type")).toBe("text/plain");
  });

  it("lets no request in while Sluice is down", async () => {
    proxy = await start();
    await test.listener.close();
    expect((await ask("/api/items")).status).toBeGreaterThanOrEqual(500);
    expect(seen).toEqual([]);
  });
});

const openProxies: [string, (sluice?: string) => Promise<ProxyProcess>][] = [
  [
    "nginx",
    (sluice) => nginx((config) => config.replace("#error_page 502", "error_page 502"), sluice),
  ],
  [
    "HAProxy",
    (sluice) => haproxy((lua) => lua.replace("FAIL_OPEN = false", "FAIL_OPEN = true"), sluice),
  ],
];

describe.each(openProxies)("%s, failing open", (_, start) => {
  it("lets every request in while Sluice is down, and only then", async () => {
    proxy = await start();
    for (let i = 0; i < 2; i++) await ask("/api/items");
    expect((await ask("/api/items")).status).toBe(429);
    await test.listener.close();
    const open = await ask("/api/items", { method: "POST", body: "posted" });
    expect([open.status, await open.text()]).toEqual([200, "hello"]);
    expect(seen.at(-1)).toEqual({ url: "/api/items", body: "posted" });
    expect(seen).toHaveLength(3);
  });

  it("lets every request in while Sluice takes too long", async () => {
    const { url, close } = await startFake(() => {});
    proxy = await start(url);
    expect((await ask("/api/items")).status).toBe(200);
    close();
  });

  it.each([
    ["does not know the path", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"],
    ["can't read the question", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"],
    ["finds the question too long", "HTTP/1.1 431 Too Large\r\nContent-Length: 0\r\n\r\n"],
    ["fails", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"],
    ["answers nothing and hangs up", ""],
  ])("lets no request in if Sluice %s", async (__, answer) => {
    const { url, close } = await startFake((socket) => socket.end(answer));
    proxy = await start(url);
    expect((await ask("/api/items")).status).toBeGreaterThanOrEqual(400);
    expect(seen).toEqual([]);
    close();
  });

  it.each([
    ["a control character in a field", "X-A: a\x01b\r\n"],
    ["a name that some servers read as Content-Length", "Content_Length: 5\r\n"],
    ["a field without a colon", "X-A\r\n"],
    ["a blank before the colon", "X-A : b\r\n"],
    ["a byte that is no text", "X-A: \xff\x7f\r\n"],
    ["two different lengths", "Content-Length: 5\r\nContent-Length: 6\r\n"],
    ["two hosts", "Host: b\r\n"],
    ["two ways of saying the address", "X-Real-IP: a\r\nX-Forwarded-For: b\r\n"],
    ["more fields than Sluice reads", "a:1\r\n".repeat(1_500)],
    ["one long field", `X-A: ${"a".repeat(7_000)}\r\n`],
    ["as long a head as the proxy takes", `X-A: ${"a".repeat(7_000)}\r\n`.repeat(4)],
  ])("lets no exhausted client in by a request with %s", async (__, fields) => {
    proxy = await start();
    for (let i = 0; i < 2; i++) await ask("/api/items");
    for (const path of ["/api/items", `/api/${"i".repeat(7_000)}`]) {
      const status = await sendRaw(`GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}`);
      expect(status).toBeGreaterThanOrEqual(400);
    }
    expect(seen).toHaveLength(2);
  });
});

/** A server that answers in place of Sluice. */
async function startFake(
  answer: (socket: Socket) => void,
): Promise<{ url: string; close: () => void }> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).once("data", () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** Sends a head to the proxy as it is, and returns the status. */
async function sendRaw(head: string): Promise<number> {
  const text = await rawExchange(proxy?.url ?? "", `${head}Connection: close\r\n\r\n`);
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
}
