import { memoryStore } from "sluice";
import { connectTo, rawExchange } from "sluice-test-servers";
import { describe, expect, it, vi } from "vitest";
import { HeldStore, later, openWith } from "../../../test/envoy-harness.js";
import type { Decider } from "../decider.js";
import { Health } from "../grpc/health.js";
import { openHttp } from "./http.js";

const FILE = `
domain: web
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 1, name: users }
  - key: free
    rate_limit: { unlimited: true }
`;

async function open() {
  const opened = await openWith(FILE, { hasHttp: true });
  const url = opened.listener.httpUrl as string;
  const post = (body: unknown) =>
    fetch(`${url}/json`, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return { ...opened, url, post };
}

interface Answer {
  readonly statuses: readonly { readonly limitRemaining?: number }[];
}

const alice = { entries: [{ key: "user", value: "alice" }] };

it("POST /json answers 200 with the decision, and 429 with Retry-After beyond the limit", async () => {
  const { post } = await open();
  const first = await post({ domain: "web", descriptors: [alice] });
  expect(first.status).toBe(200);
  expect(first.headers.get("content-type")).toBe("application/json");
  const currentLimit = { name: "users", requestsPerUnit: 1, unit: "MINUTE" };
  expect(await first.json()).toEqual({
    overallCode: "OK",
    statuses: [{ code: "OK", currentLimit, durationUntilReset: "60s" }],
  });
  const second = await post({ domain: "web", descriptors: [alice] });
  expect([second.status, second.headers.get("retry-after")]).toEqual([429, "60"]);
  expect(await second.json()).toEqual({
    overallCode: "OVER_LIMIT",
    statuses: [{ code: "OVER_LIMIT", currentLimit, durationUntilReset: "60s" }],
    responseHeadersToAdd: [{ key: "retry-after", value: "60" }],
  });
});

it("reads names in camelCase and as in the .proto, units by name and number, numbers as strings", async () => {
  const { post } = await open();
  const answers = await Promise.all(
    [
      {
        hits_addend: 2,
        descriptors: [{ ...alice, limit: { requests_per_unit: 5, unit: "HOUR" } }],
      },
      { hitsAddend: "2", descriptors: [{ ...alice, limit: { requestsPerUnit: "6", unit: 3 } }] },
      {
        descriptors: [{ ...alice, limit: { requestsPerUnit: 7, unit: "HOUR" }, hits_addend: "3" }],
      },
      { descriptors: [{ ...alice, limit: null, hitsAddend: 0, is_negative_hits: false }] },
      { descriptors: [{ entries: [{ key: "free" }] }] },
    ].map((request) => post({ domain: "web", ...request }).then((response) => response.json())),
  );
  const left = answers.map((answer) => (answer as Answer).statuses[0].limitRemaining);
  expect(left).toEqual([3, 4, 4, 1, 4_294_967_295]);
});

it.each([
  ["no JSON", "{", "the body is not JSON"],
  ["a list", [], "the request must be an object, got an empty list"],
  ["an unknown field", { domain: "web", hits: 1 }, 'the request has the unknown field "hits"'],
  [
    "a deep unknown field",
    { descriptors: [{ entry: [] }] },
    'descriptors[0] has the unknown field "entry"',
  ],
  ["a wrong type", { domain: 5 }, "domain must be a string, got 5"],
  [
    "a value that is no text",
    { descriptors: [{ entries: [{ key: 1 }] }] },
    "descriptors[0].entries[0].key",
  ],
  ["a negative number", { hitsAddend: -1 }, "hitsAddend must be a whole number"],
  ["a number of 33 bits", { hitsAddend: 2 ** 32 }, "hitsAddend must be a whole number"],
  ["a fraction", { hitsAddend: 0.5 }, "hitsAddend must be a whole number"],
  [
    "no unit of ours",
    { descriptors: [{ limit: { unit: "EON" } }] },
    "descriptors[0].limit.unit must be one of",
  ],
  ["no truth", { descriptors: [{ isNegativeHits: 1 }] }, "isNegativeHits must be true or false"],
  ["no domain", { descriptors: [alice] }, "the domain is empty"],
  ["no descriptors", { domain: "web" }, "there are no descriptors"],
])("answers 400 to %s, and says what it saw", async (_, body, problem) => {
  const { post } = await open();
  const response = await post(body);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(problem);
});

it("answers 413 to a body beyond its bound, 405 and 404 to what it does not serve", async () => {
  const { post, url } = await open();
  expect((await post("x".repeat(65_537))).status).toBe(413);
  expect((await fetch(`${url}/json`)).status).toBe(405);
  expect((await fetch(`${url}/other`)).status).toBe(404);
  expect((await post({ domain: "web", descriptors: [alice] })).status).toBe(200);
});

it("takes what curl sends without a content type", async () => {
  const { url } = await open();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = JSON.stringify({ domain: "web", descriptors: [alice] });
  const response = await fetch(`${url}/json`, { method: "POST", headers, body });
  expect(response.status).toBe(200);
});

describe("a web page", () => {
  const body = JSON.stringify({ domain: "web", descriptors: [alice] });
  const asked = (...fields: string[]) =>
    [
      "POST /json HTTP/1.1",
      "Connection: close",
      "Content-Type: text/plain",
      `Content-Length: ${body.length}`,
      ...fields,
      "",
      body,
    ].join("\r\n");

  it.each([
    ["one of elsewhere", "127.0.0.1", ["Origin: http://example.com"]],
    ["one in a sandbox", "127.0.0.1", ["Origin: null"]],
    ["one whose name leads here by now", "rebound.example", ["Origin: http://rebound.example"]],
    ["one that says only that it is foreign", "127.0.0.1", ["Sec-Fetch-Site: cross-site"]],
    ["one that says nothing but its host", "rebound.example", []],
  ])("can't ask: %s is 403 and counts nothing", async (_, host, fields) => {
    const { url, post } = await open();
    expect(await rawExchange(url, asked(`Host: ${host}`, ...fields))).toMatch(/^HTTP\/1\.1 403 /);
    expect((await post(body)).status).toBe(200);
  });

  it("is not what asks by a name where other machines may ask", async () => {
    // This machine again, but by a name that is not known for it.
    const { listener } = await openWith(FILE, { hasHttp: true, httpHost: "127.1" });
    const answer = await rawExchange(listener.httpUrl as string, asked("Host: ratelimit.example"));
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});

it("decides the requests of a connection one after the other, even if they arrive together", async () => {
  const store = new HeldStore(memoryStore());
  const { listener } = await openWith(FILE, { hasHttp: true, store });
  const url = listener.httpUrl as string;
  const body = JSON.stringify({ domain: "web", descriptors: [alice] });
  const asked = `POST /json HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const client = await connectTo(url);
  later(() => client.end());
  client.send(asked.repeat(3));
  for (let i = 1; i <= 3; i++) {
    await vi.waitUntil(() => store.waiting.length === i, { timeout: 20_000 });
    // A request of another connection comes after all that were there.
    expect((await fetch(`${url}/healthcheck`)).status).toBe(200);
    expect(store.waiting).toHaveLength(i);
    store.waiting[i - 1]();
  }
  const answers = await client.until((seen) => seen.split("statuses").length === 4);
  const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  expect(statuses).toEqual(["200", "429", "429"]);
});

it("has no more connections than it may, and another one when one has ended", async () => {
  const listen = { host: "127.0.0.1", port: 0 };
  const server = await openHttp(listen, {} as Decider, new Health(), 1);
  later(() => server.close());
  const asked = "GET /healthcheck HTTP/1.1\r\nHost: a\r\n\r\n";
  const first = await connectTo(server.url);
  await first.send(asked).until((seen) => seen.endsWith("OK"));
  expect(await rawExchange(server.url, asked)).toBe("");
  first.end();
  await expect
    .poll(() => fetch(`${server.url}/healthcheck`).then((r) => r.status, String))
    .toBe(200);
});

it("/healthcheck answers 200, 500 before it drains, and sends clients away when it does", async () => {
  const { url, listener } = await open();
  const healthy = await fetch(`${url}/healthcheck`);
  expect([healthy.status, await healthy.text()]).toEqual([200, "OK"]);
  const client = await connectTo(url);
  const ask = () => client.send("GET /healthcheck HTTP/1.1\r\nHost: a\r\n\r\n");
  await listener.announceDrain?.();
  const announced = await ask().until((seen) => seen.endsWith("draining"));
  expect(announced).toMatch(/^HTTP\/1\.1 500 /);
  expect(announced).not.toContain("Connection: close");
  const drained = listener.drain();
  expect(await ask().closed()).toContain("Connection: close");
  await drained;
});
