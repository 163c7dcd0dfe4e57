import type { IncomingMessage } from "node:http";
import { connectTo, rawExchange } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import {
  closedUrl,
  eventually,
  type GatewayFixture,
  onStop,
  startGateway,
  startRaw,
  startServer,
  startUpstream,
  stopAll,
} from "../../../test/proxy-fixture.js";

afterEach(stopAll);

const PERMITS = 5;
const permits = {
  id: "permits",
  key: "ip",
  limit: { concurrency: { limit: PERMITS, permitMs: 600_000 } },
};
const two = {
  id: "two",
  key: "ip",
  limit: { fixedWindow: { limit: 2, windowMs: 3_600_000, align: "first" } },
};

/** How many units are left under the first rule. */
async function remaining({ core }: GatewayFixture): Promise<number> {
  const [state] = await core.policy.state({ method: "GET", path: "/", ip: "127.0.0.1" });
  return state.remaining as number;
}

async function untilFree(fixture: GatewayFixture): Promise<void> {
  await eventually(async () => (await remaining(fixture)) === PERMITS, "all permits back");
}

describe("a permit", () => {
  it("is held while a response is under way, and returns with its end", async () => {
    let end = () => {};
    const upstream = await startUpstream((_request, response) => {
      response.write("part");
      end = () => response.end();
    });
    const fixture = await startGateway(upstream, { rules: [permits] });
    const answer = await fetch(fixture.url);
    expect(await remaining(fixture)).toBe(PERMITS - 1);
    end();
    await answer.text();
    await untilFree(fixture);
  });

  it("returns when clients leave before, in and after the response, and the upstream is notified", async () => {
    const open = new Set<IncomingMessage>();
    const upstream = await startUpstream((asked, response) => {
      open.add(asked);
      response.on("close", () => open.delete(asked));
      if (asked.url === "/in") response.write("part");
    });
    const fixture = await startGateway(upstream, { rules: [permits] });
    for (const path of ["/before", "/in"]) {
      const clients = await Promise.all(
        [1, 2, 3, 4, 5].map(async () =>
          (await connectTo(fixture.url)).send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`),
        ),
      );
      await eventually(() => open.size === PERMITS, "all requests at the upstream");
      expect(await remaining(fixture)).toBe(0);
      for (const client of clients) client.end();
      await untilFree(fixture);
      await eventually(() => open.size === 0, "all requests gone from the upstream");
    }
  });

  it("returns when a client leaves in the middle of its body, and the upstream sees no whole request", async () => {
    let wasWhole: boolean | undefined;
    const upstream = await startUpstream((asked) => {
      asked.resume();
      asked.on("error", () => {});
      asked.on("close", () => {
        wasWhole = asked.complete;
      });
    });
    const fixture = await startGateway(upstream, { rules: [permits] });
    for (const framing of ["Content-Length: 100", "Transfer-Encoding: chunked"]) {
      wasWhole = undefined;
      const client = await connectTo(fixture.url);
      client.send(`POST / HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n5\r\nhello\r\n`);
      await eventually(async () => (await remaining(fixture)) < PERMITS);
      client.end();
      await untilFree(fixture);
      await eventually(() => wasWhole !== undefined);
      expect(wasWhole).toBe(false);
    }
  });

  it("returns when clients leave while they wait for a connection", async () => {
    const upstream = await startUpstream(() => {});
    const fixture = await startGateway(upstream, {
      rules: [permits],
      upstream: { connectionsMax: 1 },
    });
    const clients = await Promise.all([1, 2, 3, 4].map(() => connectTo(fixture.url)));
    for (const client of clients) client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await eventually(async () => (await remaining(fixture)) === 1);
    for (const client of clients) client.end();
    await untilFree(fixture);
  });

  it("of a client that left while it waited for a connection is followed by no request", async () => {
    const seen: (string | undefined)[] = [];
    let end = () => {};
    const upstream = await startUpstream((asked, response) => {
      seen.push(asked.url);
      if (asked.url === "/first") end = () => response.end("x");
      else response.end("y");
    });
    const fixture = await startGateway(upstream, {
      rules: [permits],
      upstream: { connectionsMax: 1 },
    });
    const first = fetch(`${fixture.url}/first`);
    await eventually(() => seen.length === 1);
    const client = await connectTo(fixture.url);
    client.send("GET /left HTTP/1.1\r\nHost: a\r\n\r\n");
    await eventually(async () => (await remaining(fixture)) === PERMITS - 2);
    client.end();
    await eventually(async () => (await remaining(fixture)) === PERMITS - 1);
    const last = fetch(`${fixture.url}/last`);
    end();
    expect(await (await first).text()).toBe("x");
    expect(await (await last).text()).toBe("y");
    expect(seen).toEqual(["/first", "/last"]);
  });

  it("of a pipelined request returns when its client leaves before its turn", async () => {
    const upstream = await startUpstream((asked, response) => {
      if (asked.url !== "/1") response.end("x");
    });
    const fixture = await startGateway(upstream, { rules: [permits] });
    const client = await connectTo(fixture.url);
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
    client.send(get("/1") + get("/2") + get("/3"));
    await eventually(async () => (await remaining(fixture)) < PERMITS);
    client.end();
    await untilFree(fixture);
  });

  it("returns when a client does not read the last of its response in time", async () => {
    const upstream = await startUpstream((_request, response) => {
      response.end(Buffer.alloc(20_000_000));
    });
    const fixture = await startGateway(upstream, {
      rules: [permits],
      upstream: { idleTimeoutMs: 300 },
    });
    const client = await connectTo(fixture.url);
    onStop(() => client.end());
    client.socket.pause();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await eventually(async () => (await remaining(fixture)) < PERMITS);
    await untilFree(fixture);
  });

  it("returns when the upstream fails, whenever it does", async () => {
    const fixtures = [
      await startGateway(await closedUrl(), { rules: [permits] }),
      await startGateway(await startRaw((socket) => socket.destroy()), { rules: [permits] }),
      await startGateway(
        await startRaw((socket) =>
          socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")),
        ),
        { rules: [permits] },
      ),
    ];
    for (const fixture of fixtures) {
      await fetch(fixture.url)
        .then((answer) => answer.text())
        .catch(() => {});
      await untilFree(fixture);
    }
  });
});

describe("a refusal", () => {
  it("is answered without asking the upstream, and the connection goes on", async () => {
    let asked = 0;
    const upstream = await startUpstream((_request, response) => {
      asked++;
      response.end("x");
    });
    const { url } = await startGateway(upstream, { rules: [two] });
    const client = await connectTo(url);
    onStop(() => client.end());
    for (let i = 1; i <= 4; i++) {
      client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
      await client.until((text) => text.split("HTTP/1.1 ").length === i + 1 && /[x}]$/.test(text));
    }
    expect(client.text.match(/HTTP\/1\.1 \d+/g)).toEqual(
      [200, 200, 429, 429].map((status) => `HTTP/1.1 ${status}`),
    );
    expect(client.text).toMatch(/\r\nRetry-After: \d+\r\n/);
    expect(client.text).toMatch(/\r\nContent-Type: application\/problem\+json\r\n/);
    expect(asked).toBe(2);
  });

  it("closes the connection of a client that waits for leave, since its body will not come", async () => {
    const { url } = await startGateway(await closedUrl(), {
      rules: [
        { ...two, limit: { fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } } },
      ],
    });
    await fetch(url);
    const head = "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    const client = await connectTo(url);
    const text = await client.send(`POST / HTTP/1.1\r\nHost: a\r\n${head}`).closed();
    client.end();
    expect(text).toMatch(/^HTTP\/1\.1 429 /);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
  });

  it("is read by a client that still sends a large body", async () => {
    const upstream = await startUpstream((_request, response) => void response.end("x"));
    const { url } = await startGateway(upstream, {
      rules: [
        { ...two, limit: { fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } } },
      ],
    });
    await (await fetch(url)).text();
    // It reads nothing before all is sent: a reset would take the answer from it.
    const client = await connectTo(url);
    client.socket.pause();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n");
    for (let i = 0; i < 8; i++) client.send("x".repeat(1_000_000));
    await new Promise<void>((resolve) => client.socket.write("", () => resolve()));
    client.socket.resume();
    const text = await client.closed();
    client.end();
    expect(text).toMatch(/^HTTP\/1\.1 429 /);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
    expect(text).toMatch(/}$/);
  });
});

describe("RateLimit headers", () => {
  it("of the gateway replace those of the upstream", async () => {
    const upstream = await startUpstream((_request, response) => {
      response.setHeader("RateLimit", "theirs");
      response.setHeader("ratelimit-limit", "theirs");
      response.setHeader("X-RateLimit-Remaining", "theirs");
      response.setHeader("X-Other", "theirs");
      response.end("x");
    });
    const { url } = await startGateway(upstream, { rules: [two] });
    const { headers } = await fetch(url);
    expect(headers.get("ratelimit")).toMatch(/^"two";r=1;t=\d+$/);
    expect(headers.get("ratelimit-limit")).toBeNull();
    expect(headers.get("x-ratelimit-remaining")).toBe("1");
    expect(headers.get("x-other")).toBe("theirs");
  });

  it("of the upstream stay where no rule matches", async () => {
    const upstream = await startUpstream((_request, response) => {
      response.setHeader("RateLimit", "theirs");
      response.end("x");
    });
    const { url } = await startGateway(upstream);
    expect((await fetch(url)).headers.get("ratelimit")).toBe("theirs");
  });

  it("are on problems of the gateway too", async () => {
    const { url } = await startGateway(await closedUrl(), { rules: [two] });
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get("x-ratelimit-remaining")]).toEqual([502, "1"]);
  });
});

describe("a rule", () => {
  it("sees the status, the fields and the bytes of responses", async () => {
    const upstream = await startUpstream((asked, response) => {
      response.statusCode = asked.url === "/bad" ? 401 : 200;
      response.setHeader("X-Cost", "3");
      response.write("hello");
      response.end("world");
    });
    const window = { fixedWindow: { limit: 100, windowMs: 3_600_000, align: "first" } };
    const cases = [
      { rule: { when: { status: [401] } }, left: [100, 99] },
      { rule: { cost: 10, settle: { header: "x-cost" } }, left: [97, 94] },
      { rule: { cost: 1, settle: "bytes" }, left: [90, 80] },
    ];
    for (const { rule, left } of cases) {
      const fixture = await startGateway(upstream, {
        rules: [{ id: "r", key: "ip", limit: window, ...rule }],
      });
      for (const [i, path] of ["/", "/bad"].entries()) {
        await (await fetch(fixture.url + path)).text();
        await eventually(async () => (await remaining(fixture)) === left[i], `${left[i]} left`);
      }
    }
  });

  it("that delays holds requests back, and forgets those whose client leaves", async () => {
    const seen: (string | undefined)[] = [];
    const upstream = await startUpstream((asked, response) => {
      seen.push(asked.url);
      response.end("x");
    });
    const shape = { leakyBucket: { ratePerSecond: 4, queueSize: 10 } };
    const fixture = await startGateway(upstream, { rules: [{ id: "s", key: "ip", limit: shape }] });
    await fetch(`${fixture.url}/first`);
    const startMs = performance.now();
    const client = await connectTo(fixture.url);
    const left = await remaining(fixture);
    client.send("GET /left HTTP/1.1\r\nHost: a\r\n\r\n");
    await eventually(
      async () => (await remaining(fixture)) < left,
      "the wait of the one that leaves",
    );
    const last = fetch(`${fixture.url}/last`);
    client.end();
    expect((await last).status).toBe(200);
    expect(performance.now() - startMs).toBeGreaterThan(200);
    expect(seen).toEqual(["/first", "/last"]);
  });
});

describe("GET /rate_limit", () => {
  it("shows callers what they have left, and costs nothing", async () => {
    const { url } = await startGateway(await closedUrl(), { rules: [two] });
    await fetch(url);
    for (let i = 0; i < 3; i++) {
      const answer = await fetch(`${url}/rate_limit`);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ rules: [{ rule: "two", remaining: 1 }] });
    }
  });

  it("goes on to the upstream where it is switched off", async () => {
    const upstream = await startUpstream((asked, response) => void response.end(asked.url));
    const { url } = await startGateway(upstream, { gateway: { rateLimitPath: undefined } });
    expect(await (await fetch(`${url}/rate_limit`)).text()).toBe("/rate_limit");
  });
});

describe("bounds", () => {
  it("refuse a body that announces to be too large, before the upstream hears of it", async () => {
    let asked = 0;
    const upstream = await startUpstream((_request, response) => {
      asked++;
      response.end();
    });
    const { url } = await startGateway(upstream, { gateway: { bodyBytesMax: 10 } });
    const text = await rawExchange(
      url,
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n01234567890",
    );
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
    expect(asked).toBe(0);
    expect((await fetch(url, { method: "POST", body: "0123456789" })).status).toBe(200);
  });

  it("refuse a body in chunks as soon as it is too large, and break the upstream's off", async () => {
    let wasWhole: boolean | undefined;
    const upstream = await startUpstream((asked) => {
      asked.resume();
      asked.on("error", () => {});
      asked.on("close", () => {
        wasWhole = asked.complete;
      });
    });
    const { url } = await startGateway(upstream, { gateway: { bodyBytesMax: 10 } });
    const client = await connectTo(url);
    onStop(() => client.end());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n");
    client.send("6\r\n012345\r\n");
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 413 /);
    await eventually(() => wasWhole !== undefined);
    expect(wasWhole).toBe(false);
  });

  it("refuse more fields than allowed instead of dropping any", async () => {
    const { url: upstream } = await startServer((asked, response) =>
      response.end(`${asked.rawHeaders.length / 2}`),
    );
    const { url } = await startGateway(upstream, { gateway: { headersMax: 50 } });
    const ask = (fields: number) =>
      rawExchange(
        url,
        `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${"X: 1\r\n".repeat(fields - 2)}\r\n`,
      );
    expect(await ask(50)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await ask(51)).toMatch(/^HTTP\/1\.1 431 /);
  });

  it("let through as many fields as allowed, also more than Node would", async () => {
    const fields = 2_500;
    let seen = 0;
    const { url: upstream, server } = await startServer((asked, response) => {
      seen = asked.rawHeaders.filter((name) => name === "X").length;
      response.end("x");
    });
    server.maxHeadersCount = 0;
    const { url } = await startGateway(upstream, { gateway: { headersMax: 3_000 } });
    const head = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
    await rawExchange(url, `${head}${"X:\r\n".repeat(fields)}\r\n`);
    expect(seen).toBe(fields);
  });
});
