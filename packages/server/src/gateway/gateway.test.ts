import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { request as requestTls } from "node:https";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { connectTo, makeCertificate, makeFolder, rawExchange } from "sluice-test-servers";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  closedUrl,
  eventually,
  onStop,
  startGateway,
  startServer,
  startUpstream,
  stopAll,
} from "../../test/proxy-fixture.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";

afterEach(stopAll);

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

describe("the gateway", () => {
  it("passes a request on and its response back", async () => {
    const upstream = await startUpstream((request, response) => {
      response.writeHead(201, "Made", { "X-Seen": `${request.method} ${request.url}` });
      response.end("hello");
    });
    const { url } = await startGateway(upstream);
    const answer = await fetch(`${url}/a/b?c=d`, { method: "DELETE" });
    expect(answer.status).toBe(201);
    expect(answer.statusText).toBe("Made");
    expect(answer.headers.get("x-seen")).toBe("DELETE /a/b?c=d");
    expect(await answer.text()).toBe("hello");
  });

  it("says at which address it can't listen", async () => {
    const { url } = await startGateway(await closedUrl());
    const listen = { host: "127.0.0.1", port: Number(new URL(url).port) };
    await expect(startGateway(await closedUrl(), { gateway: { listen } })).rejects.toMatchObject({
      code: "SLUICE_LISTEN_FAILED",
      message: expect.stringContaining(`127.0.0.1:${listen.port}`),
      cause: expect.objectContaining({ code: "EADDRINUSE" }),
    });
  });

  it("reports a backend that is ejected", async () => {
    const telemetry = silentTelemetry();
    const upstream = await startUpstream((_request, response) => void response.end("x"));
    const gone = await closedUrl();
    const { url } = await startGateway([gone, upstream], {
      upstream: { failuresMax: 1 },
      core: { telemetry },
    });
    const reported = vi.spyOn(telemetry, "upstream");
    for (let i = 0; i < 4; i++) expect((await fetch(url)).status).toBe(200);
    const ejected = reported.mock.calls.filter(([, outcome]) => outcome === "ejected");
    expect(ejected).toEqual([["app", "ejected", new URL(gone).host]]);
  });

  it("closes connections beyond its bound immediately, and takes new ones when there is room", async () => {
    const upstream = await startUpstream((_request, response) => void response.end("x"));
    const { url } = await startGateway(upstream, { gateway: { connectionsMax: 2 } });
    const [first, second] = [await connectTo(url), await connectTo(url)];
    onStop(() => second.end());
    await first.send(GET).until((text) => text.endsWith("x"));
    await second.send(GET).until((text) => text.endsWith("x"));
    expect(await rawExchange(url, GET)).toBe("");
    first.end();
    await eventually(async () =>
      (await rawExchange(url, GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))).endsWith(
        "x",
      ),
    );
  });
});

describe("a response over TLS that is cut short", () => {
  it("breaks off the connection of a client of HTTP/1.0, and nothing else", async () => {
    const upstream = await startUpstream((request, response) => {
      if (request.url !== "/cut") return void response.end("x");
      response.write("part");
      setTimeout(() => response.destroy(), 20);
    });
    const folder = makeFolder("gateway");
    const { url } = await startGateway(upstream, {
      gateway: { tls: makeCertificate(folder, "gateway") },
    });
    const ask = (path: string) =>
      new Promise<string>((resolve) => {
        let text = "";
        const { port, hostname: host } = new URL(url);
        const socket = connectTls({ port: Number(port), host, rejectUnauthorized: false });
        socket.on("data", (piece) => {
          text += piece;
        });
        socket.on("error", () => {}).on("close", () => resolve(text));
        socket.write(`GET ${path} HTTP/1.0\r\nHost: a\r\n\r\n`);
      });
    expect(await ask("/cut")).toMatch(/part$/);
    expect(await ask("/whole")).toMatch(/x$/);
  });
});

describe("upgrades that are ignored", () => {
  it("leave nothing behind on their connection, however many there are", async () => {
    const sockets: Socket[] = [];
    const seen = (message: unknown) => sockets.push((message as { socket: Socket }).socket);
    subscribe("net.server.socket", seen);
    onStop(() => unsubscribe("net.server.socket", seen));
    const upstream = await startUpstream((_request, response) => void response.end("x"));
    const { url } = await startGateway(upstream);
    const client = await connectTo(url);
    onStop(() => client.end());
    const counts: number[][] = [];
    for (let i = 1; i <= 50; i++) {
      client.send(GET.replace("\r\n\r\n", "\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"));
      await client.until((text) => text.split("\r\n\r\nx").length === i + 1);
      const [socket] = sockets;
      counts.push(socket.eventNames().map((name) => socket.listenerCount(name)));
    }
    expect(counts.at(-1)).toEqual(counts[1]);
  });
});

describe("what is no request", () => {
  it.each([
    ["HELLO\r\n\r\n", 400],
    ["GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400],
    ["GET / HTTP/1.1\r\n\r\n", 400],
    [`GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, 431],
  ])("%j is answered once, as a problem, and the connection closed", async (text, status) => {
    const { url } = await startGateway(await closedUrl());
    const answer = await rawExchange(url, text);
    expect(answer.slice(0, 13)).toBe(`HTTP/1.1 ${status} `);
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
    expect(answer).toMatch(/\r\nContent-Type: application\/problem\+json\r\n/);
    expect(answer.split("HTTP/1.1 ").length).toBe(2);
  });

  it("yet, because it comes too slowly, is 408", async () => {
    const { url } = await startGateway(await closedUrl(), { gateway: { headersTimeoutMs: 200 } });
    const client = await connectTo(url);
    expect(await client.send("GET / HT").closed()).toMatch(/^HTTP\/1\.1 408 /);
  });

  it("because its body comes too slowly is 408, and the upstream is let go", async () => {
    const { url: upstream, server } = await startServer(() => {});
    const { url } = await startGateway(upstream, {
      gateway: { headersTimeoutMs: 200, requestTimeoutMs: 300 },
    });
    const client = await connectTo(url);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 408 /);
    await eventually(
      () => new Promise((resolve) => server.getConnections((_, n) => resolve(n === 0))),
    );
  });
});

describe("TLS", () => {
  it("ends at the gateway, and the upstream is notified", async () => {
    const upstream = await startUpstream((request, response) => {
      response.end(request.headers["x-forwarded-proto"]);
    });
    const folder = makeFolder("gateway");
    const tls = makeCertificate(folder, "gateway");
    const { url } = await startGateway(upstream, { gateway: { tls } });
    expect(url).toMatch(/^https:/);
    const text = await new Promise((resolve, reject) => {
      const asked = requestTls(url, { rejectUnauthorized: false, agent: false }, (response) => {
        response.on("data", (piece) => resolve(`${response.statusCode} ${piece}`));
      });
      asked.on("error", reject).end();
    });
    expect(text).toBe("200 https");
  });
});

describe("draining", () => {
  it("under load fails no request, asks clients to reconnect elsewhere, and ends", async () => {
    const upstream = await startUpstream((_request, response) => {
      setTimeout(() => response.end("done"), Math.random() * 20);
    });
    const { url, listener } = await startGateway(upstream);
    let answered = 0;
    let isDraining = false;
    const failures: string[] = [];
    const work = async () => {
      const client = await connectTo(url);
      for (;;) {
        client.text = "";
        client.send(GET);
        const text = await client.until((seen) => seen.endsWith("done")).catch(String);
        if (!text.endsWith("done")) failures.push(text);
        else answered++;
        if (!text.endsWith("done") || /\r\nConnection: close\r\n/.test(text)) break;
        if (client.isClosed) break;
      }
      expect(isDraining).toBe(true);
      await client.closed();
      client.end();
    };
    const workers = Array.from({ length: 40 }, work);
    await eventually(() => answered > 400, "load");
    isDraining = true;
    await Promise.all([listener.drain(), ...workers]);
    expect(failures).toEqual([]);
    await expect(connectTo(url)).rejects.toThrow("ECONNREFUSED");
  });

  it("can be preceded by taking no new connections, which open ones do not notice", async () => {
    const upstream = await startUpstream((_request, response) => void response.end("x"));
    const { url, listener } = await startGateway(upstream);
    const client = await connectTo(url);
    listener.stopListening();
    await expect(connectTo(url)).rejects.toThrow("ECONNREFUSED");
    const first = await client.send(GET).until((text) => text.endsWith("x"));
    expect(first).not.toContain("Connection: close");
    const drained = listener.drain();
    client.send(GET);
    expect((await client.closed()).split("Connection: close").length).toBe(2);
    await drained;
  });

  it("closes idle and unused connections, and waits for a response that is under way", async () => {
    let end = () => {};
    const upstream = await startUpstream((request, response) => {
      if (request.url !== "/slow") return void response.end("x");
      response.write("part");
      end = () => response.end("end");
    });
    const { url, listener } = await startGateway(upstream);
    const [idle, unused, slow] = [await connectTo(url), await connectTo(url), await connectTo(url)];
    await idle.send(GET).until((text) => text.endsWith("x"));
    await slow.send(GET.replace("/", "/slow")).until((text) => text.includes("part"));
    let isDrained = false;
    const drained = listener.drain().then(() => {
      isDrained = true;
    });
    await Promise.all([idle.closed(), unused.closed()]);
    expect(isDrained).toBe(false);
    end();
    await drained;
    expect(await slow.closed()).toMatch(/part\r\n3\r\nend\r\n0\r\n\r\n$/);
  });

  it("closes a connection that becomes idle late: its answer came before its body", async () => {
    const upstream = await startUpstream((_request, response) => void response.end("x"));
    const { url, listener } = await startGateway(upstream);
    const [late, unused] = [await connectTo(url), await connectTo(url)];
    late.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    await late.until((text) => text.endsWith("x"));
    const drained = listener.drain();
    // By then it has looked once.
    await unused.closed();
    expect(late.isClosed).toBe(false);
    late.send("cd");
    await Promise.all([late.closed(), drained]);
  });

  it.each([
    ["", 0],
    [", also if the process was too busy to look at it in time", 600],
  ])("answers a request that was on its way on an idle connection%s", async (_, busyMs) => {
    const upstream = await startUpstream((_request, response) => void response.end("x"));
    const { url, listener } = await startGateway(upstream);
    const client = await connectTo(url);
    await client.send(GET).until((text) => text.endsWith("x"));
    const drained = listener.drain();
    client.send(GET);
    const busyUntilMs = performance.now() + busyMs;
    while (performance.now() < busyUntilMs);
    expect((await client.closed()).split("HTTP/1.1 200").length).toBe(3);
    await drained;
  });

  it("is cut short by close, which leaves nothing open", async () => {
    const { url: upstream, server } = await startServer((_request, response) => {
      response.write("part");
    });
    const { url, listener } = await startGateway(upstream);
    const client = await connectTo(url);
    await client.send(GET).until((text) => text.includes("part"));
    const drained = listener.drain();
    await listener.close();
    await drained;
    await client.closed();
    await eventually(
      () => new Promise((resolve) => server.getConnections((_, n) => resolve(n === 0))),
    );
    await new Promise((resolve) => {
      const { hostname: host, port } = new URL(url);
      connect(Number(port), host).on("error", resolve);
    });
  });
});
