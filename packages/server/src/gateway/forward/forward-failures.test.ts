import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import { ManualClock } from "sluice/testing";
import { connectTo, rawExchange } from "sluice-test-servers";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  closedUrl,
  eventually,
  onStop,
  startGateway,
  startRaw,
  startUpstream,
  stopAll,
} from "../../../test/proxy-fixture.js";
import { silentTelemetry } from "../../telemetry/silent-telemetry.js";

afterEach(stopAll);

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";

/** An upstream that does with each request what the test says; it gets the number of the request. */
async function startCounted(onRequest: (socket: Socket, count: number) => void) {
  const seen = { requests: 0, connections: 0 };
  const url = await startRaw((socket) => {
    seen.connections++;
    socket.on("data", () => {
      seen.requests++;
      onRequest(socket, seen.requests);
    });
  });
  return { url, seen };
}

async function problemOf(answer: Response): Promise<unknown> {
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  return answer.json();
}

describe("an upstream that fails", () => {
  it("to be there is 502, with a problem body", async () => {
    const { url } = await startGateway(await closedUrl());
    const answer = await fetch(url);
    expect(answer.status).toBe(502);
    expect(await problemOf(answer)).toEqual({
      type: "about:blank",
      title: "Bad Gateway",
      status: 502,
      code: "SLUICE_UPSTREAM_UNAVAILABLE",
    });
  });

  it("again and again has one line in the log, not one for each request", async () => {
    const telemetry = silentTelemetry();
    const lines = vi.spyOn(telemetry.log, "warn");
    const { url } = await startGateway(await closedUrl(), { core: { telemetry } });
    for (let i = 0; i < 10; i++) expect((await fetch(url)).status).toBe(502);
    expect(lines).toHaveBeenCalledTimes(1);
    expect(lines.mock.calls[0]).toMatchObject([
      { upstream: "app", kind: "connect", detail: expect.stringContaining("ECONNREFUSED") },
      "upstream app failed: connect",
    ]);
  });

  it("to answer in time is 504, and its connection is closed", async () => {
    let isClosed = false;
    const upstream = await startRaw((socket) => {
      socket.resume();
      socket.on("close", () => {
        isClosed = true;
      });
    });
    const { url } = await startGateway(upstream, { upstream: { responseTimeoutMs: 150 } });
    const answer = await fetch(url);
    expect(answer.status).toBe(504);
    expect(await problemOf(answer)).toMatchObject({ code: "SLUICE_UPSTREAM_TIMEOUT" });
    await eventually(() => isClosed);
  });

  it("to end its head in time is 504, however often a byte of it comes", async () => {
    const upstream = await startRaw((socket) => {
      socket.once("data", () => {
        const dripping = setInterval(() => socket.write("H"), 20);
        socket.write("HTTP/1.1 200 OK\r\nX: ");
        socket.on("close", () => clearInterval(dripping)).on("error", () => {});
      });
    });
    const timing = { responseTimeoutMs: 150, idleTimeoutMs: 60_000 };
    const { url } = await startGateway(upstream, { upstream: timing });
    expect((await fetch(url)).status).toBe(504);
  });

  it("to speak HTTP is 502", async () => {
    const { url: upstream } = await startCounted((socket) => socket.write("220 smtp\r\n\r\n"));
    const { url } = await startGateway(upstream);
    expect((await fetch(url)).status).toBe(502);
  });

  it("to frame its response is 502, not a guess", async () => {
    const { url: upstream } = await startCounted((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"),
    );
    const { url } = await startGateway(upstream);
    expect((await fetch(url)).status).toBe(502);
  });

  it("to begin its body right, in one piece with the head, is 502: nothing was passed on", async () => {
    const { url: upstream } = await startCounted((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"),
    );
    const { url } = await startGateway(upstream);
    const answer = await fetch(url);
    expect(answer.status).toBe(502);
    expect(await problemOf(answer)).toMatchObject({ code: "SLUICE_UPSTREAM_UNAVAILABLE" });
  });

  for (const [how, head] of [
    ["by length", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart"],
    ["in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"],
  ]) {
    it(`in the middle of a body ${how} breaks the client's connection off`, async () => {
      const { url: upstream } = await startCounted((socket) => {
        socket.write(head);
        setTimeout(() => socket.destroy(), 30);
      });
      const { url } = await startGateway(upstream);
      const asked = request(url);
      asked.end();
      const [response] = await once(asked, "response");
      response.resume();
      const [error] = await once(response, "error");
      expect(error.code).toBe("ECONNRESET");
      expect(response.complete).toBe(false);
    });
  }

  it("in the middle of a body resets a client of HTTP/1.0, which could not notice otherwise", async () => {
    const { url: upstream } = await startCounted((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
      setTimeout(() => socket.destroy(), 30);
    });
    const { url } = await startGateway(upstream);
    const client = await connectTo(url);
    const failed = once(client.socket, "error");
    client.send("GET / HTTP/1.0\r\n\r\n");
    expect((await failed)[0].code).toBe("ECONNRESET");
  });

  it("to go on with its body within the idle time breaks the client's connection off", async () => {
    const { url: upstream } = await startCounted((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart"),
    );
    const { url } = await startGateway(upstream, { upstream: { idleTimeoutMs: 150 } });
    const client = await connectTo(url);
    expect(await client.send(GET).closed()).toMatch(/part$/);
  });

  it("to take the request's body within the idle time is 504", async () => {
    const upstream = await startRaw((socket) => socket.pause());
    const { url } = await startGateway(upstream, {
      upstream: { idleTimeoutMs: 200 },
      gateway: { bodyBytesMax: 0 },
    });
    const client = await connectTo(url);
    onStop(() => client.end());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n");
    const piece = "x".repeat(1_000_000);
    for (let i = 0; i < 50; i++) client.send(piece);
    expect(await client.until((text) => text.includes("\r\n\r\n{"))).toMatch(/^HTTP\/1\.1 504 /);
  });
});

describe("a client that is too slow with its body", () => {
  it("gets that answer, and the backend is not blamed", async () => {
    const { url: upstream, seen } = await startCounted((socket, count) => {
      if (count > 1) socket.write(OK);
    });
    const { url } = await startGateway(upstream, { upstream: { idleTimeoutMs: 150 } });
    const client = await connectTo(url);
    onStop(() => client.end());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    expect(await client.until((text) => text.includes("}"))).toMatch(/^HTTP\/1\.1 408 /);
    expect(seen.requests).toBe(1);
  });
});

describe("a request", () => {
  it("that was never sent goes to another backend, whatever its method", async () => {
    const good = await startUpstream((asked, response) => void asked.pipe(response));
    const { url } = await startGateway([await closedUrl(), good], {
      upstream: { failuresMax: 1_000 },
    });
    for (let i = 0; i < 4; i++) {
      const answer = await fetch(url, { method: "POST", body: `body ${i}` });
      expect([answer.status, await answer.text()]).toEqual([200, `body ${i}`]);
    }
  });

  it("that is idempotent goes to another backend if no byte came back", async () => {
    const bad = await startCounted((socket) => socket.destroy());
    const good = await startCounted((socket) => socket.write(OK));
    const { url } = await startGateway([bad.url, good.url], { upstream: { failuresMax: 1_000 } });
    for (const method of ["GET", "OPTIONS", "PUT", "DELETE"]) {
      expect((await fetch(url, { method })).status).toBe(200);
      expect((await fetch(url, { method })).status).toBe(200);
    }
    expect(bad.seen.requests).toBe(4);
    expect(good.seen.requests).toBe(8);
  });

  it("that is not idempotent, or has a body, is sent once", async () => {
    const bad = await startCounted((socket) => socket.destroy());
    const { url } = await startGateway([bad.url, bad.url], { upstream: { failuresMax: 1_000 } });
    expect((await fetch(url, { method: "POST" })).status).toBe(502);
    expect((await fetch(url, { method: "PATCH" })).status).toBe(502);
    expect((await fetch(url, { method: "PUT", body: "x" })).status).toBe(502);
    expect(bad.seen.connections).toBe(3);
  });

  it("is not sent again once a byte of the response is there", async () => {
    const bad = await startCounted((socket) => socket.end("H"));
    const { url } = await startGateway([bad.url, bad.url], { upstream: { failuresMax: 1_000 } });
    expect((await fetch(url)).status).toBe(502);
    expect(bad.seen.requests).toBe(1);
  });

  it("is retried as often as configured, and no more", async () => {
    const bad = await startCounted((socket) => socket.destroy());
    const backends = [bad.url, bad.url, bad.url, bad.url, bad.url];
    for (const retriesMax of [0, 1, 3]) {
      bad.seen.requests = 0;
      const { url } = await startGateway(backends, {
        upstream: { retriesMax, failuresMax: 1_000 },
      });
      expect((await fetch(url)).status).toBe(502);
      expect(bad.seen.requests).toBe(1 + retriesMax);
    }
  });

  it("that meets a connection gone stale is sent once more on a fresh one, if it is idempotent", async () => {
    // Every connection answers once, and closes when it is asked again.
    const answered = new WeakSet<Socket>();
    const upstream = await startCounted((socket) => {
      if (answered.has(socket)) socket.destroy();
      else socket.write(OK);
      answered.add(socket);
    });
    const { url } = await startGateway(upstream.url, { upstream: { retriesMax: 0 } });
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(url)).status).toBe(200);
    expect(upstream.seen).toEqual({ requests: 3, connections: 2 });
    expect((await fetch(url, { method: "POST" })).status).toBe(502);
    expect(upstream.seen).toEqual({ requests: 4, connections: 2 });
  });
});

describe("a backend", () => {
  it("that fails so often in a row is ejected, then tried once, then used again", async () => {
    const clock = new ManualClock(1_000_000);
    let isWell = false;
    const flaky = await startCounted((socket) => (isWell ? socket.write(OK) : socket.destroy()));
    const good = await startCounted((socket) => socket.write(OK));
    const { url, core } = await startGateway([flaky.url, good.url], {
      upstream: { failuresMax: 2, ejectMs: 10_000, retriesMax: 1 },
      core: { clock },
    });
    const ask = async (times: number) => {
      const before = flaky.seen.requests;
      for (let i = 0; i < times; i++) expect((await fetch(url)).status).toBe(200);
      return flaky.seen.requests - before;
    };
    expect(await ask(10)).toBe(2);
    const metrics = await core.telemetry.metrics();
    expect(metrics).toMatch(/upstream="app",outcome="ejected"[^}]*} 1\n/);
    expect(metrics).toMatch(/upstream="app",outcome="retried"[^}]*} 2\n/);
    expect(metrics).toMatch(/upstream="app",outcome="answered"[^}]*} 10\n/);
    clock.advance(9_999);
    expect(await ask(10)).toBe(0);
    clock.advance(1);
    expect(await ask(10)).toBe(1);
    clock.advance(10_000);
    isWell = true;
    expect(await ask(10)).toBe(5);
  });

  it("is used although it failed if all did", async () => {
    let isWell = false;
    const flaky = await startCounted((socket) => (isWell ? socket.write(OK) : socket.destroy()));
    const { url } = await startGateway([flaky.url, flaky.url], {
      upstream: { failuresMax: 1, retriesMax: 0 },
    });
    for (let i = 0; i < 4; i++) expect((await fetch(url)).status).toBe(502);
    isWell = true;
    for (let i = 0; i < 4; i++) expect((await fetch(url)).status).toBe(200);
  });

  it("with the fewest requests under way is chosen where the configuration says so", async () => {
    const held: (() => void)[] = [];
    const slow = await startUpstream((_request, response) => {
      held.push(() => response.end("slow"));
    });
    const fast = await startUpstream((_request, response) => void response.end("fast"));
    const { url } = await startGateway([slow, fast], {
      upstream: { balance: "least-connections" },
    });
    const first = fetch(url);
    await eventually(() => held.length === 1);
    for (let i = 0; i < 5; i++) expect(await (await fetch(url)).text()).toBe("fast");
    expect(held.length).toBe(1);
    held[0]();
    expect(await (await first).text()).toBe("slow");
  });
});

describe("the pool", () => {
  it("keeps to its connections, serves who waits in order, and refuses those beyond its line", async () => {
    const waiting: { path: string; go: () => void }[] = [];
    let connections = new Set<Socket>();
    const upstream = await startUpstream((asked, response) => {
      connections = connections.add(asked.socket);
      waiting.push({ path: asked.url ?? "", go: () => response.end("x") });
    });
    const counted = { fixedWindow: { limit: 100, windowMs: 3_600_000, align: "first" } };
    const { url, core } = await startGateway(upstream, {
      upstream: { connectionsMax: 2, waitingMax: 3 },
      rules: [{ id: "counted", key: "ip", limit: counted }],
    });
    const caller = { method: "GET", path: "/", ip: "127.0.0.1" };
    const answers: Promise<Response>[] = [];
    for (const path of ["/0", "/1", "/2", "/3", "/4"]) {
      answers.push(fetch(url + path));
      await eventually(async () => {
        const [{ remaining }] = await core.policy.state(caller);
        return remaining === 100 - answers.length;
      });
    }
    await eventually(() => waiting.length === 2);
    expect((await fetch(`${url}/5`)).status).toBe(503);
    const order: string[] = [];
    for (let i = 0; i < 5; i++) {
      await eventually(() => waiting.length > 0);
      const next = waiting.shift();
      order.push(next?.path ?? "");
      next?.go();
    }
    expect(order).toEqual(["/0", "/1", "/2", "/3", "/4"]);
    for (const answer of answers) expect((await answer).status).toBe(200);
    expect(connections.size).toBe(2);
  });

  it("lets no request wait for a connection longer than for a new one", async () => {
    const upstream = await startUpstream(() => {});
    const { url } = await startGateway(upstream, {
      upstream: { connectionsMax: 1, connectTimeoutMs: 150 },
    });
    const held = new AbortController();
    const first = fetch(url, { signal: held.signal }).catch(() => "aborted");
    expect((await fetch(url)).status).toBe(503);
    held.abort();
    expect(await first).toBe("aborted");
  });
});

describe("answers of the gateway itself", () => {
  it("to HEAD have no body", async () => {
    const { url } = await startGateway(await closedUrl());
    const text = await rawExchange(url, "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    expect(text).toMatch(/^HTTP\/1\.1 502 /);
    expect(text).toMatch(/\r\n\r\n$/);
  });

  it("to a path without a route are 404", async () => {
    const { url } = await startGateway(await closedUrl(), { config: { routes: [] } });
    expect((await fetch(url)).status).toBe(404);
  });
});
