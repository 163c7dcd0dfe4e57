// One list of guarantees that every framework keeps, run against real servers: what responses carry,
// who is counted, and that whatever a request holds is settled however it ends. Time is moved by a
// ManualClock only.

import { connect } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { CancelTimer } from "../../src/base/clock.js";
import { solveChallenge } from "../../src/http/challenge/proof-of-work.js";
import { concurrency, fixedWindow, type Limit, tokenBucket } from "../../src/limits/limits.js";
import { parseRules } from "../../src/rules/parse/parse.js";
import { createPolicy } from "../../src/rules/policy/create-policy.js";
import { memoryStore } from "../../src/stores/memory/memory-store.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import type {
  CaseHandler,
  CaseReply,
  CaseRequest,
  FrameworkHarness,
  LimitArguments,
  RunningServer,
} from "./framework-harness.js";

const START_MS = Date.UTC(2026, 0, 1);
const three = () => fixedWindow({ limit: 3, windowMs: 60_000 });
const one = () => fixedWindow({ limit: 1, windowMs: 60_000 });

/** A clock that says how many timers are waiting on it. */
class WatchedClock extends ManualClock {
  pending = 0;

  override after(delayMs: number, task: () => void): CancelTimer {
    this.pending += 1;
    let isDone = false;
    const end = () => {
      if (!isDone) this.pending -= 1;
      isDone = true;
    };
    const cancel = super.after(delayMs, () => {
      end();
      task();
    });
    return () => {
      end();
      cancel();
    };
  }
}

/** What a case works with. */
interface Stage {
  readonly clock: WatchedClock;
  /** Requests that reached the handler. */
  readonly seen: CaseRequest[];
  /** Starts a server over a policy of these rules. */
  serveRules(rules: readonly object[], handle?: CaseHandler, http?: object): Promise<Caller>;
  /** Starts a server over the options of the simple case. */
  serve(options: object, handle?: CaseHandler): Promise<Caller>;
}

/** Sends a request to the server of the case. */
interface Caller {
  (path?: string, init?: RequestInit): Promise<Response>;
  readonly url: string;
}

type Case = readonly [name: string, run: (stage: Stage) => Promise<void>];

/** Runs all cases that the framework can have. */
export function describeFramework(harness: FrameworkHarness): void {
  const { without = {} } = harness;
  describe(`rateLimit in ${harness.name}`, () => {
    const running: RunningServer[] = [];
    afterEach(async () => {
      await Promise.all(running.splice(0).map((server) => server.close()));
    });
    const names = cases.map(([name]) => name);
    it("leaves out only cases that there are", () => {
      expect(names).toEqual(expect.arrayContaining(Object.keys(without)));
    });
    const present = cases.filter(([name]) => !Object.hasOwn(without, name));
    it.each(present)("%s", async (_name, run) => run(toStage(harness, running)));
  });
}

function toStage(harness: FrameworkHarness, running: RunningServer[]): Stage {
  const clock = new WatchedClock(START_MS);
  // Small: setting memory aside for a million keys takes longer than most cases.
  const store = memoryStore({ keysMax: 1_000 });
  const seen: CaseRequest[] = [];
  const start = async (limit: LimitArguments, handle: CaseHandler): Promise<Caller> => {
    const server = await harness.start(limit, (request) => {
      seen.push(request);
      return handle(request);
    });
    running.push(server);
    const call = (path = "/", init = {}) => {
      const answered = fetch(`${server.url}${path}`, init);
      // A case that fails early leaves requests behind, which end with their server.
      answered.catch(() => {});
      return answered;
    };
    return Object.assign(call, { url: server.url });
  };
  return {
    clock,
    seen,
    serveRules: (rules, handle = greet, http) => {
      const policy = createPolicy({ rules: parseRules({ version: 1, rules }), clock, store });
      return start(http === undefined ? [policy] : [policy, http], handle);
    },
    serve: (options, handle = greet) => start([{ clock, store, ...options }], handle),
  };
}

const greet = (): CaseReply => ({ body: "hello" });

/** The handler's answer to one request, given when the test says so. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Sends a request and disconnects once `when` is true. */
async function hangUp(call: Caller, path: string, when: () => boolean): Promise<void> {
  const controller = new AbortController();
  const gone = call(path, { signal: controller.signal }).then(
    (response) => response.text(),
    () => "gone",
  );
  await vi.waitFor(() => expect(when()).toBe(true), 20_000);
  controller.abort();
  await gone.catch(() => {});
}

/** Waits until the permit that a request held is free: the server learns of an end a little later. */
function untilFree(call: Caller, path = "/"): Promise<void> {
  return vi.waitFor(async () => expect((await call(path)).status).toBe(200), { timeout: 5_000 });
}

function post(body: object): RequestInit {
  const headers = { "content-type": "application/json" };
  return { method: "POST", headers, body: JSON.stringify(body) };
}

/** Posts JSON after `100 Continue`; returns all that was answered. */
function sendAfterLeave(url: string, body: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").setEncoding("latin1");
  const type = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
  socket.write(
    `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\n${type}\r\n\r\n`,
  );
  let text = "";
  return new Promise((resolve, reject) => {
    socket.on("data", (piece) => {
      if (text === "") socket.write(body);
      text += piece;
    });
    socket.on("error", reject).on("end", () => resolve(text));
  });
}

async function statuses(call: Caller, paths: readonly string[]): Promise<number[]> {
  const found: number[] = [];
  for (const path of paths) {
    const response = await call(path);
    await response.arrayBuffer();
    found.push(response.status);
  }
  return found;
}

const permits = (limit = 1): Limit => concurrency({ limit, permitMs: 60_000 });

const cases: readonly Case[] = [
  [
    "shows an admitted caller what is left, and leaves the response as it is",
    async ({ serve }) => {
      const headers = { "x-own": "yes", "content-type": "text/plain; charset=utf-8" };
      const call = await serve({ limit: three() }, () => ({ status: 201, headers, body: "made" }));
      const response = await call();
      expect(response.status).toBe(201);
      expect(response.headers.get("x-own")).toBe("yes");
      expect(response.headers.get("ratelimit-policy")).toBe('"default";q=3;w=60');
      expect(response.headers.get("ratelimit")).toBe('"default";r=2;t=60');
      expect(response.headers.get("x-ratelimit-limit")).toBe("3");
      expect(response.headers.get("x-ratelimit-remaining")).toBe("2");
      expect(response.headers.get("x-ratelimit-reset")).toBe(String(START_MS / 1000 + 60));
      expect(response.headers.get("retry-after")).toBeNull();
      expect(await response.text()).toBe("made");
    },
  ],
  [
    "offers a challenge beyond the limit, and takes its pass in a header and as a cookie, once",
    async ({ serve, seen }) => {
      const challenge = { secrets: "a secret of at least thirty-two characters", difficulty: 2 };
      const call = await serve({ limit: one(), onExceed: "challenge", challenge });
      const send = (headers: Record<string, string> = {}) => call("/", { headers });
      const solve = async () => {
        const body = (await (await send()).json()) as {
          challenge: { token: string; bits: number };
        };
        return solveChallenge(body.challenge);
      };
      expect((await send()).status).toBe(200);
      const pass = await solve();
      expect((await send({ "sluice-pass": pass })).status).toBe(200);
      expect((await send({ "sluice-pass": pass })).status).toBe(429);
      const kept = await send({ "sluice-solution": await solve() });
      expect(kept.status).toBe(200);
      const [cookie] = kept.headers.get("set-cookie")?.split(";") ?? [];
      expect((await send({ cookie: cookie ?? "" })).status).toBe(200);
      expect(seen.length).toBe(3);
      const page = await send({ accept: "text/html" });
      expect(page.status).toBe(429);
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; /);
      expect(await page.text()).toMatch(/^<!doctype html>/);
    },
  ],
  [
    "refuses with 429, the headers and a problem body, and the handler never runs",
    async ({ serve, seen }) => {
      const call = await serve({ limit: three() });
      expect(await statuses(call, ["/", "/", "/"])).toEqual([200, 200, 200]);
      const response = await call();
      expect(response.status).toBe(429);
      expect(response.headers.get("retry-after")).toBe("60");
      expect(response.headers.get("ratelimit")).toBe('"default";r=0;t=60');
      expect(response.headers.get("x-ratelimit-remaining")).toBe("0");
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("content-type")).toMatch(/^application\/problem\+json/);
      const text = await response.text();
      expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
      expect(JSON.parse(text)).toMatchObject({
        type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        status: 429,
        code: "RATE_LIMIT_EXCEEDED",
        "violated-policies": ["default"],
      });
      expect(seen).toHaveLength(3);
    },
  ],
  [
    "admits again exactly when Retry-After says so",
    async ({ serve, clock }) => {
      const call = await serve({ limit: one() });
      expect(await statuses(call, ["/", "/"])).toEqual([200, 429]);
      clock.advance(59_999);
      expect(await statuses(call, ["/"])).toEqual([429]);
      clock.advance(1);
      expect(await statuses(call, ["/"])).toEqual([200]);
    },
  ],
  [
    "counts each caller apart, by what the rule says",
    async ({ serveRules }) => {
      const call = await serveRules([{ id: "by-key", key: "header:x-caller", limit: one() }]);
      const as = async (caller: string) =>
        (await call("/", { headers: { "x-caller": caller } })).status;
      expect([await as("a"), await as("b"), await as("a"), await as("b")]).toEqual([
        200, 200, 429, 429,
      ]);
    },
  ],
  [
    "finds the client behind a proxy that is trusted, and not behind one that is not",
    async ({ serveRules }) => {
      const rules = [{ id: "by-ip", key: "ip", limit: one() }];
      const trusting = await serveRules(rules, greet, {
        identity: { trustedProxies: ["loopback"] },
      });
      const plain = await serveRules(rules);
      const through = async (call: Caller, client: string) =>
        (await call("/", { headers: { "x-forwarded-for": client } })).status;
      expect(await through(trusting, "203.0.113.1")).toBe(200);
      expect(await through(trusting, "203.0.113.2")).toBe(200);
      expect(await through(trusting, "203.0.113.1")).toBe(429);
      expect(await through(plain, "203.0.113.1")).toBe(200);
      expect(await through(plain, "203.0.113.2")).toBe(429);
    },
  ],
  [
    "holds rules to their paths and methods, however the path is written",
    async ({ serveRules }) => {
      const match = { path: "/login", methods: ["GET"] };
      const call = await serveRules([{ id: "login", match, limit: one() }]);
      expect(await statuses(call, ["/", "/", "/login?next=/"])).toEqual([200, 200, 200]);
      expect(await statuses(call, ["/login", "//login", "/login/", "/%6cogin"])).toEqual([
        429, 429, 429, 429,
      ]);
      expect((await call("/login", { method: "POST" })).status).toBe(200);
    },
  ],
  [
    "counts by a function of the request, synchronously or later, and not at all where it says nothing",
    async ({ serve }) => {
      let key: unknown = "a";
      const call = await serve({ limit: one(), key: () => key });
      expect(await statuses(call, ["/", "/"])).toEqual([200, 429]);
      key = Promise.resolve("b");
      expect(await statuses(call, ["/", "/"])).toEqual([200, 429]);
      key = undefined;
      expect(await statuses(call, ["/", "/"])).toEqual([200, 200]);
    },
  ],
  [
    "lets pass what is skipped, without headers and without counting it",
    async ({ serve }) => {
      let isSkipped = true;
      const call = await serve({ limit: one(), skip: () => isSkipped });
      const response = await call();
      expect([response.status, response.headers.get("ratelimit")]).toEqual([200, null]);
      isSkipped = false;
      expect(await statuses(call, ["/", "/"])).toEqual([200, 429]);
    },
  ],
  [
    "refuses a request without a value for its rule's key, if the rule says so",
    async ({ serveRules, seen }) => {
      const rule = { id: "keyed", key: "header:x-caller", onMissing: "refuse", limit: three() };
      const call = await serveRules([rule]);
      const response = await call();
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({ code: "IDENTITY_MISSING" });
      expect(seen).toEqual([]);
    },
  ],
  [
    "releases a permit when the response is out",
    async ({ serve }) => {
      const call = await serve({ limit: permits() });
      for (let i = 0; i < 5; i++) await untilFree(call);
    },
  ],
  [
    "holds a place while the handler works, and refuses the next",
    async ({ serve, seen }) => {
      const { opened, open } = gate();
      const handle = async () => {
        await opened;
        return { body: "done" };
      };
      const call = await serve({ limit: permits() }, handle);
      const first = call();
      await vi.waitFor(() => expect(seen).toHaveLength(1), 20_000);
      expect((await call()).status).toBe(429);
      open();
      expect(await (await first).text()).toBe("done");
      await untilFree(call);
    },
  ],
  [
    "releases a permit when the handler throws, and leaves the error to the framework",
    async ({ serve }) => {
      const call = await serve({ limit: permits() }, ({ target }) => {
        if (target === "/broken") throw new Error("broken");
        return greet();
      });
      expect(await statuses(call, ["/broken"])).toEqual([500]);
      await untilFree(call);
    },
  ],
  [
    "releases a permit when the client hangs up while the handler works",
    async ({ serve, seen }) => {
      const { opened, open } = gate();
      const call = await serve({ limit: permits() }, async ({ target }) => {
        if (target === "/slow") await opened;
        return greet();
      });
      await hangUp(call, "/slow", () => seen.length === 1);
      await untilFree(call);
      open();
    },
  ],
  [
    "asks no handler for a client that hangs up while its request is decided",
    async ({ serve, seen }) => {
      const { opened, open } = gate();
      const asked = vi.fn();
      const key = async () => {
        asked();
        await opened;
        return "all";
      };
      const call = await serve({ limit: permits(), key }, () => greet());
      await hangUp(call, "/gone", () => asked.mock.calls.length === 1);
      // The server learns of it a little later than the client.
      await new Promise((done) => setTimeout(done, 50));
      open();
      await untilFree(call);
      expect(seen.filter(({ target }) => target.endsWith("/gone"))).toEqual([]);
    },
  ],
  [
    "holds a permit while a response is streamed, and releases it at its end",
    async ({ serve }) => {
      const { opened, open } = gate();
      const call = await serve({ limit: permits() }, ({ target }) =>
        target === "/stream" ? { body: pieces(opened) } : greet(),
      );
      const streamed = await call("/stream");
      expect(streamed.status).toBe(200);
      expect((await call()).status).toBe(429);
      open();
      expect(await streamed.text()).toBe("first;last");
      await untilFree(call);
    },
  ],
  [
    "releases permits that requests hold behind another one on a connection that is cut",
    async ({ serve, seen }) => {
      const never = new Promise<CaseReply>(() => {});
      const call = await serve({ limit: permits(20) }, ({ target }) =>
        target === "/first" ? never : greet(),
      );
      const places = async () => (await peekLeft(call)) === 20;
      const socket = connect(Number(new URL((await call("/rate_limit")).url).port), "127.0.0.1");
      const queued = "GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(15);
      socket.write(`GET /first HTTP/1.1\r\nHost: localhost\r\n\r\n${queued}`);
      await vi.waitFor(() => expect(seen).toHaveLength(16), 20_000);
      socket.destroy();
      await vi.waitFor(async () => expect(await places()).toBe(true), { timeout: 3_000 });
    },
  ],
  [
    "releases a permit when the client hangs up in the middle of a stream",
    async ({ serve }) => {
      const { opened, open } = gate();
      const call = await serve({ limit: permits() }, ({ target }) =>
        target === "/stream" ? { body: pieces(opened) } : greet(),
      );
      const controller = new AbortController();
      const streamed = await call("/stream", { signal: controller.signal });
      expect((await call()).status).toBe(429);
      controller.abort();
      await streamed.text().catch(() => {});
      await untilFree(call);
      open();
    },
  ],
  [
    "counts only the responses that `when` names",
    async ({ serveRules }) => {
      const rule = { id: "guesses", when: { status: [401] }, limit: one() };
      const call = await serveRules([rule], ({ target }) => ({
        status: target === "/wrong" ? 401 : 200,
        body: "answer",
      }));
      for (let i = 0; i < 3; i++) await untilFree(call);
      await vi.waitFor(async () => expect((await call("/wrong")).status).toBe(401), 20_000);
      expect(await statuses(call, ["/", "/"])).toEqual([429, 429]);
    },
  ],
  [
    "counts the status that the framework gives to an error",
    async ({ serveRules }) => {
      const rule = { id: "failures", when: { status: ["5xx"] }, limit: one() };
      const call = await serveRules([rule], ({ target }) => {
        if (target === "/broken") throw new Error("broken");
        return greet();
      });
      for (let i = 0; i < 3; i++) await untilFree(call);
      await vi.waitFor(async () => expect((await call("/broken")).status).toBe(500), 20_000);
      expect(await statuses(call, ["/", "/"])).toEqual([429, 429]);
    },
  ],
  [
    "charges the bytes that a response really had",
    async ({ serveRules, clock }) => {
      const limit = tokenBucket({ capacity: 100, refillPerSecond: 1 });
      const rule = { id: "bytes", settle: "bytes", limit };
      const { opened, open } = gate();
      open();
      const call = await serveRules([rule], ({ target }) =>
        target === "/stream" ? { body: pieces(opened) } : { body: "x".repeat(40) },
      );
      const left = async (path: string) => {
        const response = await call(path);
        await response.arrayBuffer();
        return Number(response.headers.get("x-ratelimit-remaining"));
      };
      expect(await left("/")).toBe(99);
      await vi.waitFor(async () => expect(await peekLeft(call)).toBe(60), 20_000);
      expect(await left("/stream")).toBe(59);
      await vi.waitFor(async () => expect(await peekLeft(call)).toBe(50), 20_000);
      expect(clock.now()).toBe(START_MS);
    },
  ],
  [
    "charges what the body of a response says, if it is JSON that is not compressed",
    async ({ serveRules }) => {
      const limit = tokenBucket({ capacity: 100, refillPerSecond: 1 });
      const settle = { json: "usage.total_tokens" };
      const { opened, open } = gate();
      open();
      const json = { "content-type": "application/json" };
      const replies: Record<string, CaseReply> = {
        "/json": { headers: json, body: '{"text":"é","usage":{"total_tokens":40}}' },
        "/stream": {
          headers: { "content-type": "text/event-stream" },
          body: pieces(opened, ['data: {"usage":{"total_', 'tokens":10}}\n\ndata: [DONE]\n\n']),
        },
        "/gzip": { headers: { ...json, "content-encoding": "gzip" }, body: '{"usage":1}' },
      };
      const rule = { id: "tokens", cost: 5, settle, limit };
      const call = await serveRules([rule], ({ target }) => replies[target] ?? greet());
      const left = async (path: string, expected: number) => {
        // What claims to be compressed and is not is an error of the client.
        await (await call(path)).arrayBuffer().catch(() => {});
        await vi.waitFor(async () => expect(await peekLeft(call)).toBe(expected), 20_000);
      };
      await left("/json", 60);
      await left("/stream", 50);
      await left("/gzip", 45);
      await left("/text", 40);
    },
  ],
  [
    "charges what the handler says it really cost",
    async ({ serveRules, seen }) => {
      const limit = tokenBucket({ capacity: 100, refillPerSecond: 1 });
      const call = await serveRules([{ id: "tokens", settle: "code", limit }], (request) => {
        request.rateLimit?.settle(30);
        return greet();
      });
      await (await call()).text();
      expect(seen[0].rateLimit).toMatchObject({ limit: 100, used: 1, remaining: 99 });
      await vi.waitFor(async () => expect(await peekLeft(call)).toBe(70), 20_000);
    },
  ],
  [
    "delays what is beyond the limit until its turn",
    async ({ serveRules, clock, seen }) => {
      const call = await serveRules([{ id: "slow", ...slow }]);
      expect((await call()).status).toBe(200);
      const second = call();
      await vi.waitFor(() => expect(clock.pending).toBe(1), 20_000);
      expect(seen).toHaveLength(1);
      clock.advance(999);
      expect(seen).toHaveLength(1);
      clock.advance(1);
      expect((await second).status).toBe(200);
      expect(seen).toHaveLength(2);
    },
  ],
  [
    "forgets a request that hangs up while it waits",
    async ({ serve, clock, seen }) => {
      const call = await serve(slow);
      expect((await call()).status).toBe(200);
      await hangUp(call, "/", () => clock.pending === 1);
      await vi.waitFor(() => expect(clock.pending).toBe(0), 20_000);
      clock.advance(1_000);
      expect(seen).toHaveLength(1);
    },
  ],
  [
    "refuses what would wait beyond `delayedMax`",
    async ({ serve, clock }) => {
      const call = await serve({ ...slow, delayedMax: 1 });
      expect((await call()).status).toBe(200);
      const second = call();
      await vi.waitFor(() => expect(clock.pending).toBe(1), 20_000);
      expect((await call()).status).toBe(429);
      clock.advance(1_000);
      expect((await second).status).toBe(200);
    },
  ],
  [
    "counts by a field of the body, and the handler still reads every byte",
    async ({ serveRules, seen }) => {
      const call = await serveRules(
        [{ id: "account", match: { methods: ["POST"] }, key: "body:account", limit: one() }],
        async (request) => ({ body: await request.text() }),
      );
      const first = { account: "ann", note: "é".repeat(2_000) };
      const response = await call("/", post(first));
      expect([response.status, await response.json()]).toEqual([200, first]);
      expect((await call("/", post({ account: "bob" }))).status).toBe(200);
      expect((await call("/", post({ account: "ann" }))).status).toBe(429);
      expect(seen).toHaveLength(2);
    },
  ],
  [
    "lets a client that waits for leave send the body that a rule needs",
    async ({ serveRules }) => {
      const call = await serveRules(
        [{ id: "account", key: "body:account", limit: one() }],
        async (request) => ({ body: await request.text() }),
      );
      const body = '{"account":"ann"}';
      const statusOf = async () => /\b[2-5]\d\d\b/.exec(await sendAfterLeave(call.url, body))?.[0];
      expect([await statusOf(), await statusOf()]).toEqual(["200", "429"]);
    },
  ],
  [
    "passes on a body that no rule asks for",
    async ({ serve }) => {
      const call = await serve({ limit: three() }, async (request) => ({
        body: await request.text(),
      }));
      const sent = { text: "x".repeat(100_000) };
      expect(await (await call("/", post(sent))).json()).toEqual(sent);
    },
  ],
  [
    "answers HEAD like GET, without a body, refusals too",
    async ({ serve }) => {
      const call = await serve({ limit: one() });
      const head = () => call("/", { method: "HEAD" });
      const [admitted, refused] = [await head(), await head()];
      expect([admitted.status, refused.status]).toEqual([200, 429]);
      expect(admitted.headers.get("ratelimit")).toBe('"default";r=0;t=60');
      expect(refused.headers.get("retry-after")).toBe("60");
      expect([await admitted.text(), await refused.text()]).toEqual(["", ""]);
    },
  ],
  [
    "adds its headers to responses without a body",
    async ({ serve }) => {
      const call = await serve({ limit: three() }, ({ target }) => ({
        status: target === "/same" ? 304 : 204,
      }));
      for (const [path, status, left] of [
        ["/", 204, 2],
        ["/same", 304, 1],
      ] as const) {
        const response = await call(path);
        expect(response.status).toBe(status);
        expect(response.headers.get("ratelimit")).toBe(`"default";r=${left};t=60`);
      }
    },
  ],
  [
    "adds its headers to the framework's response to an error",
    async ({ serve }) => {
      const call = await serve({ limit: three() }, () => {
        throw new Error("broken");
      });
      const response = await call();
      expect(response.status).toBe(500);
      expect(response.headers.get("ratelimit")).toBe('"default";r=2;t=60');
    },
  ],
  [
    "replaces a header of its own name that the handler sets",
    async ({ serve }) => {
      const headers = { "x-ratelimit-limit": "1000000" };
      const call = await serve({ limit: three() }, () => ({ headers, body: "hello" }));
      expect((await call()).headers.get("x-ratelimit-limit")).toBe("3");
    },
  ],
  [
    "hands an error of a user's function to the framework, and goes on serving",
    async ({ serve, seen }) => {
      let failure: unknown;
      const key = () => {
        if (failure !== undefined) return Promise.reject(failure);
        throw new Error("synchronously");
      };
      const call = await serve({ limit: three(), key });
      expect((await call()).status).toBe(500);
      failure = new Error("later");
      expect((await call()).status).toBe(500);
      expect(seen).toEqual([]);
    },
  ],
  [
    "shows the caller's state at GET /rate_limit without counting the question",
    async ({ serve }) => {
      const call = await serve({ limit: three() });
      expect(await statuses(call, ["/", "/rate_limit", "/rate_limit"])).toEqual([200, 200, 200]);
      const response = await call("/rate_limit");
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("content-type")).toMatch(/^application\/json/);
      expect(JSON.stringify(await response.json())).toContain('"remaining":2');
    },
  ],
];

/** At most one a second; what comes earlier waits up to five. */
const slow = {
  onExceed: "delay",
  delayMsMax: 5_000,
  limit: tokenBucket({ capacity: 1, refillPerSecond: 1 }),
};

async function* pieces(
  opened: Promise<void>,
  [first, last] = ["first;", "last"],
): AsyncGenerator<string> {
  yield first;
  await opened;
  yield last;
}

/** What is left, by the status route: asking costs nothing. */
async function peekLeft(call: Caller): Promise<number> {
  const text = await (await call("/rate_limit")).text();
  return Number(/"remaining":(\d+)/.exec(text)?.[1]);
}
