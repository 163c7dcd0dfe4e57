import { describe, expect, it } from "vitest";
import { quota, reset, setup, URL_OF_API } from "../../../test/client/stubbed-client.js";

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

  it("does not stop when the server reports nothing any more, or the first request after a reset fails", async () => {
    const { fetch, sent, finish } = setup([quota(0, 50), reset()], { retriesMax: 0 });
    await finish(fetch(URL_OF_API));
    await expect(finish(fetch(URL_OF_API))).rejects.toThrow("fetch failed");
    const atMs = sent[1]?.atMs ?? 0;
    expect(atMs).toBeGreaterThanOrEqual(50_000);
    for (let i = 0; i < 100; i++) await finish(fetch(URL_OF_API));
    expect((sent.at(-1)?.atMs ?? 0) - atMs).toBeLessThan(1_000);
  });

  it.each<[string, Record<string, string>]>([
    ["of routes that report no quota", {}],
    ["that come from a cache", { age: "5", ratelimit: '"all";r=10;t=3600' }],
  ])("is not used up by responses %s", async (_what, fields) => {
    const { fetch, sent, finish } = setup((): Response => {
      const isFirst = sent.length === 1;
      return isFirst ? quota(10, 3_600) : new Response("", { headers: fields });
    });
    await finish(fetch(URL_OF_API));
    for (let i = 0; i < 100; i++) await finish(fetch("https://api.example.com/picture"));
    expect(sent.at(-1)?.atMs).toBeLessThan(1_000);
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
});
