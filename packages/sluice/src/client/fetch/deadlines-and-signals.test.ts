import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, vi } from "vitest";
import {
  countTimers,
  quota,
  reset,
  settle,
  setup,
  URL_OF_API,
} from "../../../test/client/stubbed-client.js";

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
    answer(late);
    await settle();
    expect(cancelled).toHaveBeenCalled();
    expect(fetch.stats.inFlight).toBe(0);
  });

  it("by default aborts later attempts at an origin that hangs, which so never gets ever more of them", async () => {
    let hanging = 0;
    let mostHanging = 0;
    const { fetch, finish } = setup([], {
      concurrencyMax: 2,
      failuresMax: 1_000,
      retriesMax: 0,
      fetch: (_input, init) =>
        new Promise((_, reject) => {
          mostHanging = Math.max(mostHanging, ++hanging);
          init?.signal?.addEventListener("abort", () => {
            hanging--;
            reject(init.signal?.reason);
          });
        }),
    });
    for (let i = 0; i < 5; i++) {
      const asked = Array.from({ length: 3 }, () => fetch(URL_OF_API));
      for (const { status } of await finish(Promise.allSettled(asked)))
        expect(status).toBe("rejected");
    }
    // The first two, which can't be aborted, and two more at a time.
    expect(hanging).toBe(2);
    expect(mostHanging).toBeLessThanOrEqual(4);
  });

  it("by default does not shut out an origin that is back after it hung", async () => {
    const { fetch, sent, clock, finish } = setup(() =>
      sent.length <= 10 ? "never" : new Response("ok"),
    );
    const hung = Array.from({ length: 10 }, () => fetch(URL_OF_API, { method: "POST" }));
    for (const { status } of await finish(Promise.allSettled(hung)))
      expect(status).toBe("rejected");
    clock.advance(1_000);
    expect((await finish(fetch(URL_OF_API))).status).toBe(200);
  });

  it("ends an attempt of a fetch that does not follow its signal", async () => {
    const { fetch, clock, finish } = setup(() => new Promise(() => {}), {
      deadlineMs: 5_000,
      attemptMsMax: 1_000,
    });
    await expect(finish(fetch(URL_OF_API))).rejects.toMatchObject({
      code: "SLUICE_CLIENT_DEADLINE",
    });
    expect(clock.now() - 1_800_000_000_000).toBeLessThanOrEqual(5_010);
    expect(fetch.stats).toMatchObject({ inFlight: 0, waiting: 0 });
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

  it.each([
    ["a deadline of its own", 5_000],
    ["the default deadline", undefined],
  ])("that is aborted when its turn has come sends nothing, with %s", async (_what, deadlineMs) => {
    const { controller, signal, reason } = abort();
    const answers: ((response: Response) => void)[] = [];
    const { fetch, sent } = setup(() => new Promise((resolve) => answers.push(resolve)), {
      concurrencyMax: 1,
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
      onEvent: ({ type }) => type === "waited" && controller.abort(reason),
    });
    const first = fetch(URL_OF_API);
    const asked = fetch(URL_OF_API, { signal });
    await settle();
    answers[0]?.(new Response(""));
    await first;
    await expect(asked).rejects.toBe(reason);
    expect(sent).toHaveLength(1);
    expect(fetch.stats).toMatchObject({ inFlight: 0, waiting: 0 });
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

  it("that ends the last wait leaves no timer, which would keep the process alive", async () => {
    const { fetch, clock, finish } = setup([quota(0, 3_600)], { deadlineMs: 1e9 });
    await finish(fetch(URL_OF_API));
    const running = countTimers(clock);
    const { controller, signal, reason } = abort();
    const asked = fetch(URL_OF_API, { signal });
    await settle();
    expect(running()).toBeGreaterThan(0);
    controller.abort(reason);
    await expect(asked).rejects.toBe(reason);
    expect(running()).toBe(0);
  });

  it("that lives long keeps no listener of requests that have ended", async () => {
    const answers = () => (sent.length % 2 === 0 ? new Response(null, { status: 204 }) : reset());
    const { fetch, sent, finish } = setup(answers, { deadlineMs: 10_000, failuresMax: 1_000 });
    const { signal } = abort();
    for (let i = 0; i < 100; i++) await finish(fetch(URL_OF_API, { signal }).catch(() => {}));
    expect(sent.length).toBeGreaterThan(100);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("ends the bodies of responses too, with one listener for all of them", async () => {
    const bodies = () => new Response("body");
    const { fetch, sent } = setup(bodies, { deadlineMs: 10_000 });
    const { controller, signal, reason } = abort();
    const kept = await fetch(URL_OF_API, { signal });
    for (let i = 0; i < 100; i++) await (await fetch(URL_OF_API, { signal })).text();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    const last = sent[0]?.init.signal;
    controller.abort(reason);
    expect(last?.reason).toBe(reason);
    expect(kept.body).not.toBeNull();
  });

  it("that lives long is no longer listened to when the bodies of all responses are collected", async () => {
    const { fetch } = setup(() => new Response("body"), { deadlineMs: 10_000 });
    const { signal } = abort();
    for (let i = 0; i < 100; i++) await (await fetch(URL_OF_API, { signal })).text();
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const listeners = () => {
      collect();
      return getEventListeners(signal, "abort").length;
    };
    await expect.poll(listeners, { timeout: 5_000 }).toBe(0);
  });

  it("of a Request does not count if the request is detached from it", async () => {
    const { controller, signal, reason } = abort();
    const { fetch, sent } = setup([]);
    controller.abort(reason);
    const response = await fetch(new Request(URL_OF_API, { signal }), { signal: null });
    expect([response.status, sent.length]).toEqual([200, 1]);
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
