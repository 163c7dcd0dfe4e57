// The whole gateway over TLS: requests, WebSockets and ignored upgrades pass as they do without it.

import type { Duplex } from "node:stream";
import { connect, type TLSSocket } from "node:tls";
import { connectTo, makeCertificate, makeFolder, RawClient } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type GatewayFixture, startFixture } from "../gateway-fixture.js";

let folder: string;
let fixture: GatewayFixture;
const clients: RawClient[] = [];

beforeAll(async () => {
  folder = makeFolder("gateway-tls");
  fixture = await startFixture({
    gateway: { tls: makeCertificate(folder, "gateway"), headersTimeoutMs: 1_000 },
    rules: [
      {
        id: "all",
        key: "ip",
        limit: { fixedWindow: { limit: 1_000, windowMs: 3_600_000, align: "first" } },
      },
    ],
  });
  fixture.upstream.server.on("upgrade", (request, socket: Duplex) => {
    socket.on("error", () => {});
    const proto = request.headers["x-forwarded-proto"];
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${proto} `,
    );
    socket.pipe(socket);
  });
});
afterEach(() => {
  for (const client of clients.splice(0)) client.end();
});
afterAll(() => fixture.close());

async function open(): Promise<RawClient> {
  const socket = connect({
    port: Number(new URL(fixture.url).port),
    host: "127.0.0.1",
    rejectUnauthorized: false,
  });
  const client = new RawClient(socket);
  clients.push(client);
  await new Promise<void>((resolve, reject) =>
    socket.once("secureConnect", resolve).once("error", reject),
  );
  return client;
}

/** Of the certificate that new connections get. */
async function fingerprint(): Promise<string> {
  const { socket } = await open();
  return (socket as TLSSocket).getPeerCertificate().fingerprint256;
}

describe("over TLS", () => {
  it("a reload takes the certificate that is there then", async () => {
    const before = await fingerprint();
    makeCertificate(folder, "gateway");
    await fixture.listener.reload?.();
    expect(await fingerprint()).not.toBe(before);
  });

  it("requests are served, and the upstream learns that they were safe", async () => {
    expect(fixture.url).toMatch(/^https:/);
    const client = (await open()).send(
      "GET /a HTTP/1.1\r\nHost: example.com\r\nX-Forwarded-Proto: http\r\n\r\n",
    );
    expect(await client.until((text) => text.endsWith("/a"))).toMatch(/^HTTP\/1.1 200 OK/);
    expect(fixture.upstream.seen.at(-1)?.headers["x-forwarded-proto"]).toBe("https");
  });

  it("WebSockets are joined", async () => {
    const client = await open();
    client.send(
      "GET /chat HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    await client.until((text) => text.endsWith("https "));
    client.send("hello");
    expect(await client.until((text) => text.endsWith("hello"))).toMatch(
      /\r\nRateLimit: "all";r=\d+/,
    );
  });

  it("upgrades to anything else are ignored, and the connection goes on", async () => {
    const client = await open();
    client.send(
      "POST /b HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nhi",
    );
    await client.until((text) => text.endsWith("/b"));
    expect(fixture.upstream.seen.at(-1)).toMatchObject({ method: "POST", body: "hi" });
    client.send("GET /c HTTP/1.1\r\nHost: example.com\r\n\r\n");
    await client.until((text) => text.endsWith("/c"));
  });

  it("malformed framing is refused and the connection closed", async () => {
    const client = await open();
    client.send(
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    expect(await client.closed()).toMatch(/^HTTP\/1.1 400 /);
    expect(fixture.upstream.begun).not.toContain("/hidden");
  });

  it("who never shakes hands is cut off", async () => {
    const client = await connectTo(fixture.url);
    clients.push(client);
    client.send("\x16");
    await client.closed();
  });
});
