// Real proxies in front of an application, with the configurations of examples/service: clients get through
// until they are limited, and are told so as any client of Sluice is.

import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type ProxyProcess, startHaproxy, startNginx } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openTestDoor, type TestDoor } from "../../test/decision-door.js";

let app: Server;
let seen: { url: string; body: string }[] = [];
let test: TestDoor;
let proxy: ProxyProcess | undefined;

beforeAll(async () => {
  app = createServer((request, response) => {
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
  test = await openTestDoor({
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
  return { fixedWindow: { limit, windowMs: 60_000 } };
}

function example(name: string): string {
  return readFileSync(new URL(`../../../../examples/service/${name}`, import.meta.url), "utf8");
}

/** An example with the ports of this run. */
function withPorts(text: string, ports: { port?: number; sluice: string }): string {
  const { port: appPort } = app.address() as AddressInfo;
  return text
    .replaceAll("127.0.0.1:8080", `127.0.0.1:${ports.port ?? 0}`)
    .replaceAll("127.0.0.1:8082", new URL(ports.sluice).host)
    .replaceAll("127.0.0.1:3000", `127.0.0.1:${appPort}`);
}

function nginx(change: (config: string) => string = (config) => config): Promise<ProxyProcess> {
  const text = change(example("nginx.conf"));
  return startNginx({ config: (port) => withPorts(text, { port, sluice: test.door.url }) });
}

function haproxy(change: (script: string) => string = (script) => script): Promise<ProxyProcess> {
  const sluice = test.door.url;
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

  it("leaves the application's own refusals alone", async () => {
    proxy = await start();
    const { status, headers } = await ask("/teapot");
    expect(status).toBe(403);
    expect(headers.get("content-type")).toBe("text/plain");
  });

  it("lets nobody in while Sluice is down", async () => {
    proxy = await start();
    await test.door.close();
    expect((await ask("/api/items")).status).toBeGreaterThanOrEqual(500);
    expect(seen).toEqual([]);
  });
});

describe("failing open", () => {
  it.each([
    ["nginx", () => nginx((config) => config.replace("#error_page 500", "error_page 500"))],
    ["HAProxy", () => haproxy((lua) => lua.replace("FAIL_OPEN = false", "FAIL_OPEN = true"))],
  ])("%s lets everybody in while Sluice is down, and only then", async (_, start) => {
    proxy = await start();
    for (let i = 0; i < 2; i++) await ask("/api/items");
    expect((await ask("/api/items")).status).toBe(429);
    await test.door.close();
    const open = await ask("/api/items", { method: "POST", body: "posted" });
    expect([open.status, await open.text()]).toEqual([200, "hello"]);
    expect(seen.at(-1)).toEqual({ url: "/api/items", body: "posted" });
    expect(seen).toHaveLength(3);
  });
});
