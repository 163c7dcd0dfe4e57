import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { onStop, stopAll } from "sluice-test-servers";
import { Agent, request } from "undici";
import { afterEach, describe, expect, it } from "vitest";
import { createFetch, createInterceptor } from "../../src/client/client.js";

afterEach(stopAll);

/** A server that writes what it likes to each connection once a request has arrived. Returns its URL. */
async function serve(answer: (socket: Socket, count: number) => void): Promise<string> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", () => answer(socket, ++count));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onStop(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** The lines of a response. */
const head = (status: number, ...fields: string[]) =>
  `${[`HTTP/1.1 ${status} Any`, ...fields].join("\r\n")}\r\n\r\n`;
const OK = `${head(200, "Content-Length: 2")}ok`;

describe("a client of a server", () => {
  it("that never answers gives up at its deadline, and closes the connection", async () => {
    let isClosed = false;
    const url = await serve((socket) => {
      socket.on("close", () => {
        isClosed = true;
      });
    });
    const fetch = createFetch({ deadlineMs: 100 });
    await expect(fetch(url)).rejects.toMatchObject({ code: "SLUICE_CLIENT_DEADLINE" });
    await expect.poll(() => isClosed).toBe(true);
  });

  it("that closes the connection without an answer repeats the request", async () => {
    const url = await serve((socket, count) => {
      if (count < 3) socket.destroy();
      else socket.end(OK);
    });
    const fetch = createFetch({ backoffMs: 1 });
    expect(await (await fetch(url)).text()).toBe("ok");
    expect(fetch.stats).toMatchObject({ attempts: 3, retries: 2, failures: 2 });
  });

  it("that cuts off the body of an answer leaves that to the caller, who has the response", async () => {
    const url = await serve((socket) => socket.end(`${head(200, "Content-Length: 100")}half`));
    const fetch = createFetch();
    const response = await fetch(url);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    expect(fetch.stats).toMatchObject({ attempts: 1, inFlight: 0 });
  });

  it("that cuts off the body of a refusal repeats the request", async () => {
    const url = await serve((socket, count) => {
      if (count === 1) socket.end(`${head(429, "Content-Length: 100")}half`);
      else socket.end(OK);
    });
    expect(await (await createFetch({ backoffMs: 1 })(url)).text()).toBe("ok");
  });

  it("that never ends the body of a refusal repeats the request, and drops the body", async () => {
    const url = await serve((socket, count) => {
      if (count === 1) socket.write(`${head(429, "Content-Length: 100")}half`);
      else socket.end(OK);
    });
    expect(await (await createFetch({ backoffMs: 1 })(url)).text()).toBe("ok");
  });

  it("that redirects in a circle does not go around again", async () => {
    let requests = 0;
    const url = await serve((socket) => {
      requests++;
      socket.write(head(302, "Location: /again", "Content-Length: 0"));
    });
    const fetch = createFetch({ backoffMs: 1 });
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    expect(fetch.stats).toMatchObject({ attempts: 1, failures: 0 });
    expect(requests).toBeLessThan(30);
  });

  it("that is not HTTP does not repeat the request", async () => {
    const url = await serve((socket) => socket.end("SSH-2.0-OpenSSH_9\r\n"));
    const fetch = createFetch({ backoffMs: 1 });
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    expect(fetch.stats.attempts).toBe(1);
  });

  it("that sends senseless headers answers as if they were not there", async () => {
    const many = Array.from({ length: 500 }, (_, i) => `"p${i}";r=0;t=999999999999999`).join(", ");
    const senseless = [
      [`RateLimit: ${many}`],
      ['RateLimit: "a";r=-1;t=60', "RateLimit-Policy: ;;;"],
      ["X-RateLimit-Remaining: -5", "X-RateLimit-Reset: NaN"],
      ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: -1e99"],
      ["RateLimit-Remaining: 0x10", "RateLimit-Reset: Infinity"],
      ['RateLimit: "a";r=0;t=60', "Age: 5"],
    ];
    const url = await serve((socket, count) => {
      socket.end(`${head(200, "Content-Length: 2", ...(senseless[count - 1] ?? []))}ok`);
    });
    const fetch = createFetch({ deadlineMs: 5_000 });
    for (let i = 0; i < senseless.length + 1; i++) expect((await fetch(url)).status).toBe(200);
    expect(fetch.stats).toMatchObject({ waits: 0, unsent: 0 });
  });
});

describe("the interceptor of undici", () => {
  function compose(options: Parameters<typeof createInterceptor>[0] = {}) {
    const agent = new Agent();
    onStop(() => agent.destroy());
    const interceptor = createInterceptor({ backoffMs: 1, ...options });
    return { dispatcher: agent.compose(interceptor), interceptor };
  }

  it("repeats what failed or was refused, and the caller sees one response", async () => {
    const url = await serve((socket, count) => {
      if (count === 1) socket.destroy();
      else if (count === 2) socket.end(`${head(429, "Content-Length: 2")}no`);
      else socket.end(`${head(200, "Content-Length: 2", "X-Count: 3")}ok`);
    });
    const { dispatcher, interceptor } = compose();
    const { statusCode, headers, body } = await request(url, { dispatcher });
    expect([statusCode, headers["x-count"], await body.text()]).toEqual([200, "3", "ok"]);
    expect(interceptor.stats).toMatchObject({ attempts: 3, retries: 2, inFlight: 0 });
  });

  it("returns the last refusal whole", async () => {
    const long = "x".repeat(200_000);
    const url = await serve((socket) => {
      socket.end(`${head(429, `Content-Length: ${long.length}`)}${long}`);
    });
    const { dispatcher, interceptor } = compose({ retriesMax: 1 });
    const { statusCode, body } = await request(url, { dispatcher });
    expect(statusCode).toBe(429);
    expect((await body.text()).length).toBe(long.length);
    expect(interceptor.stats.attempts).toBe(2);
  });

  it("streams a long response with back pressure", async () => {
    const long = "x".repeat(5_000_000);
    const url = await serve((socket) => {
      socket.end(`${head(200, `Content-Length: ${long.length}`)}${long}`);
    });
    const { body } = await request(url, { dispatcher: compose().dispatcher });
    expect((await body.text()).length).toBe(long.length);
  });

  it("repeats a POST only with an idempotency key, which it can make", async () => {
    const keys: (string | undefined)[] = [];
    const url = await serve((socket) => socket.destroy());
    const post = { method: "POST", body: "x" } as const;
    const without = compose();
    await expect(request(url, { ...post, dispatcher: without.dispatcher })).rejects.toThrow();
    expect(without.interceptor.stats.attempts).toBe(1);
    const made = compose({
      idempotencyKeys: () => {
        keys.push(`"${keys.length}"`);
        return keys.at(-1) as string;
      },
    });
    await expect(request(url, { ...post, dispatcher: made.dispatcher })).rejects.toThrow();
    expect(made.interceptor.stats.attempts).toBe(4);
    expect(keys).toEqual(['"0"']);
  });

  it("ends a request that its caller aborts, in flight and while it waits", async () => {
    const url = await serve(() => {});
    const { dispatcher, interceptor } = compose({ concurrencyMax: 1 });
    const controllers = [new AbortController(), new AbortController()];
    const asked = controllers.map(({ signal }) => request(url, { dispatcher, signal }));
    const results = Promise.allSettled(asked);
    await expect.poll(() => interceptor.stats).toMatchObject({ inFlight: 1, waiting: 1 });
    for (const controller of controllers.toReversed()) controller.abort();
    expect((await results).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect.poll(() => interceptor.stats).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it("gives up at the deadline", async () => {
    const url = await serve(() => {});
    const { dispatcher } = compose({ deadlineMs: 100 });
    await expect(request(url, { dispatcher })).rejects.toMatchObject({
      code: "SLUICE_CLIENT_DEADLINE",
    });
  });
});
