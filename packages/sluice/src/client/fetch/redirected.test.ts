import { describe, expect, it } from "vitest";
import { createFetch } from "./create-fetch.js";

const HEADERS = {
  "retry-after": "3600",
  "x-ratelimit-remaining": "0",
  "x-ratelimit-reset": "3600",
};

/** A fetch whose requests for /away end at another URL, where the answer is a refusal. */
function setUp(away: { readonly url: string; readonly status: number }) {
  const send = async (input: string | URL | Request) => {
    if (!String(input).endsWith("/away")) return new Response("ok");
    const response = new Response("no", { status: away.status, headers: HEADERS });
    const [url, redirected] = [{ value: away.url }, { value: true }];
    return Object.defineProperties(response, { url, redirected });
  };
  return createFetch({ fetch: send, retriesMax: 0, failuresMax: 1 });
}

describe("a response of an origin that was redirected to", () => {
  it.each([429, 503, 500])(
    "with status %d stops no requests to the one that was asked",
    async (status) => {
      const fetch = setUp({ url: "https://elsewhere.example/", status });
      expect((await fetch("https://api.example/away")).status).toBe(status);
      expect((await fetch("https://api.example/home")).status).toBe(200);
      expect((await fetch("https://api.example/home")).status).toBe(200);
    },
  );

  it("counts if it is the same origin", async () => {
    const fetch = setUp({ url: "https://api.example/there", status: 429 });
    expect((await fetch("https://api.example/away")).status).toBe(429);
    await expect(fetch("https://api.example/home")).rejects.toMatchObject({
      code: "SLUICE_CLIENT_DEADLINE",
    });
  });
});
