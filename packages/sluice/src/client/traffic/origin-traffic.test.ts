import { afterEach, describe, expect, it, vi } from "vitest";
import { quota, settle, setup, URL_OF_API } from "../../../test/client/stubbed-client.js";

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
      await expect.poll(() => answers.length).toBe(i + 1);
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

describe("what waits when a response arrives", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  /** One request in flight and another that waits. `answer` ends the first, within this turn of the event loop. */
  async function setupWaiting(waitingMax: number) {
    const answers: ((response: Response) => void)[] = [];
    const respond = () => new Promise<Response>((resolve) => answers.push(resolve));
    const { fetch, sent } = setup(respond, { concurrencyMax: 1, waitingMax });
    const first = fetch(`${URL_OF_API}/first`);
    fetch(`${URL_OF_API}/waiting`).catch(() => {});
    await settle();
    const answer = async () => {
      answers[0]?.(new Response(""));
      await first;
    };
    const paths = () => sent.map(({ url }) => url.split("/").at(-1));
    return { fetch, answer, paths };
  }

  it("is sent at the end of the turn, before a request that comes in between", async () => {
    const { fetch, answer, paths } = await setupWaiting(10);
    await answer();
    expect(paths()).toEqual(["first"]);
    fetch(`${URL_OF_API}/new`).catch(() => {});
    await expect.poll(paths).toEqual(["first", "waiting"]);
    expect(fetch.stats).toMatchObject({ inFlight: 1, waiting: 1 });
  });

  it("takes no room in the queue any more", async () => {
    const { fetch, answer, paths } = await setupWaiting(1);
    await answer();
    fetch(`${URL_OF_API}/new`).catch(() => {});
    await expect.poll(paths).toEqual(["first", "waiting"]);
    expect(fetch.stats).toMatchObject({ inFlight: 1, waiting: 1, unsent: 0 });
  });

  it("is sent in browsers too, which have no end of a turn", async () => {
    const { answer, paths } = await setupWaiting(1);
    vi.stubGlobal("setImmediate", undefined);
    await answer();
    await expect.poll(paths).toEqual(["first", "waiting"]);
  });
});

describe("a request that has just arrived", () => {
  it("is sent with others of the same turn while many are in flight, unless it is aborted", async () => {
    const { fetch, sent } = setup(() => "never");
    const ask = (signal?: AbortSignal) => fetch(URL_OF_API, signal ? { signal } : {});
    for (let i = 0; i < 8; i++) ask().catch(() => {});
    expect(sent).toHaveLength(8);
    const controller = new AbortController();
    ask().catch(() => {});
    const aborted = ask(controller.signal);
    controller.abort(new Error("enough"));
    expect(sent).toHaveLength(8);
    await expect(aborted).rejects.toThrow("enough");
    expect(sent).toHaveLength(9);
    expect(fetch.stats).toMatchObject({ inFlight: 9, waiting: 0, waits: 0 });
  });

  it("does not take the turn of one that is due, whose timer is late", async () => {
    // After its reset a quota lets one request find out how much there is.
    const { fetch, sent, clock, finish } = setup([quota(0, 20), "never"]);
    await finish(fetch(`${URL_OF_API}/first`));
    // Timers of a busy process are late: none runs from here on.
    clock.after = () => () => {};
    fetch(`${URL_OF_API}/waiting`, {}, { priority: "critical" }).catch(() => {});
    await settle();
    clock.advance(30_000);
    fetch(`${URL_OF_API}/new`, {}, { priority: "low" }).catch(() => {});
    await settle();
    expect(sent.map(({ url }) => url.split("/").at(-1))).toEqual(["first", "waiting"]);
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
