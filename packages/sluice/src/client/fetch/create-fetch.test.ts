import { describe, expect, it } from "vitest";
import { refusal, reset, setup, URL_OF_API } from "../../../test/client/stubbed-client.js";
import type { ClientEvent } from "../events.js";
import { createFetch, type FetchOptions } from "./create-fetch.js";
import type { RequestControls } from "./fetch-request.js";
import { routeNameOf } from "./request-target.js";

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

  it("holds no place for a response that can't be read", async () => {
    const broken = {
      status: 200,
      headers: {
        get: () => {
          throw new Error("no headers");
        },
      },
    };
    const { fetch } = setup(() => broken as unknown as Response);
    for (let i = 0; i < 20; i++) await expect(fetch(URL_OF_API)).rejects.toThrow("no headers");
    expect(fetch.stats).toMatchObject({ attempts: 20, inFlight: 0 });
  });

  it("holds no place for a fetch that resolves to nothing", async () => {
    const { fetch } = setup([], { fetch: async () => undefined as unknown as Response });
    for (let i = 0; i < 20; i++) await expect(fetch(URL_OF_API)).rejects.toThrow(TypeError);
    expect(fetch.stats).toMatchObject({ attempts: 20, inFlight: 0 });
  });

  it.each([undefined, null, "no", 5, { code: "ECONNRESET" }])(
    "passes on that a fetch rejects with %j, which is not an error, and does not repeat it",
    async (reason) => {
      const { fetch } = setup([], { fetch: () => Promise.reject(reason) });
      for (let i = 0; i < 20; i++) {
        const rejected = fetch(URL_OF_API).then(
          () => "no rejection",
          (found) => [found],
        );
        expect(await rejected).toEqual([reason]);
      }
      expect(fetch.stats).toMatchObject({ attempts: 20, failures: 0, inFlight: 0 });
    },
  );

  it.each(["PUT", "POST"])("rejects a %s whose body was read before", async (method) => {
    const { fetch } = setup([], { fetch: globalThis.fetch });
    for (let i = 0; i < 20; i++) {
      const request = new Request("http://127.0.0.1:9/", { method, body: "x" });
      await request.text();
      await expect(fetch(request)).rejects.toThrow(TypeError);
    }
    expect(fetch.stats).toMatchObject({ failures: 0, retries: 0, inFlight: 0 });
  });

  it.each([
    ["an iterator", (fields: [string, string][]) => new Map(fields).entries()],
    ["a generator", (fields: [string, string][]) => each(fields)],
    ["a Map", (fields: [string, string][]) => new Map(fields)],
    ["Headers", (fields: [string, string][]) => new Headers(fields)],
  ])("reads the headers of %s, and sends them with each attempt", async (_what, toHeaders) => {
    let caller: string | undefined;
    const { fetch, sent, finish } = setup([reset()], {
      partition: ({ header }) => {
        caller = header("authorization");
        return "";
      },
    });
    const headers = toHeaders([
      ["Authorization", "Bearer one"],
      ["X-Kind", "a"],
    ]) as NonNullable<RequestInit["headers"]>;
    await finish(fetch(URL_OF_API, { method: "POST", headers }, { idempotencyKey: "k" }));
    const fields = sent.map(({ init }) => Object.fromEntries(new Headers(init.headers)));
    const all = { authorization: "Bearer one", "x-kind": "a", "idempotency-key": "k" };
    expect(fields).toEqual([all, all]);
    expect(caller).toBe("Bearer one");
  });

  it("says so if `partition` does not return a string", async () => {
    const { fetch, sent } = setup([], { partition: () => undefined as unknown as string });
    await expect(fetch(URL_OF_API)).rejects.toThrow(
      "partition: must return a string, got undefined",
    );
    expect(sent).toHaveLength(0);
  });

  it("does not repeat what a client below has given up on", async () => {
    const below = setup(() => reset(), { failuresMax: 1, retriesMax: 0 });
    await below.fetch(URL_OF_API).catch(() => {});
    const { fetch, finish } = setup([], { fetch: below.fetch });
    const open = { code: "SLUICE_CLIENT_CIRCUIT_OPEN" };
    await expect(finish(fetch(URL_OF_API))).rejects.toMatchObject(open);
    expect(fetch.stats).toMatchObject({ attempts: 1, failures: 0 });
  });
});

function* each<T>(items: readonly T[]): Generator<T> {
  yield* items;
}

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

  it("has the digest of a long path, such as that of a data: URL", () => {
    const routes = ["a", "b"].map((end) =>
      routeNameOf("GET", `text/plain,${"x".repeat(1e6)}${end}`),
    );
    expect(Math.max(...routes.map(({ length }) => length))).toBeLessThan(100);
    expect(new Set(routes).size).toBe(2);
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
