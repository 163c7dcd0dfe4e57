import { describe, expect, it } from "vitest";
import { refusal, reset, setup, URL_OF_API } from "../../../test/client/stubbed-client.js";
import type { ClientEvent } from "../events.js";
import { createFetch, type FetchOptions } from "./create-fetch.js";
import type { RequestControls } from "./fetch-request.js";

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
