// Upstreams over TLS: real sockets, and certificates that openssl makes.

import { copyFileSync, readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import {
  connectTo,
  makeCertificate,
  makeExpiredCertificate,
  makeFolder,
} from "sluice-test-servers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { closedUrl, onStop, startGateway, startRaw, stopAll } from "../../test/proxy-fixture.js";
import { ServerError } from "../base/errors.js";
import type { UpstreamConfig, UpstreamTlsConfig } from "../config/config.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";

afterEach(stopAll);

let folder: string;
let app: { certFile: string; keyFile: string };
let client: { certFile: string; keyFile: string };
let expired: { certFile: string; keyFile: string };

beforeAll(() => {
  folder = makeFolder("https-upstream");
  app = makeCertificate(folder, "app");
  client = makeCertificate(folder, "client");
  expired = makeExpiredCertificate(folder, "expired");
});

/** An upstream over TLS, and what it saw. */
interface Seen {
  url: string;
  connections: number;
  requests: number;
  serverNames: unknown[];
  /** Connections that are open now. */
  open(): Promise<number>;
}

async function startHttps(options: ServerOptions = {}): Promise<Seen> {
  const open = () =>
    new Promise<number>((done) => server.getConnections((_, count) => done(count)));
  const seen: Seen = { url: "", connections: 0, requests: 0, serverNames: [], open };
  const cert = { cert: readFileSync(app.certFile), key: readFileSync(app.keyFile) };
  const server: Server = createServer({ ...cert, ...options }, async (request, response) => {
    seen.requests++;
    let length = 0;
    for await (const piece of request) length += (piece as Buffer).length;
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    const wanted = Number(new URL(request.url ?? "", "http://a").searchParams.get("bytes") ?? 0);
    const { host } = request.headers;
    response.end(
      wanted > 0 ? Buffer.alloc(wanted, 120) : `${host} ${length} ${subject?.CN ?? "-"}`,
    );
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    seen.connections++;
    seen.serverNames.push(socket.servername);
  });
  server.on("upgrade", (_request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n");
    socket.write("Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nhello ");
    socket.write(head);
    socket.pipe(socket);
    onStop(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onStop(() => {
    server.closeAllConnections();
    server.close();
  });
  seen.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return seen;
}

function toTls(changes: Partial<UpstreamTlsConfig> = {}): UpstreamTlsConfig {
  const none = { serverName: undefined, certFile: undefined, keyFile: undefined };
  return { caFile: app.certFile, verify: true, ...none, ...changes };
}

async function setUp(
  backends: string | readonly string[],
  tls: UpstreamTlsConfig | undefined,
  upstream: Partial<UpstreamConfig> = {},
) {
  const telemetry = silentTelemetry();
  const problems = vi.spyOn(telemetry, "problem");
  const warnings = vi.spyOn(telemetry.log, "warn");
  const gateway = await startGateway(backends, {
    upstream: { ...upstream, tls },
    core: { telemetry },
  });
  return { ...gateway, problems, warnings };
}

describe("an https upstream", () => {
  it("is verified by the authorities of caFile, and its connections are kept", async () => {
    const seen = await startHttps();
    const { url } = await setUp(seen.url, toTls());
    for (let i = 0; i < 5; i++) {
      const response = await fetch(url, { method: "POST", body: "x".repeat(i) });
      expect(await response.text()).toBe(`${new URL(url).host} ${i} -`);
    }
    expect(seen).toMatchObject({ requests: 5, connections: 1, serverNames: [false] });
  });

  it("is asked for by its host, or by serverName", async () => {
    const seen = await startHttps();
    const byName = await setUp(seen.url.replace("127.0.0.1", "localhost"), toTls());
    expect((await fetch(byName.url)).status).toBe(200);
    const byOption = await setUp(seen.url, toTls({ serverName: "localhost" }));
    expect((await fetch(byOption.url)).status).toBe(200);
    expect(seen.serverNames).toEqual(["localhost", "localhost"]);
  });

  it("sees the client certificate of the gateway, if it asks for one", async () => {
    const ca = readFileSync(client.certFile);
    const seen = await startHttps({ requestCert: true, rejectUnauthorized: true, ca });
    const { url } = await setUp(seen.url, toTls(client));
    expect(await (await fetch(url)).text()).toMatch(/ client\.example\.com$/);
    const without = await setUp(seen.url, toTls());
    expect((await fetch(without.url)).status).toBe(502);
    expect(seen.requests).toBe(1);
  });

  it("carries large bodies to a client that reads slowly", async () => {
    const bytes = 8_000_000;
    const seen = await startHttps();
    const { url } = await setUp(seen.url, toTls());
    const response = await fetch(`${url}/?bytes=${bytes}`);
    // More than the buffers on the way hold is still to come.
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await response.arrayBuffer()).byteLength).toBe(bytes);
    const posted = await fetch(url, { method: "POST", body: Buffer.alloc(bytes) });
    expect(await posted.text()).toContain(` ${bytes} `);
    expect(seen.connections).toBe(1);
  });

  it("takes WebSockets", async () => {
    const seen = await startHttps();
    const { url } = await setUp(seen.url, toTls());
    const socket = await connectTo(url);
    onStop(() => socket.end());
    socket.send(
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n\r\nearly ",
    );
    await socket.until((text) => text.endsWith("hello early "));
    await socket.send("more").until((text) => text.endsWith("early more"));
  });

  it("takes a new authority when the file changes and the configuration is loaded again", async () => {
    const seen = await startHttps();
    const caFile = join(folder, "live-ca.crt");
    copyFileSync(client.certFile, caFile);
    const { url, listener } = await setUp(seen.url, toTls({ caFile }));
    expect((await fetch(url)).status).toBe(502);
    copyFileSync(app.certFile, caFile);
    await listener.reload?.();
    expect((await fetch(url)).status).toBe(200);
  });
});

describe("a certificate that does not verify", () => {
  it.each<[string, () => UpstreamTlsConfig | undefined, RegExp]>([
    [
      "of an unknown authority",
      () => undefined,
      /self-signed certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\); set tls\.caFile/,
    ],
    [
      "for another name",
      () => toTls({ serverName: "other.example.com" }),
      /other\.example\.com.* \(ERR_TLS_CERT_ALTNAME_INVALID\); set tls\.serverName/,
    ],
  ])("%s is a 502, logged with the reason, and nothing is sent", async (_, tlsOf, reason) => {
    const seen = await startHttps();
    const { url, problems } = await setUp(seen.url, tlsOf());
    const response = await fetch(url, { headers: { authorization: "secret" } });
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain("certificate");
    expect(seen.requests).toBe(0);
    const backend = new URL(seen.url).host;
    expect(problems.mock.calls).toEqual([
      [
        "upstream app failed: tls",
        undefined,
        { upstream: "app", backend, kind: "tls", detail: expect.stringMatching(reason) },
      ],
    ]);
  });

  it("is taken with verify: false, with a warning at the start", async () => {
    const seen = await startHttps();
    const { url, warnings } = await setUp(seen.url, toTls({ caFile: undefined, verify: false }));
    expect((await fetch(url)).status).toBe(200);
    expect(warnings.mock.calls).toEqual([
      [{ upstream: "app" }, "tls.verify is false: certificates are not checked"],
    ]);
  });

  it("sends a request to another backend, also one that may not be repeated", async () => {
    const bad = await startHttps({
      cert: readFileSync(client.certFile),
      key: readFileSync(client.keyFile),
    });
    const good = await startHttps();
    const { url } = await setUp([bad.url, good.url], toTls());
    expect((await fetch(url, { method: "POST", body: "one" })).status).toBe(200);
    expect([bad.requests, good.requests]).toEqual([0, 1]);
  });

  it("is reported as expired, and no connection stays open, however often it is tried", async () => {
    const [cert, key] = [expired.certFile, expired.keyFile].map((file) => readFileSync(file));
    const seen = await startHttps({ cert, key });
    const tls = toTls({ caFile: expired.certFile });
    const { url, problems } = await setUp(seen.url, tls, { failuresMax: 1_000 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(url)));
    expect(answers.every(({ status }) => status === 502)).toBe(true);
    expect(problems.mock.calls[0][2]).toMatchObject({
      kind: "tls",
      detail: expect.stringMatching(/^certificate has expired \(CERT_HAS_EXPIRED\); renew/),
    });
    await expect.poll(() => seen.open()).toBe(0);
  });
});

describe("an upstream that asks for a client certificate", () => {
  it.each<["TLSv1.2" | "TLSv1.3", string, RegExp]>([
    ["TLSv1.2", "none", /^[a-z0-9 ]* \(ERR_SSL_\w+\); .*set tls\.certFile and tls\.keyFile/],
    ["TLSv1.3", "none", /^tlsv13 alert certificate required \(ERR_SSL_\w+\); .*set tls\.certFile/],
    // Node closes without an alert.
    ["TLSv1.3", "another", /^the backend closed the connection$/],
  ])("over %s and gets %s is a 502 with the reason in one line", async (version, which, detail) => {
    const ca = readFileSync(client.certFile);
    const asks = { requestCert: true, rejectUnauthorized: true, ca, maxVersion: version };
    const seen = await startHttps(asks);
    const { url, problems } = await setUp(seen.url, toTls(which === "none" ? {} : app));
    expect((await fetch(url, { method: "POST", body: "one" })).status).toBe(502);
    expect(seen.requests).toBe(0);
    expect(problems.mock.calls).toHaveLength(1);
    expect(problems.mock.calls[0][2]).toMatchObject({ detail: expect.stringMatching(detail) });
    await expect.poll(() => seen.open()).toBe(0);
  });
});

describe("connections to an https upstream", () => {
  it("are no more than connectionsMax, and all requests find one", async () => {
    const seen = await startHttps();
    const { url } = await setUp(seen.url, toTls(), { connectionsMax: 2 });
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => fetch(url, { method: "POST", body: "x" })),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(seen).toMatchObject({ connections: 2, requests: 40 });
  });

  it("are all given up, with a reason, by an upstream that ends each handshake half way", async () => {
    let open = 0;
    const raw = await startRaw((socket) => {
      open++;
      socket.on("close", () => open--).on("error", () => {});
      // The beginning of an answer to the first message, then the end.
      socket.once("data", () => socket.end(Buffer.from([22, 3, 3, 0, 122, 2, 0])));
    });
    const tls = { connectionsMax: 3, failuresMax: 1_000 };
    const { url, problems } = await setUp(raw.replace("http:", "https:"), toTls(), tls);
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(url)));
    expect(answers.every(({ status }) => status === 502)).toBe(true);
    for (const [, , facts] of problems.mock.calls) {
      expect(facts).toMatchObject({ kind: "tls", detail: expect.stringMatching(/\w/) });
    }
    await expect.poll(() => open).toBe(0);
  });
});

describe("a backend without TLS behind https://", () => {
  it.each<[string, Partial<UpstreamConfig>, number, string, RegExp]>([
    ["that answers plain HTTP", {}, 502, "tls", /wrong version number|packet length/i],
    ["that closes", {}, 502, "tls", /closed|disconnected|ECONNRESET/],
    ["that says nothing", { connectTimeoutMs: 200 }, 504, "connect-timeout", /handshake took/],
  ])("%s", async (how, changes, status, kind, detail) => {
    const raw = await startRaw((socket) => {
      socket.once("data", () => {
        if (how.includes("HTTP")) socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
        else if (how.includes("closes")) socket.end();
      });
    });
    const { url, problems } = await setUp(raw.replace("http:", "https:"), toTls(), changes);
    expect((await fetch(url)).status).toBe(status);
    expect(problems.mock.calls[0][2]).toMatchObject({
      kind,
      detail: expect.stringMatching(detail),
    });
  });

  it("is reported as a failed connection if nothing listens there", async () => {
    const url = (await closedUrl()).replace("http:", "https:");
    const gateway = await setUp(url, toTls());
    expect((await fetch(gateway.url)).status).toBe(502);
    expect(gateway.problems.mock.calls[0][2]).toMatchObject({ kind: "connect" });
  });
});

it("a gateway does not start with a file of authorities that holds none", async () => {
  await expect(setUp("https://127.0.0.1:1", toTls({ caFile: app.keyFile }))).rejects.toThrow(
    ServerError,
  );
});
