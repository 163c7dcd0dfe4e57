import { Readable, Writable } from "node:stream";
import { type Span, trace } from "@opentelemetry/api";
import { onStop, stopAll } from "sluice-test-servers";
import { Agent, Client, Pool, request, stream } from "undici";
import { afterEach, describe, expect, it } from "vitest";
import { createInterceptor } from "../../src/client/client.js";
import { head, OK, serve } from "./raw-server.js";

afterEach(stopAll);

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

  it("sends the headers of an iterator with each attempt", async () => {
    const seen: string[] = [];
    const url = await serve((socket, count, data) => {
      seen.push(/x-kind: .*/i.exec(data)?.[0] ?? "none");
      socket.end(count === 1 ? head(500, "Content-Length: 0") : OK);
    });
    const headers = new Map([["X-Kind", "a"]]).entries();
    const { body } = await request(url, { headers, dispatcher: compose().dispatcher });
    expect([await body.text(), ...seen]).toEqual(["ok", "X-Kind: a", "X-Kind: a"]);
  });

  it("rejects, and sends nothing, if `partition` does not return a string", async () => {
    const { dispatcher, interceptor } = compose({ partition: () => 5 as unknown as string });
    const asked = request("http://127.0.0.1:1/", { dispatcher });
    await expect(asked).rejects.toThrow("partition: must return a string, got 5");
    expect(interceptor.stats.attempts).toBe(0);
  });

  it("passes hints on, and decides on the response that follows them", async () => {
    const url = await serve((socket, count) => {
      socket.write(head(103, "X-Hint: 1"));
      socket.write(count === 1 ? head(429, "Content-Length: 0") : OK);
    });
    const hints: number[] = [];
    const { dispatcher, interceptor } = compose();
    const { statusCode, body } = await request(url, {
      dispatcher,
      onInfo: ({ statusCode }) => hints.push(statusCode),
    });
    expect([statusCode, await body.text(), hints]).toEqual([200, "ok", [103, 103]]);
    expect(interceptor.stats).toMatchObject({ attempts: 2, retries: 1, inFlight: 0 });
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

  it("drops the body of a refusal that does not end, and closes the connection", async () => {
    let isClosed = false;
    const url = await serve((socket, count) => {
      if (count > 1) {
        socket.end(OK);
        return;
      }
      socket.on("close", () => {
        isClosed = true;
      });
      socket.write(`${head(429, "Content-Length: 100")}half`);
    });
    const { body } = await request(url, { dispatcher: compose().dispatcher });
    expect(await body.text()).toBe("ok");
    await expect.poll(() => isClosed).toBe(true);
  });

  it("sends nothing if its caller aborts it when its turn has come", async () => {
    const answers: (() => void)[] = [];
    const url = await serve((socket) => answers.push(() => socket.write(OK)));
    const { signal, abort } = aborting();
    const { dispatcher } = compose({
      concurrencyMax: 1,
      onEvent: ({ type }) => type === "waited" && abort(),
    });
    const first = request(url, { dispatcher });
    const asked = request(url, { dispatcher, signal });
    await expect.poll(() => answers.length).toBe(1);
    answers[0]?.();
    await (await first).body.dump();
    await expect(asked).rejects.toMatchObject({ name: "AbortError" });
    expect(answers).toHaveLength(1);
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
    const empty = { ...post, headers: { "Idempotency-Key": "" }, dispatcher: without.dispatcher };
    await expect(request(url, empty)).rejects.toThrow();
    expect(without.interceptor.stats.attempts).toBe(2);
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

  it("gives up at the deadline, and when its caller aborts, before there is a connection", async () => {
    const url = await serve(() => {});
    const pool = new Pool(url, { connections: 1, pipelining: 1 });
    onStop(() => pool.destroy());
    const interceptor = createInterceptor({ deadlineMs: 100, retriesMax: 0 });
    const dispatcher = pool.compose(interceptor);
    // It never ends, and has the only connection.
    pool.request({ method: "GET", path: "/" }).catch(() => {});
    const get = { method: "GET", path: "/" } as const;
    await expect(dispatcher.request(get)).rejects.toMatchObject({ code: "SLUICE_CLIENT_DEADLINE" });
    const { signal, abort } = aborting();
    const aborted = dispatcher.request({ ...get, signal });
    abort();
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    expect(interceptor.stats).toMatchObject({ attempts: 2, inFlight: 0 });
  });

  it("gives up at the deadline while the connection is not made", async () => {
    const agent = new Agent({ connect: () => {} });
    onStop(() => agent.destroy());
    const dispatcher = agent.compose(createInterceptor({ deadlineMs: 100, retriesMax: 0 }));
    await expect(request("http://127.0.0.1:9/", { dispatcher })).rejects.toMatchObject({
      code: "SLUICE_CLIENT_DEADLINE",
    });
  });

  it("keeps pools and clients apart, which don't say what origin they connect to", async () => {
    trace.setGlobalTracerProvider({
      getTracer: () => ({ startSpan: () => NO_SPAN, startActiveSpan: () => NO_SPAN as never }),
    });
    onStop(() => trace.disable());
    const interceptor = createInterceptor();
    const composed = await Promise.all(
      [Pool, Client].map(async (Kind) => {
        const dispatcher = new Kind(new URL(await serve((socket) => socket.write(OK))).origin);
        onStop(() => dispatcher.destroy());
        return dispatcher.compose(interceptor);
      }),
    );
    for (const dispatcher of composed) {
      for (let i = 0; i < 3; i++) {
        const { body } = await dispatcher.request({ method: "GET", path: "/" });
        expect(await body.text()).toBe("ok");
      }
    }
    expect(interceptor.origins).toMatchObject([
      { origin: "dispatcher 1", inFlight: 0 },
      { origin: "dispatcher 2", inFlight: 0 },
    ]);
  });

  it("takes an origin for the same, as a string or as a URL", async () => {
    const url = await serve((socket) => socket.write(OK));
    const { dispatcher, interceptor } = compose();
    const { origin } = new URL(url);
    for (const each of [origin, new URL(url)]) {
      const options = { origin: each, path: "/", method: "GET" } as const;
      const { body } = await dispatcher.request(options);
      await body.dump();
    }
    expect(interceptor.origins.map((each) => each.origin)).toEqual([origin]);
  });

  it("delivers to a stream, and rejects with what its factory throws", async () => {
    const url = await serve((socket, count) => {
      socket.end(count === 1 ? OK : `${head(429, "Content-Length: 2")}no`);
    });
    const { dispatcher, interceptor } = compose({ retriesMax: 0 });
    const written: Buffer[] = [];
    const sink = new Writable({
      write: (chunk, _encoding, done) => {
        written.push(chunk);
        done();
      },
    });
    await stream(url, { dispatcher, method: "GET" }, () => sink);
    expect(Buffer.concat(written).toString()).toBe("ok");
    const thrown = new Error("no place to write to");
    const failing = stream(url, { dispatcher, method: "GET" }, () => {
      throw thrown;
    });
    await expect(failing).rejects.toBe(thrown);
    expect(interceptor.stats).toMatchObject({ attempts: 2, inFlight: 0 });
  });

  it("says what to do where a body can't be sent again", async () => {
    const url = await serve((socket) => socket.destroy());
    const { dispatcher } = compose();
    const body = Readable.from(["x"]);
    await expect(request(url, { dispatcher, method: "PUT", body })).rejects.toThrow(
      /pass a string or a buffer/,
    );
  });
});

const NO_SPAN = { setAttribute() {}, setStatus() {}, end() {} } as unknown as Span;

function aborting() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
