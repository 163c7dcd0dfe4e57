import { createHash } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, type RequestOptions, request } from "node:http";
import type { Socket } from "node:net";
import { connectTo, rawExchange } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import {
  eventually,
  onStop,
  startGateway,
  startRaw,
  startServer,
  startUpstream,
  stopAll,
} from "../../../test/proxy-fixture.js";

afterEach(stopAll);

/** More than all buffers on the way hold together. */
const LARGE_BYTES = 64 * 1024 * 1024;
/** What may lie in buffers of the kernel and of Node, on all connections of the way. */
const BUFFERED_BYTES_MAX = 40 * 1024 * 1024;
const PIECE = Buffer.alloc(65_536, "0123456789abcdef");
const PIECES = LARGE_BYTES / PIECE.length;

const DIGEST = (() => {
  const hash = createHash("sha256");
  for (let i = 0; i < PIECES; i++) hash.update(PIECE);
  return hash.digest("hex");
})();

/** Writes the large body no faster than it is taken. */
async function writeLarge(
  stream: NodeJS.WritableStream,
  onPiece: () => void = () => {},
): Promise<void> {
  for (let i = 0; i < PIECES; i++) {
    onPiece();
    if (!stream.write(PIECE)) await once(stream, "drain");
  }
  stream.end();
}

async function digestOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of stream) hash.update(piece);
  return hash.digest("hex");
}

/** Resolves once a number has not changed for a while; it is what is in the buffers then. */
async function standstill(read: () => number): Promise<number> {
  let last = -1;
  let looks = 0;
  await eventually(() => {
    looks = read() === last && last > 0 ? looks + 1 : 0;
    last = read();
    return looks >= 15;
  }, "a standstill");
  return last;
}

async function ask(url: string, options: RequestOptions = {}): Promise<IncomingMessage> {
  const asked = request(url, options);
  asked.end();
  const [response] = await once(asked, "response");
  return response;
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const piece of stream) text += piece.toString("latin1");
  return text;
}

describe("a response", () => {
  it("is streamed no faster than the client reads, and arrives whole", async () => {
    let sent = 0;
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { "Content-Length": LARGE_BYTES });
      void writeLarge(response, () => {
        sent += PIECE.length;
      });
    });
    const { url } = await startGateway(upstream);
    const response = await ask(url);
    response.pause();
    expect(await standstill(() => sent)).toBeLessThan(BUFFERED_BYTES_MAX);
    expect(await digestOf(response)).toBe(DIGEST);
  });

  it("is streamed in chunks where its length is not known", async () => {
    const upstream = await startUpstream((_request, response) => void writeLarge(response));
    const { url } = await startGateway(upstream);
    const response = await ask(url);
    expect(response.headers["transfer-encoding"]).toBe("chunked");
    expect(response.headers["content-length"]).toBeUndefined();
    expect(await digestOf(response)).toBe(DIGEST);
  });

  it("begins before its body does", async () => {
    let end = () => {};
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.flushHeaders();
      end = () => response.end("data: 1\n\n");
    });
    const { url } = await startGateway(upstream);
    const response = await ask(url);
    expect(response.headers["content-type"]).toBe("text/event-stream");
    end();
    expect(await textOf(response)).toBe("data: 1\n\n");
  });

  it("that ends with the connection is whole for the client", async () => {
    const upstream = await startRaw((socket) =>
      socket.once("data", () => socket.end("HTTP/1.0 200 OK\r\n\r\nto the end")),
    );
    const { url } = await startGateway(upstream);
    const response = await ask(url);
    expect(await textOf(response)).toBe("to the end");
    expect(response.complete).toBe(true);
  });

  it("goes to a client of HTTP/1.0 without chunks, and ends with the connection", async () => {
    const upstream = await startUpstream((_request, response) => {
      response.write("a");
      response.end("b");
    });
    const { url } = await startGateway(upstream);
    const text = await rawExchange(url, "GET / HTTP/1.0\r\n\r\n");
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
    expect(text).not.toMatch(/chunked/);
    expect(text).toMatch(/\r\n\r\nab$/);
  });

  it("keeps its fields as they are, several of one name included, without those of the connection", async () => {
    const upstream = await startRaw((socket) =>
      socket.on("data", () =>
        socket.write(
          "HTTP/1.1 200 Fine\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nX-Odd: \xe9\r\nDate: then\r\n" +
            "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\nTrailer: Y\r\nContent-Length: 2\r\n\r\nhi",
          "latin1",
        ),
      ),
    );
    const { url } = await startGateway(upstream);
    const text = await rawExchange(url, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const [head, body] = text.split("\r\n\r\n");
    expect(head.split("\r\n").sort()).toEqual(
      [
        "HTTP/1.1 200 Fine",
        "Connection: close",
        "Content-Length: 2",
        "Date: then",
        "Set-Cookie: a=1",
        "X-Odd: \xe9",
        "set-cookie: b=2",
      ].sort(),
    );
    expect(body).toBe("hi");
  });

  it("to HEAD states the length and has no body, and the connection goes on", async () => {
    const { url: upstream, server } = await startServer((request, response) => {
      response.writeHead(200, { "Content-Length": 5 });
      response.end(request.method === "HEAD" ? undefined : "hello");
    });
    let connections = 0;
    server.on("connection", () => connections++);
    const { url } = await startGateway(upstream);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onStop(() => agent.destroy());
    const head = await ask(url, { method: "HEAD", agent });
    expect(head.headers["content-length"]).toBe("5");
    expect(await textOf(head)).toBe("");
    expect(await textOf(await ask(url, { agent }))).toBe("hello");
    expect(connections).toBe(1);
  });

  for (const status of [204, 304]) {
    it(`${status} has no body, and the connection goes on`, async () => {
      const upstream = await startUpstream((request, response) => {
        if (request.url === "/none") response.writeHead(status, { ETag: '"1"' }).end();
        else response.end("next");
      });
      const { url } = await startGateway(upstream);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      onStop(() => agent.destroy());
      const none = await ask(`${url}/none`, { agent });
      expect([none.statusCode, none.headers.etag, await textOf(none)]).toEqual([status, '"1"', ""]);
      expect(none.headers["content-length"]).toBeUndefined();
      expect(await textOf(await ask(url, { agent }))).toBe("next");
    });
  }

  it("304 may state the length that there would be", async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(304, { "Content-Length": 1234 }).end();
    });
    const { url } = await startGateway(upstream);
    const none = await ask(url);
    expect([none.headers["content-length"], await textOf(none)]).toEqual(["1234", ""]);
  });

  it("that is over before its request is keeps the connection that it said it keeps", async () => {
    const upstream = await startUpstream((_request, response) => {
      response.write("part ");
      setTimeout(() => response.end("whole"), 20);
    });
    const { url } = await startGateway(upstream);
    const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n";
    const client = (await connectTo(url)).send(`${head}${"x".repeat(100_000)}`);
    onStop(() => client.end());
    const answer = await client.until((text) => text.includes("whole\r\n0\r\n\r\n"));
    expect(answer).toContain("Connection: keep-alive\r\n");
    client.send(`${"x".repeat(100_000)}GET / HTTP/1.1\r\nHost: a\r\n\r\n`);
    await client.until((text) => text.split("whole\r\n0\r\n\r\n").length === 3);
  });

  it("skips interim responses of the upstream", async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeProcessing();
      response.end("final");
    });
    const { url } = await startGateway(upstream);
    expect(await (await fetch(url)).text()).toBe("final");
  });
});

describe("a request", () => {
  it("is streamed no faster than the upstream reads, and arrives whole", async () => {
    let start = () => {};
    const upstream = await startUpstream((asked, response) => {
      start = () => void digestOf(asked).then((digest) => response.end(digest));
    });
    const { url } = await startGateway(upstream, { gateway: { bodyBytesMax: 0 } });
    const asked = request(url, { method: "POST", headers: { "Content-Length": LARGE_BYTES } });
    let sent = 0;
    void writeLarge(asked, () => {
      sent += PIECE.length;
    });
    expect(await standstill(() => sent)).toBeLessThan(BUFFERED_BYTES_MAX);
    start();
    const [response] = await once(asked, "response");
    expect(await textOf(response)).toBe(DIGEST);
  });

  it("in chunks stays in chunks", async () => {
    let framing: unknown;
    const upstream = await startUpstream(({ headers, ...rest }, response) => {
      framing = [headers["transfer-encoding"], headers["content-length"]];
      void rest;
      response.end();
    });
    const { url } = await startGateway(upstream);
    const asked = request(url, { method: "POST" });
    asked.write("a");
    asked.end("b");
    await once(asked, "response");
    expect(framing).toEqual(["chunked", undefined]);
  });

  it("in chunks arrives whole", async () => {
    const upstream = await startUpstream((asked, response) => {
      void digestOf(asked).then((digest) => response.end(digest));
    });
    const { url } = await startGateway(upstream, { gateway: { bodyBytesMax: 0 } });
    const asked = request(url, { method: "POST" });
    void writeLarge(asked);
    const [response] = await once(asked, "response");
    expect(await textOf(response)).toBe(DIGEST);
  });

  it("whose client waits for leave gets it once, after admission", async () => {
    const upstream = await startUpstream((asked, response) => {
      response.setHeader("X-Expect", asked.headers.expect ?? "none");
      asked.pipe(response);
    });
    const { url } = await startGateway(upstream);
    const client = await connectTo(url);
    onStop(() => client.end());
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    await client.until((text) => text.endsWith("\r\n\r\n"));
    expect(client.text).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hi");
    await client.until((text) => text.includes("hi\r\n0"));
    expect(client.text).toMatch(/X-Expect: none/);
  });

  it("whose client expects 100 Continue gets it before the decision, once, if a rule needs the body", async () => {
    const upstream = await startUpstream((asked, response) => asked.pipe(response));
    const { url } = await startGateway(upstream, {
      rules: [
        {
          id: "login",
          key: "body:user",
          limit: { fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } },
        },
      ],
    });
    const statuses: string[] = [];
    for (let i = 0; i < 2; i++) {
      const client = await connectTo(url);
      onStop(() => client.end());
      const type = "Content-Type: application/json\r\nContent-Length: 14";
      client.send(
        `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${type}\r\nExpect: 100-continue\r\n\r\n`,
      );
      await client.until((text) => text === "HTTP/1.1 100 Continue\r\n\r\n");
      const text = await client.send('{"user":"ann"}').closed();
      statuses.push(...[...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status));
    }
    expect(statuses).toEqual(["100", "200", "100", "429"]);
  });

  it("that is answered before its body is there leaves the client's connection usable", async () => {
    const upstream = await startUpstream((asked, response) => {
      if (asked.url === "/early") response.writeHead(403).end("no");
      else response.end("next");
    });
    const { url } = await startGateway(upstream);
    const client = await connectTo(url);
    onStop(() => client.end());
    client.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
    await client.until((text) => text.includes("no"));
    client.send("defGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.until((text) => text.includes("next"));
    expect(client.text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 403", "HTTP/1.1 200"]);
  });
});

describe("connections", () => {
  it("are kept alive and used again on both sides", async () => {
    const seen = new Set<Socket>();
    const upstream = await startUpstream((asked, response) => {
      seen.add(asked.socket);
      response.end("x");
    });
    const { url } = await startGateway(upstream);
    const client = await connectTo(url);
    onStop(() => client.end());
    for (let i = 1; i <= 20; i++) {
      client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await client.until((text) => text.split("HTTP/1.1 200").length === i + 1);
    }
    expect(seen.size).toBe(1);
  });

  it("are used again after a response whose last piece was more than the client took in one read", async () => {
    const upstream = await startUpstream((asked, response) => {
      response.write(Buffer.alloc(Number(asked.url?.slice(1)), "x"));
      response.end();
    });
    const { url } = await startGateway(upstream, { upstream: { responseTimeoutMs: 2_000 } });
    for (const bytes of [17_000, 20_000, 32_000, 60_000, 1, 100_000, 1]) {
      const answer = await fetch(new URL(`/${bytes}`, url));
      expect([answer.status, (await answer.text()).length]).toEqual([200, bytes]);
    }
  });

  it("answer pipelined requests in their order", async () => {
    const upstream = await startUpstream((asked, response) => {
      setTimeout(() => response.end(`<${asked.url}>`), asked.url === "/1" ? 60 : 0);
    });
    const { url } = await startGateway(upstream);
    const client = await connectTo(url);
    onStop(() => client.end());
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
    client.send(get("/1") + get("/2") + get("/3"));
    const text = await client.until((seen) => seen.includes("</3>"));
    expect(text.match(/<\/\d>/g)).toEqual(["</1>", "</2>", "</3>"]);
  });

  it("whose upstream says so are not used again", async () => {
    let connections = 0;
    const upstream = await startRaw((socket) => {
      connections++;
      socket.on("data", () =>
        socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"),
      );
    });
    const { url } = await startGateway(upstream);
    for (let i = 0; i < 3; i++) expect(await (await fetch(url)).text()).toBe("x");
    expect(connections).toBe(3);
  });

  it("on which the upstream says more than it was asked are not used again", async () => {
    let connections = 0;
    const answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    const upstream = await startRaw((socket) => {
      connections++;
      socket.on("data", () => socket.write(`${answer}x${answer}stolen`));
    });
    const { url } = await startGateway(upstream);
    for (let i = 0; i < 3; i++) expect(await (await fetch(url)).text()).toBe("x");
    expect(connections).toBe(3);
  });
});
