import { describe, expect, it } from "vitest";
import { refusal, reset, settle, setup, URL_OF_API } from "../../../test/client/stubbed-client.js";

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

  it.each<[string, (response: Response) => unknown]>([
    [
      "of another kind, such as that of node-fetch",
      (response) => Object.defineProperty(response, "body", { value: { pipe: () => {} } }),
    ],
    ["that is being read already", ({ body }) => body?.getReader()],
  ])("with a body %s is returned as it is", async (_what, change) => {
    const response = refusal();
    change(response);
    // The retry has to wait, and none may.
    const { fetch, sent, finish } = setup([response], { waitingMax: 0 });
    expect(await finish(fetch(URL_OF_API))).toBe(response);
    expect(sent).toHaveLength(1);
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

  it("without Retry-After waits for the quota that it reports as used up, paced or not", async () => {
    for (const pace of [true, false]) {
      const used = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30" };
      const github = () => new Response("", { status: 403, headers: used });
      const { fetch, sent, finish } = setup([github()], { pace });
      expect((await finish(fetch(URL_OF_API))).status).toBe(200);
      expect(sent).toHaveLength(2);
      expect(sent[1]?.atMs).toBeGreaterThanOrEqual(30_000);
    }
  });

  it("whose quota is back after the deadline costs no retry", async () => {
    const used = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "3000" };
    const { fetch, events, finish } = setup([new Response("", { status: 403, headers: used })]);
    expect((await finish(fetch(URL_OF_API))).status).toBe(403);
    expect(events.map(({ type }) => type)).toEqual(["refused", "attempt", "give-up"]);
    expect(fetch.origins[0]?.retriesLeft).toBe(10);
    expect(fetch.stats).toMatchObject({ retries: 0, unsent: 0 });
  });

  it("that names its quota leaves the rate of other quotas as it is", async () => {
    const core = () => new Response("", { headers: { ratelimit: '"core";r=90;t=60' } });
    const search = refusal({ ratelimit: '"search";r=0;t=1' });
    let next = 0;
    const { fetch, sent, finish } = setup(() => (next++ === 1 ? search : core()));
    await finish(fetch("https://api.example.com/users"));
    void fetch("https://api.example.com/search");
    await settle();
    const atMs = sent.at(-1)?.atMs ?? 0;
    for (let i = 0; i < 20; i++) await fetch("https://api.example.com/users");
    expect(sent.slice(2).every((each) => each.atMs === atMs)).toBe(true);
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

describe("a failure", () => {
  it("of the connection is repeated with full jitter", async () => {
    const { fetch, sent, finish } = setup([reset(), reset()]);
    expect((await finish(fetch(URL_OF_API))).status).toBe(200);
    // Half of 250 ms, and half of 500 ms.
    expect(sent.map(({ atMs }) => atMs)).toEqual([0, 130, 380]);
  });

  it.each([500, 502, 504, 408])(
    "with status %i and Retry-After is repeated no earlier",
    async (status) => {
      const answer = new Response("", { status, headers: { "retry-after": "7" } });
      const { fetch, sent, finish } = setup([answer]);
      expect((await finish(fetch(URL_OF_API))).status).toBe(200);
      expect(sent[1]?.atMs).toBeGreaterThanOrEqual(7_000);
    },
  );

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

  it("costs no more retries at origins that are forgotten and come back", async () => {
    const { fetch, sent, finish } = setup(() => new Response("", { status: 500 }), {
      originsMax: 3,
    });
    for (let i = 0; i < 300; i++) await finish(fetch(`https://host${i % 6}.example/`));
    // Ten for each of the three places, and a tenth of the requests.
    expect(sent.length).toBeLessThanOrEqual(300 + 3 * 10 + 30);
  });
});
