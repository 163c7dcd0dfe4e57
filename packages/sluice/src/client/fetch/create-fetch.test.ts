import { describe, expect, it, vi } from "vitest";
import { ManualClock } from "../../testing/manual-clock.js";
import type { ClientEvent } from "../events.js";
import { createFetch, type FetchOptions } from "./create-fetch.js";
import type { RequestControls } from "./fetch-request.js";

const URL_OF_API = "https://api.example.com/things";

type Answer = Response | Error | Promise<Response> | "never";

/** A client whose clock stands still, and a server that answers as it is asked to. */
function setup(answers: readonly Answer[] | (() => Answer), options: FetchOptions = {}) {
  const clock = new ManualClock(1_800_000_000_000);
  const sent: { url: string; init: RequestInit; atMs: number; body: unknown }[] = [];
  const events: ClientEvent[] = [];
  const fetch = createFetch({
    clock,
    random: () => 0.5,
    onEvent: (event) => events.push(event),
    fetch: async (input, init = {}) => {
      const url = typeof input === "object" && "url" in input ? input.url : String(input);
      const body = typeof input === "object" && "text" in input ? await input.text() : init.body;
      sent.push({ url, init, atMs: clock.now() - 1_800_000_000_000, body });
      const answer = typeof answers === "function" ? answers() : answers[sent.length - 1];
      const own = typeof input === "object" && "signal" in input ? input.signal : undefined;
      if (answer === "never") return forever(init.signal ?? own);
      if (answer instanceof Error) throw answer;
      return answer ?? new Response("ok");
    },
    ...options,
  });
  /** Moves time until the request has ended. */
  const finish = async <T>(promise: Promise<T>): Promise<T> => {
    let isOver = false;
    const ended = promise.finally(() => {
      isOver = true;
    });
    ended.catch(() => {});
    for (let i = 0; i < 100_000 && !isOver; i++) {
      await settle();
      if (!isOver) clock.advance(10);
    }
    return ended;
  };
  return { clock, fetch, sent, events, finish };
}

function forever(signal: AbortSignal | null | undefined): Promise<Response> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}

/** Lets everything run that does not wait for time. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

const refusal = (fields: Record<string, string> = {}) =>
  new Response("slow down", { status: 429, headers: fields });
const reset = () => new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });

describe("createFetch", () => {
  it("passes a request on as it is, and returns the very response", async () => {
    const response = new Response("ok");
    const { fetch, sent } = setup([response], { deadlineMs: Infinity });
    const init = { method: "POST", body: "x", headers: { a: "b" } };
    expect(await fetch(URL_OF_API, init)).toBe(response);
    expect(sent[0]).toMatchObject({ url: URL_OF_API, init });
    expect(sent[0]?.init).toBe(init);
  });

  it("rejects options and controls that it can't use, and says which", async () => {
    expect(() => createFetch({ retriesMax: 99 })).toThrow(/createFetch: retriesMax must be/);
    expect(() => createFetch({ retries: 3 } as object)).toThrow(/unknown option "retries"/);
    expect(() => createFetch({ fetch: 5 } as unknown as FetchOptions)).toThrow(/fetch must be/);
    const { fetch } = setup([]);
    const ask = (controls: unknown) => fetch(URL_OF_API, {}, controls as RequestControls);
    await expect(ask({ priority: "urgent" })).rejects.toThrow(/priority must be one of/);
    await expect(ask({ deadlineMs: -1 })).rejects.toThrow(/deadlineMs must be/);
    await expect(ask({ prority: "low" })).rejects.toThrow(/did you mean priority/);
    await expect(fetch("not a URL")).rejects.toThrow(/invalid URL/);
  });
});

describe("a refusal", () => {
  it("is repeated when Retry-After is over, plus jitter, and never before", async () => {
    const { fetch, sent, finish } = setup([refusal({ "retry-after": "2" })]);
    expect((await finish(fetch(URL_OF_API))).status).toBe(200);
    expect(sent).toHaveLength(2);
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(2_000);
    expect(sent[1]?.atMs).toBeLessThan(3_000);
  });

  it("makes all other requests of the origin wait as well, where it says nothing of its quota", async () => {
    const { fetch, sent, finish } = setup([refusal({ "retry-after": "2" })]);
    await Promise.all([
      finish(fetch(URL_OF_API)),
      finish(settle().then(() => fetch(`${URL_OF_API}/2`))),
    ]);
    expect(sent).toHaveLength(3);
    expect(sent.slice(1).every(({ atMs }) => atMs >= 2_000)).toBe(true);
  });

  it("makes only its route wait, where it says which quota is used up", async () => {
    const used = { ratelimit: '"search";r=0;t=20', "retry-after": "20" };
    const { fetch, sent, finish } = setup([
      new Response("", { headers: { ratelimit: '"core";r=50;t=20' } }),
      refusal(used),
    ]);
    await finish(fetch("https://api.example.com/users"));
    const searched = fetch("https://api.example.com/search");
    await settle();
    await finish(fetch("https://api.example.com/users"));
    expect(sent.at(-1)).toMatchObject({ url: "https://api.example.com/users" });
    expect(sent.at(-1)?.atMs).toBeLessThan(5_000);
    await finish(searched);
    expect(sent.at(-1)?.atMs).toBeGreaterThanOrEqual(20_000);
  });

  it("is returned if the wait is longer than the deadline: it is a response, not an exception", async () => {
    const { fetch, sent, events, finish } = setup([refusal({ "retry-after": "3600" })]);
    const response = await finish(fetch(URL_OF_API));
    expect(response.status).toBe(429);
    expect(await response.text()).toBe("slow down");
    expect(sent).toHaveLength(1);
    expect(events).toContainEqual(expect.objectContaining({ type: "give-up", reason: "deadline" }));
  });

  it("is returned after retriesMax retries, with its body and its URL", async () => {
    const { fetch, sent, finish } = setup(() => refusal(), { retriesMax: 2 });
    const response = await finish(fetch(URL_OF_API));
    expect(response.status).toBe(429);
    expect(await response.text()).toBe("slow down");
    expect(sent).toHaveLength(3);
  });

  it("is returned whole if the retry can't be sent in the end", async () => {
    const body = "x".repeat(200_000);
    const { fetch, clock, finish } = setup(
      () => new Response(body, { status: 429, headers: { "x-id": "7" } }),
      { failuresMax: 1, waitingMax: 0, concurrencyMax: 1 },
    );
    const first = fetch(URL_OF_API);
    await settle();
    // Another request takes the only place before the retry is due.
    clock.advance(125);
    const other = fetch(`${URL_OF_API}/2`).catch(() => undefined);
    const response = await finish(first);
    expect(response.status).toBe(429);
    expect(response.headers.get("x-id")).toBe("7");
    expect((await response.text()).length).toBe(200_000);
    await finish(other);
  });

  it.each(["1e9", "-5", "NaN", "Infinity", "99999999999999999999"])(
    "with a Retry-After of %s is repeated as if it had none",
    async (field) => {
      const { fetch, sent, finish } = setup([refusal({ "retry-after": field })]);
      expect((await finish(fetch(URL_OF_API))).status).toBe(200);
      expect(sent[1]?.atMs).toBeLessThan(10_000);
    },
  );

  it("with a Retry-After of years keeps later requests from being sent for an hour, not for years", async () => {
    const { fetch, sent, clock, finish } = setup([refusal({ "retry-after": "1000000000" })]);
    await finish(fetch(URL_OF_API));
    await expect(fetch(URL_OF_API)).rejects.toMatchObject({ code: "SLUICE_CLIENT_DEADLINE" });
    expect(sent).toHaveLength(1);
    clock.advance(3_700_000);
    expect((await finish(fetch(URL_OF_API))).status).toBe(200);
  });

  it("by 403 of GitHub is one, and by 403 alone is not", async () => {
    const primary = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "2" };
    const { fetch, sent, finish } = setup([
      new Response("", { status: 403, headers: primary }),
      new Response(""),
      new Response("", { status: 403 }),
    ]);
    expect((await finish(fetch(URL_OF_API))).status).toBe(200);
    expect((await finish(fetch(URL_OF_API))).status).toBe(403);
    expect(sent).toHaveLength(3);
  });
});

describe("pacing", () => {
  it("waits for the reset of a quota before it is refused", async () => {
    const { fetch, sent, finish } = setup(() => quota(0, 5));
    await finish(fetch(URL_OF_API));
    await finish(fetch(URL_OF_API));
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(5_000);
  });

  it("spreads a burst over the window once half of the quota is used, and no request is late", async () => {
    let left = 20;
    const { fetch, sent, finish } = setup(() => quota(--left, 10, 20));
    await finish(Promise.all(Array.from({ length: 20 }, () => fetch(URL_OF_API))));
    expect(sent.filter(({ atMs }) => atMs === 0).length).toBeGreaterThanOrEqual(9);
    const last = sent.at(-1)?.atMs ?? 0;
    expect(last).toBeGreaterThan(5_000);
    expect(last).toBeLessThanOrEqual(11_000);
  });

  it("holds a request back for paceMsMax at most while something is left", async () => {
    const { fetch, sent, finish } = setup(() => quota(1, 3_600), { paceMsMax: 2_000 });
    await finish(fetch(URL_OF_API));
    await finish(fetch(URL_OF_API));
    expect(sent[1]?.atMs).toBeLessThanOrEqual(2_010);
  });

  it("fails immediately if a quota is used up for longer than the deadline, and sends nothing", async () => {
    const { fetch, sent, finish } = setup([quota(0, 300)]);
    await finish(fetch(URL_OF_API));
    await expect(fetch(URL_OF_API)).rejects.toMatchObject({ code: "SLUICE_CLIENT_DEADLINE" });
    expect(sent).toHaveLength(1);
  });

  it("goes by credentials: another caller has another quota", async () => {
    const { fetch, sent, finish } = setup([quota(0, 30)]);
    const as = (authorization: string) => fetch(URL_OF_API, { headers: { authorization } });
    await finish(as("Bearer one"));
    await finish(as("Bearer two"));
    expect(sent[1]?.atMs).toBe(0);
    await finish(as("Bearer one"));
    expect(sent[2]?.atMs).toBeGreaterThanOrEqual(30_000);
  });

  it("goes by what `partition` says, which sees method, URL and headers", async () => {
    const seen: string[] = [];
    const { fetch, sent, finish } = setup([quota(0, 30)], {
      partition: ({ method, url, header }) => {
        seen.push(`${method} ${url} ${header("x-shard")}`);
        return header("x-shard") ?? "";
      },
    });
    await finish(fetch(URL_OF_API, { headers: new Headers({ "X-Shard": "1" }) }));
    await finish(fetch(URL_OF_API, { headers: [["x-shard", "2"]] }));
    expect(sent[1]?.atMs).toBe(0);
    expect(seen).toEqual([`GET ${URL_OF_API} 1`, `GET ${URL_OF_API} 2`]);
  });

  it("goes by origin: another server has another quota", async () => {
    const { fetch, sent, finish } = setup([quota(0, 30)]);
    await finish(fetch("https://one.example/"));
    await finish(fetch("https://two.example/"));
    expect(sent[1]?.atMs).toBe(0);
  });

  it("is off if it is switched off", async () => {
    const { fetch, sent, finish } = setup(() => quota(0, 30), { pace: false });
    await finish(fetch(URL_OF_API));
    await finish(fetch(URL_OF_API));
    expect(sent[1]?.atMs).toBe(0);
  });

  function quota(remaining: number, seconds: number, limit = 10): Response {
    const headers = {
      ratelimit: `"all";r=${Math.max(0, remaining)};t=${seconds}`,
      "ratelimit-policy": `"all";q=${limit};w=${seconds}`,
    };
    return new Response("", { headers });
  }
});

describe("a failure", () => {
  it("of the connection is repeated with full jitter", async () => {
    const { fetch, sent, finish } = setup([reset(), reset()]);
    expect((await finish(fetch(URL_OF_API))).status).toBe(200);
    // Half of 250 ms, and half of 500 ms.
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, 130, 380]);
  });

  it("that remains is thrown as fetch threw it", async () => {
    const error = reset();
    const { fetch, sent, finish } = setup(() => error);
    await expect(finish(fetch(URL_OF_API))).rejects.toBe(error);
    expect(sent).toHaveLength(4);
  });

  it.each(["POST", "PATCH"])(
    "of a %s is not repeated without an idempotency key",
    async (method) => {
      const { fetch, sent, events, finish } = setup([reset(), refusal()]);
      await expect(finish(fetch(URL_OF_API, { method }))).rejects.toThrow("fetch failed");
      expect((await finish(fetch(URL_OF_API, { method }))).status).toBe(429);
      expect(sent).toHaveLength(2);
      expect(events).toContainEqual(expect.objectContaining({ type: "give-up", reason: "method" }));
    },
  );

  it("costs at most a tenth of the requests in retries, so that an outage is not amplified", async () => {
    const { fetch, sent, finish } = setup(() => new Response("", { status: 500 }), {
      failuresMax: 1_000,
    });
    for (let i = 0; i < 300; i++) await finish(fetch(URL_OF_API));
    expect(sent.length).toBeLessThanOrEqual(300 + 10 + 30);
    expect(sent.length).toBeGreaterThanOrEqual(300 + 30);
    expect(fetch.origins[0]?.retriesLeft).toBeLessThanOrEqual(1);
  });
});

describe("an idempotency key", () => {
  const keysOf = (sent: readonly { init: RequestInit }[]) =>
    sent.map(({ init }) => new Headers(init.headers).get("idempotency-key"));

  it("is generated, repeated with each retry, and new for each request", async () => {
    const { fetch, sent, finish } = setup([reset(), refusal()], { idempotencyKeys: true });
    const init = { method: "POST", body: "x", headers: { a: "b" } };
    await finish(fetch(URL_OF_API, init));
    await finish(fetch(URL_OF_API, init));
    const [first, second, third, other] = keysOf(sent);
    expect(first).toMatch(/^"[0-9a-f-]{36}"$/);
    expect([second, third]).toEqual([first, first]);
    expect(other).not.toBe(first);
    expect(new Headers(sent[0]?.init.headers).get("a")).toBe("b");
  });

  it("of the caller is kept, and makes a POST repeatable", async () => {
    const { fetch, sent, finish } = setup([reset()], { idempotencyKeys: true });
    const headers = { "Idempotency-Key": "mine" };
    await finish(fetch(URL_OF_API, { method: "POST", headers }));
    expect(keysOf(sent)).toEqual(["mine", "mine"]);
  });

  it("may be given with the request, made by a function, or asked for once", async () => {
    const { fetch, sent, finish } = setup([], { idempotencyKeys: () => "made" });
    const init = { method: "POST" };
    await finish(fetch(URL_OF_API, init, { idempotencyKey: "given" }));
    await finish(fetch(URL_OF_API, init));
    await finish(fetch(URL_OF_API));
    expect(keysOf(sent)).toEqual(["given", "made", null]);
    const once = setup([]);
    await once.finish(once.fetch(URL_OF_API, init, { idempotencyKey: true }));
    expect(keysOf(once.sent)[0]).toMatch(/^".{36}"$/);
  });
});

describe("a body", () => {
  it.each([
    ["a string", () => "x"],
    ["bytes", () => new Uint8Array([1])],
    ["a buffer", () => new ArrayBuffer(1)],
    ["a form", () => new FormData()],
    ["parameters", () => new URLSearchParams("a=b")],
    ["a blob", () => new Blob(["x"])],
  ])("that is %s is sent again", async (_what, toBody) => {
    const { fetch, sent, finish } = setup([reset()]);
    const body = toBody();
    await finish(fetch(URL_OF_API, { method: "PUT", body }));
    expect(sent.map((each) => each.body)).toEqual([body, body]);
  });

  const stream = () => new ReadableStream({ start: (controller) => controller.close() });

  it("that is a stream is not: the error says so, and has the cause", async () => {
    const error = reset();
    const { fetch, sent, finish } = setup([error]);
    const asked = fetch(URL_OF_API, {
      method: "PUT",
      body: stream(),
      duplex: "half",
    } as RequestInit);
    await expect(finish(asked)).rejects.toMatchObject({
      code: "SLUICE_CLIENT_BODY_SPENT",
      cause: error,
    });
    expect(sent).toHaveLength(1);
  });

  it("that is a stream does not turn a refusal into an error", async () => {
    const { fetch, events, finish } = setup([refusal()]);
    const init = { method: "PUT", body: stream(), duplex: "half" } as RequestInit;
    expect((await finish(fetch(URL_OF_API, init))).status).toBe(429);
    expect(events).toContainEqual(expect.objectContaining({ type: "give-up", reason: "body" }));
  });

  it("that a function makes is made for each attempt", async () => {
    const { fetch, sent, finish } = setup([reset()]);
    const body = vi.fn(stream);
    const init = { method: "PUT", duplex: "half" } as RequestInit;
    await finish(fetch(URL_OF_API, init, { body }));
    expect(body).toHaveBeenCalledTimes(2);
    expect(sent[0]?.body).not.toBe(sent[1]?.body);
  });

  it("of a Request is copied for each attempt", async () => {
    const { fetch, sent, finish } = setup([reset(), refusal()]);
    await finish(fetch(new Request(URL_OF_API, { method: "PUT", body: "whole" })));
    expect(sent.map(({ body }) => body)).toEqual(["whole", "whole", "whole"]);
  });
});

describe("a deadline", () => {
  it("ends an attempt that is never answered", async () => {
    const { fetch, clock, finish } = setup(["never"], { deadlineMs: 5_000, retriesMax: 0 });
    await expect(finish(fetch(URL_OF_API))).rejects.toMatchObject({
      code: "SLUICE_CLIENT_DEADLINE",
      status: 504,
    });
    expect(clock.now() - 1_800_000_000_000).toBeLessThanOrEqual(5_010);
  });

  it("by default ends the wait of the caller, without a signal, and drops a late response", async () => {
    const cancelled = vi.fn();
    const late = new Response(new ReadableStream({ cancel: cancelled }));
    let answer: (response: Response) => void = () => {};
    const { fetch, sent, clock, finish } = setup([
      new Promise<Response>((resolve) => {
        answer = resolve;
      }),
    ]);
    await expect(finish(fetch(URL_OF_API))).rejects.toMatchObject({
      code: "SLUICE_CLIENT_DEADLINE",
    });
    expect(clock.now() - 1_800_000_000_000).toBe(60_000);
    expect(sent[0]?.init.signal).toBeUndefined();
    expect(fetch.stats.inFlight).toBe(0);
    answer(late);
    await settle();
    expect(cancelled).toHaveBeenCalled();
  });

  it("of one attempt leaves time for another", async () => {
    const { fetch, sent, finish } = setup(["never"], { attemptMsMax: 1_000 });
    expect((await finish(fetch(URL_OF_API))).status).toBe(200);
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(1_000);
  });

  it("of a request replaces the client's", async () => {
    const { fetch, clock, finish } = setup(["never"]);
    await expect(finish(fetch(URL_OF_API, {}, { deadlineMs: 100 }))).rejects.toThrow(/deadline/);
    expect(clock.now() - 1_800_000_000_000).toBeLessThanOrEqual(110);
  });

  it("does not end a body that is being read", async () => {
    const { fetch, sent, clock } = setup([new Response("slow")], { deadlineMs: 1_000 });
    const response = await fetch(URL_OF_API);
    clock.advance(10_000);
    expect(sent[0]?.init.signal?.aborted).toBe(false);
    expect(await response.text()).toBe("slow");
  });
});

describe("an AbortSignal", () => {
  const abort = () => {
    const controller = new AbortController();
    return { controller, signal: controller.signal, reason: new Error("enough") };
  };

  it("that is aborted before sends nothing", async () => {
    const { fetch, sent } = setup([]);
    const { controller, signal, reason } = abort();
    controller.abort(reason);
    await expect(fetch(URL_OF_API, { signal })).rejects.toBe(reason);
    expect(sent).toHaveLength(0);
  });

  it("ends an attempt", async () => {
    const { fetch } = setup(["never"]);
    const { controller, signal, reason } = abort();
    const asked = fetch(URL_OF_API, { signal });
    await settle();
    controller.abort(reason);
    await expect(asked).rejects.toBe(reason);
    expect(fetch.stats).toMatchObject({ inFlight: 0 });
  });

  it("ends a backoff, and drops the refusal that was kept", async () => {
    const cancelled = vi.fn();
    const body = new ReadableStream({ cancel: cancelled });
    const { fetch, sent } = setup([new Response(body, { status: 429 })]);
    const { controller, signal, reason } = abort();
    const asked = fetch(URL_OF_API, { signal });
    await settle();
    controller.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await settle();
    expect(cancelled).toHaveBeenCalled();
    expect(sent).toHaveLength(1);
  });

  it("ends the wait for a turn, and leaves the queue", async () => {
    const { fetch, sent } = setup(["never"], { concurrencyMax: 1 });
    const { controller, signal, reason } = abort();
    fetch(URL_OF_API).catch(() => {});
    const asked = fetch(URL_OF_API, { signal });
    await settle();
    expect(fetch.stats.waiting).toBe(1);
    controller.abort(reason);
    await expect(asked).rejects.toBe(reason);
    expect(fetch.stats.waiting).toBe(0);
    expect(sent).toHaveLength(1);
  });

  it("of a Request counts as well", async () => {
    const { fetch } = setup(["never"]);
    const { controller, signal, reason } = abort();
    const asked = fetch(new Request(URL_OF_API, { signal }));
    await settle();
    controller.abort(reason);
    await expect(asked).rejects.toBe(reason);
  });
});

describe("the queue", () => {
  it("is bounded, and the least important request gives way", async () => {
    const { fetch } = setup(["never"], { concurrencyMax: 1, waitingMax: 2 });
    const ask = (priority: "low" | "normal" | "high") => fetch(URL_OF_API, {}, { priority });
    ask("normal").catch(() => {});
    const results = ["low", "normal"].map((each) => ask(each as "low"));
    for (const result of results) result.catch(() => {});
    const full = { code: "SLUICE_CLIENT_QUEUE_FULL" };
    await expect(ask("low")).rejects.toMatchObject(full);
    ask("high").catch(() => {});
    await expect(results[0]).rejects.toMatchObject(full);
    expect(fetch.stats).toMatchObject({ waiting: 2, unsent: 2 });
  });

  it("sends the most important first, and equals in their order", async () => {
    const answers: (() => void)[] = [];
    const { fetch, sent } = setup(
      () => new Promise((resolve) => answers.push(() => resolve(new Response("")))),
      { concurrencyMax: 1 },
    );
    const names = ["first", "low", "normal", "high", "critical", "low2", "normal2"];
    const asked = names.map((name) => {
      const priority = name.replace(/\d/, "") as "low";
      return fetch(
        `https://api.example.com/${name}`,
        {},
        { priority: name === "first" ? "normal" : priority },
      );
    });
    for (let i = 0; i < names.length; i++) {
      await settle();
      answers[i]?.();
    }
    await Promise.all(asked);
    expect(sent.map(({ url }) => url.split("/").at(-1))).toEqual([
      "first",
      "critical",
      "high",
      "normal",
      "normal2",
      "low",
      "low2",
    ]);
  });
});

describe("the limit of requests in flight", () => {
  it("starts low, grows while the origin answers, and falls when it is overloaded", async () => {
    let status = 200;
    const { fetch, clock, finish } = setup(
      () => new Promise((resolve) => clock.after(20, () => resolve(new Response("", { status })))),
      { retriesMax: 0, pace: false },
    );
    const burst = () => finish(Promise.all(Array.from({ length: 400 }, () => fetch(URL_OF_API))));
    const limit = () => fetch.origins[0]?.concurrencyLimit ?? 0;
    const first = fetch(URL_OF_API);
    expect(limit()).toBe(10);
    await finish(first);
    await burst();
    const grown = limit();
    expect(grown).toBeGreaterThan(12);
    status = 503;
    await burst();
    expect(limit()).toBeLessThan(grown / 2);
  });
});

describe("the circuit breaker", () => {
  it("opens after failures in a row, sends nothing, and closes when one request shows that the origin is back", async () => {
    let status = 500;
    const { fetch, sent, events, clock, finish } = setup(() => new Response("", { status }), {
      failuresMax: 3,
      openMs: 1_000,
      retriesMax: 0,
    });
    for (let i = 0; i < 3; i++) {
      clock.advance(100);
      expect((await finish(fetch(URL_OF_API))).status).toBe(500);
    }
    expect(fetch.origins[0]?.breaker).toBe("open");
    await expect(fetch(URL_OF_API)).rejects.toMatchObject({ code: "SLUICE_CLIENT_CIRCUIT_OPEN" });
    expect(sent).toHaveLength(3);
    clock.advance(1_000);
    status = 200;
    expect((await fetch(URL_OF_API)).status).toBe(200);
    const states = events.flatMap((event) => (event.type === "breaker" ? [event.state] : []));
    expect(states).toEqual(["open", "half-open", "closed"]);
  });

  it("is not opened by refusals, nor by errors of the caller", async () => {
    const statuses = [429, 404, 503, 401, 429, 503];
    const { fetch, finish } = setup(
      () => new Response("", { status: statuses.shift() as number }),
      { failuresMax: 1, retriesMax: 0 },
    );
    for (let i = 0; i < 6; i++) await finish(fetch(URL_OF_API));
    expect(fetch.origins[0]?.breaker).toBe("closed");
  });

  it("refuses what waits when it opens, and other origins go on", async () => {
    const answers: ((response: Response) => void)[] = [];
    const { fetch, finish } = setup(
      () => new Promise<Response>((resolve) => answers.push(resolve)),
      { failuresMax: 1, concurrencyMax: 1, retriesMax: 0 },
    );
    const first = fetch(URL_OF_API);
    const second = fetch(URL_OF_API);
    second.catch(() => {});
    await settle();
    answers[0]?.(new Response("", { status: 500 }));
    expect((await first).status).toBe(500);
    await expect(second).rejects.toMatchObject({ code: "SLUICE_CLIENT_CIRCUIT_OPEN" });
    const other = fetch("https://other.example/");
    await settle();
    answers[1]?.(new Response(""));
    expect((await finish(other)).status).toBe(200);
  });
});

describe("what a client knows", () => {
  it("is bounded: a flood of origins and credentials is forgotten", async () => {
    const { fetch, finish } = setup([], { originsMax: 10 });
    for (let i = 0; i < 50; i++) {
      const headers = { authorization: `Bearer ${i}` };
      await finish(fetch(`https://host${i}.example/`, { headers }));
    }
    expect(fetch.origins).toHaveLength(10);
    expect(fetch.origins.at(-1)?.origin).toBe("https://host49.example");
  });

  it("is reported: counters, events without paths or headers, and listeners that throw change nothing", async () => {
    const events: ClientEvent[] = [];
    const { fetch, finish } = setup([refusal({ "retry-after": "1" }), reset()], {
      onEvent: (event) => {
        events.push(event);
        throw new Error("listener");
      },
    });
    await finish(fetch(`${URL_OF_API}/secret`, { headers: { authorization: "Bearer secret" } }));
    expect(events.map(({ type }) => type)).toEqual([
      ...["refused", "attempt", "retry"],
      ...["attempt", "retry"],
      ...["attempt"],
    ]);
    expect(JSON.stringify(events)).not.toContain("secret");
    expect(fetch.stats).toEqual({
      requests: 1,
      attempts: 3,
      retries: 2,
      refusals: 1,
      failures: 1,
      waits: 0,
      unsent: 0,
      inFlight: 0,
      waiting: 0,
    });
  });
});
