// WebSockets through the whole gateway: counted as any request, and never a way around the limits.

import type { Duplex } from "node:stream";
import { connectTo, type RawClient, rawExchange } from "sluice-test-servers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type GatewayFixture, startFixture } from "../gateway-fixture.js";

const UPGRADE =
  "Host: example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n";
const ASK = `GET /chat HTTP/1.1\r\n${UPGRADE}`;

let fixture: GatewayFixture;
let upgraded: Duplex[];
const clients: RawClient[] = [];

async function start(limit: object): Promise<void> {
  fixture = await startFixture({ rules: [{ id: "all", key: "ip", limit }] });
  fixture.upstream.server.on("upgrade", (_, socket: Duplex) => {
    upgraded.push(socket);
    socket.on("error", () => {});
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello",
    );
    socket.pipe(socket);
  });
}

beforeEach(() => {
  upgraded = [];
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.end();
  await fixture.close();
  for (const socket of upgraded) socket.destroy();
});

async function open(): Promise<RawClient> {
  const client = (await connectTo(fixture.url)).send(ASK);
  clients.push(client);
  return client;
}

describe("upgrades", () => {
  it("are counted together with other requests, and refused before anything is forwarded", async () => {
    await start({ fixedWindow: { limit: 2, windowMs: 3_600_000, align: "first" } });
    await (await open()).until((text) => text.endsWith("hello"));
    expect((await fetch(`${fixture.url}/a`)).status).toBe(200);
    expect(await (await open()).closed()).toMatch(/^HTTP\/1.1 429 Too Many Requests\r\n/);
    expect((await fetch(`${fixture.url}/a`)).status).toBe(429);
    expect(upgraded).toHaveLength(1);
  });

  it("hold their places while they are open", async () => {
    await start({ concurrency: { limit: 1, permitMs: 3_600_000 } });
    const first = await open();
    await first.until((text) => text.endsWith("hello"));
    expect((await fetch(`${fixture.url}/a`)).status).toBe(429);
    first.socket.resetAndDestroy();
    let status = 429;
    for (let i = 0; i < 500 && status === 429; i++)
      status = (await fetch(`${fixture.url}/a`)).status;
    expect(status).toBe(200);
  });

  it("that are no WebSockets are ordinary requests", async () => {
    await start({ fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } });
    const other = `GET /a HTTP/1.1\r\n${UPGRADE.replace("websocket", "h2c").replace("Upgrade\r\n", "Upgrade, close\r\n")}`;
    expect(await rawExchange(fixture.url, other)).toMatch(
      /^HTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\n\/a$/,
    );
    expect(await rawExchange(fixture.url, other)).toMatch(/^HTTP\/1.1 429 /);
    expect(fixture.upstream.seen[0].headers).not.toHaveProperty("upgrade");
  });

  it("end with the gateway", async () => {
    await start({ fixedWindow: { limit: 10, windowMs: 3_600_000, align: "first" } });
    const client = await open();
    await client.until((text) => text.endsWith("hello"));
    await fixture.listener.close();
    await client.closed();
  });
});
