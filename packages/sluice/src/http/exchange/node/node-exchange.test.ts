import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MoodyStore } from "../../../../test/resilient-stand.js";
import { concurrency, fixedWindow, tokenBucket } from "../../../limits/limits.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import {
  type NodeHandler,
  type NodeRateLimit,
  type RateLimitOptions,
  rateLimit,
} from "../../adapters/node/node.js";

const running: Server[] = [];
afterEach(() => {
  for (const server of running.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(options: RateLimitOptions<IncomingMessage>, handler: NodeHandler) {
  const limit = rateLimit({ clock: new ManualClock(0), ...options });
  return { limit, url: await listen(limit, limit.wrap(handler)) };
}

async function listen(limit: NodeRateLimit, handler: ReturnType<NodeRateLimit["wrap"]>) {
  const server = createServer((request, response) =>
    request.url === "/rate_limit" ? limit.status(request, response) : handler(request, response),
  );
  running.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function leftAt(url: string): Promise<number> {
  const { rules } = (await (await fetch(`${url}/rate_limit`)).json()) as {
    rules: { remaining: number }[];
  };
  return rules[0].remaining;
}

describe("a response that says what its request cost", () => {
  it.each<[string, NodeHandler]>([
    ["setHeader", (_request, response) => response.setHeader("X-Cost", 30).end()],
    ["writeHead", (_request, response) => response.writeHead(200, { "X-Cost": "30" }).end()],
    ["both, of which the later counts", writeTwice],
  ])("is trusted, by %s", async (_how, handler) => {
    const limit = tokenBucket({ capacity: 100, refillPerSecond: 1 });
    const { url } = await serve({ limit, settle: { header: "x-cost" } }, handler);
    await (await fetch(url)).text();
    await vi.waitFor(async () => expect(await leftAt(url)).toBe(70), 20_000);
  });
});

const writeTwice: NodeHandler = (_request, response) => {
  response.setHeader("X-Cost", "99");
  response.writeHead(200, ["x-cost", "30"]).end();
};

describe("a client that hangs up while the store is asked", () => {
  it("holds nothing once the store has answered, and the handler never runs", async () => {
    const memory = memoryStore();
    const store = new MoodyStore(memory);
    store.mood = "silent";
    const limit = concurrency({ limit: 1, permitMs: 60_000 });
    let handled = 0;
    const { url } = await serve({ limit, store, timeoutMs: 60_000 }, (_request, response) => {
      handled += 1;
      response.end();
    });
    const controller = new AbortController();
    const arrived = once(running.at(-1) as Server, "request");
    const gone = fetch(url, { signal: controller.signal }).catch(() => "gone");
    const [, response] = (await arrived) as [IncomingMessage, ServerResponse];
    const closed = once(response, "close");
    await vi.waitFor(() => expect(store.calls).toHaveLength(1), 20_000);
    controller.abort();
    expect(await gone).toBe("gone");
    await closed;
    store.last.answer();
    store.mood = "later";
    await vi.waitFor(async () => expect((await fetch(url)).status).toBe(200), 20_000);
    expect(handled).toBe(1);
  });
});

describe("a connection that is cut while requests wait behind another one", () => {
  const GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

  /** Cuts a connection with three requests on it, once `isReady`; how many of them were handled. */
  async function cut(options: RateLimitOptions<IncomingMessage>, isReady: () => boolean) {
    let handled = 0;
    const { url } = await serve(options, () => {
      handled += 1;
    });
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write(GET.repeat(3));
    await vi.waitFor(() => expect(isReady()).toBe(true), 20_000);
    socket.destroy();
    await new Promise((done) => setTimeout(done, 20));
    return () => handled;
  }

  it("ends their wait, and their handlers never run", async () => {
    const clock = new ManualClock(0);
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 1 });
    let asked = 0;
    const skip = () => {
      asked += 1;
      return false;
    };
    const delay = { onExceed: "delay", delayMsMax: 5_000 } as const;
    const handled = await cut({ limit, clock, skip, ...delay }, () => asked === 3);
    clock.advance(5_000);
    await new Promise((done) => setImmediate(done));
    expect(handled()).toBe(1);
  });

  it("is seen by requests for which the store is still asked", async () => {
    const store = new MoodyStore(memoryStore());
    store.mood = "silent";
    const limit = fixedWindow({ limit: 10, windowMs: 1_000 });
    const handled = await cut({ limit, store, timeoutMs: 60_000 }, () => store.calls.length === 3);
    for (const call of store.calls) call.answer();
    await new Promise((done) => setTimeout(done, 20));
    expect(handled()).toBe(0);
  });
});

describe("an error that no framework answers", () => {
  it.each([
    ["a store that is unavailable under throw", "throw", 503],
    ["a store that is unavailable under closed, which is a refusal", "closed", 503],
    ["a store that is unavailable under open, which is not an error", "open", 200],
  ] as const)("of %s", async (_what, onStoreFailure, status) => {
    const store = new MoodyStore(memoryStore());
    store.mood = "failing";
    const errors: unknown[] = [];
    const { url } = await serve(
      {
        limit: fixedWindow({ limit: 1, windowMs: 1_000 }),
        store,
        onStoreFailure,
        onError: (error) => errors.push(error),
      },
      (_request, response) => response.end(),
    );
    const response = await fetch(url);
    expect(response.status).toBe(status);
    expect(await response.text()).not.toContain("refused");
    expect(errors).toHaveLength(onStoreFailure === "throw" ? 1 : 0);
  });

  it("goes to next where there is one, and is answered only there", async () => {
    const limit = rateLimit({
      limit: fixedWindow({ limit: 1, windowMs: 1_000 }),
      key: () => Promise.reject(new Error("broken")),
    });
    const url = await listen(limit, (request, response) =>
      limit(request, response, (error) => {
        response.statusCode = 418;
        response.end((error as Error).message);
      }),
    );
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([418, "broken"]);
  });
});
