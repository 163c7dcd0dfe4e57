// The cost of a value grows only linearly with its length, whatever it is counted as and whichever way it
// comes in. Cost is CPU time, the least of several runs: other work on the machine can only add to it.

import { createRequestHandler, type HttpRequest, parseBody } from "sluice/http";
import { createPolicy, parseRules } from "sluice/rules";
import { connectTo, type RawClient } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestListener, type TestListener } from "../decision-listener.js";
import { type GatewayFixture, startGateway, startUpstream, stopAll } from "../proxy-fixture.js";
import { COSTS, FIELDS, HOSTS, type Make, PATHS, TEXTS } from "./long-values.js";

const limit = { fixedWindow: { limit: 1_000_000, windowMs: 3_600_000, align: "first" } };
const skipped = { limit, onMissing: "skip" };
const RULES = [
  { id: "endpoint", key: "endpoint", match: { path: "/*" }, limit },
  { id: "path", key: "global", match: { path: ["/users/:id", "/a/*/é"] }, limit },
  { id: "host", key: "global", match: { host: ["*.example.com", "api.example.org"] }, limit },
  { id: "matched", key: "global", match: { headers: { "x-plan": ["gold"] } }, limit },
  { id: "header", key: "header:x-plan", ...skipped },
  { id: "secret", key: "header:x-token", ...skipped },
  { id: "cookie", key: "cookie:a", ...skipped },
  { id: "key", key: "apiKey", ...skipped },
  { id: "user", key: "user", ...skipped },
  { id: "body", key: "body:username", ...skipped },
  { id: "network", key: ["ipPrefix:24/48", "tenant"], ...skipped },
  { id: "cost", key: "ip", limit, cost: { json: "max_tokens", max: 50, otherwise: 1 } },
  { id: "attribute", key: "attribute:country", ...skipped },
  { id: "fingerprint", key: "fingerprint", ...skipped },
  {
    id: "challenged",
    key: "ip",
    match: { path: "/challenged" },
    limit: { fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } },
    onExceed: "challenge",
  },
];
const CHALLENGE = {
  secrets: ["a secret of at least thirty-two characters"],
  difficulty: 6,
  lifetimeMs: 120_000,
};
const IDENTITY = {
  apiKey: { header: "x-api-key", query: "key" },
  user: { header: "x-user", trust: "anyone" },
  tenant: { header: "x-tenant", trust: "anyone" },
  attributes: { country: { header: "x-country", trust: "anyone" } },
  fingerprintHeader: "x-ja4",
  trustedProxies: ["127.0.0.1"],
} as const;
const FORWARDED = { ...IDENTITY, clientAddress: "forwarded" } as const;

/** A request as clients send it. */
interface Sent {
  readonly path?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A kind of value, and how a request carries it. */
interface Kind {
  readonly makes: Readonly<Record<string, Make>>;
  readonly send: (text: string) => Sent;
}

const ESCAPED: Kind["makes"] = Object.fromEntries(
  Object.entries(TEXTS).map(([name, make]) => [name, (length: number) => toEscaped(make, length)]),
);

/** Escapes take more room than what they spell. */
function toEscaped(make: Make, length: number): string {
  const toText = (text: string) => encodeURIComponent(Buffer.from(text).toString());
  return toText(make(Math.floor((length * 512) / toText(make(512)).length)));
}

function inField(name: string): Kind {
  return { makes: FIELDS, send: (text) => ({ fields: { [name]: text } }) };
}

/** What a head can carry. */
const IN_HEAD: Readonly<Record<string, Kind>> = {
  "escaped text in a path": { makes: ESCAPED, send: (text) => ({ path: `/${text}` }) },
  path: { makes: PATHS, send: (text) => ({ path: `/${text}` }) },
  query: { makes: PATHS, send: (text) => ({ path: `/?${text}` }) },
  "escaped text in a query": { makes: ESCAPED, send: (text) => ({ path: `/?key=${text}` }) },
  "escaped text in a cookie": {
    makes: ESCAPED,
    send: (text) => ({ fields: { cookie: `a=${text}` } }),
  },
  cookie: inField("cookie"),
  header: inField("x-plan"),
  "secret header": inField("x-token"),
  "API key": inField("x-api-key"),
  user: inField("x-user"),
  tenant: inField("x-tenant"),
  attribute: inField("x-country"),
  fingerprint: inField("x-ja4"),
  "pass in a header": {
    makes: FIELDS,
    send: (text) => ({ path: "/challenged", fields: { "sluice-pass": text } }),
  },
  "pass in a cookie": {
    makes: ESCAPED,
    send: (text) => ({ path: "/challenged", fields: { cookie: `sluice-pass=${text}` } }),
  },
  Forwarded: inField("forwarded"),
  "X-Forwarded-For": inField("x-forwarded-for"),
  Connection: inField("connection"),
  "Content-Type": inField("content-type"),
  host: { makes: HOSTS, send: (text) => ({ fields: { host: text } }) },
};

const IN_BODY: Readonly<Record<string, Kind>> = {
  "JSON body of a cost": {
    makes: COSTS,
    send: (body) => ({ fields: { "content-type": "application/json" }, body }),
  },
  "field of a JSON body": { makes: TEXTS, send: (text) => toJson({ username: text }) },
  "field of a form": {
    makes: ESCAPED,
    send: (text) => ({
      fields: { "content-type": "application/x-www-form-urlencoded" },
      body: `username=${text}`,
    }),
  },
};

function toJson(fields: object): Sent {
  return { fields: { "content-type": "application/json" }, body: JSON.stringify(fields) };
}

/** Servers accept heads of 16 KiB, and a body that is counted by may be as long. */
const LENGTH_MAX = 15_000;
const SHORTER = 4;
/** The most that a value of this length may cost, even on a slow machine; a longer one in proportion. */
const COST_MS_MAX = 8;
/** Four times the length is four times the cost; the square of it would be sixteen times. */
const GROWTH_MAX = 8;
/** Below this cost, growth is not judged. */
const NOISE_MS = 0.5;
const RUNS = 3;
const LOOKS_MAX = 7;

type Ask = (text: string) => unknown;

/** The CPU time of one run in milliseconds, the least of several. */
async function costOf(ask: Ask, text: string): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS; run++) {
    const start = process.cpuUsage();
    await ask(text);
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

/** What is wrong with the cost of a value; undefined if nothing is. */
async function findExcess(ask: Ask, make: Make, lengthMax: number): Promise<string | undefined> {
  const texts = [make(Math.floor(lengthMax / SHORTER)), make(lengthMax)] as const;
  const costMsMax = COST_MS_MAX * Math.max(1, lengthMax / LENGTH_MAX);
  let [short, long] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // Measured again before it counts as too expensive: on a busy machine the garbage collector may disturb a run.
  for (let look = 0; look < LOOKS_MAX; look++) {
    short = Math.min(short, await costOf(ask, texts[0]));
    long = Math.min(long, await costOf(ask, texts[1]));
    if (long <= costMsMax && long <= GROWTH_MAX * short + NOISE_MS) break;
  }
  if (long > costMsMax) return `${long} ms for ${lengthMax}`;
  if (long > GROWTH_MAX * short + NOISE_MS) return `${short} ms, ${long} ms for ${SHORTER} times`;
  return undefined;
}

async function findExcesses(kind: Kind["makes"], ask: Ask, lengthMax = LENGTH_MAX) {
  const found: Record<string, string> = {};
  for (const [name, make] of Object.entries(kind)) {
    const excess = await findExcess(ask, make, lengthMax);
    if (excess !== undefined) found[name] = excess;
  }
  return found;
}

describe("in the library", () => {
  const policy = createPolicy({ rules: parseRules({ version: 1, rules: RULES }) });
  const listener = createRequestHandler(policy, { identity: IDENTITY, challenge: CHALLENGE });
  const behindForwarded = createRequestHandler(policy, { identity: FORWARDED });

  async function ask({ path = "/", fields = {}, body }: Sent): Promise<void> {
    const request: HttpRequest = {
      method: "POST",
      target: path,
      headers: fields,
      peer: "127.0.0.1",
      raw: {},
      readBody: () => (body === undefined ? undefined : readFields(body)),
    };
    await (fields.forwarded === undefined ? listener : behindForwarded).handle(request);
  }

  function readFields(body: string) {
    return parseBody(body.startsWith("{") ? "json" : "form", Buffer.from(body));
  }

  it.each(Object.entries({ ...IN_HEAD, ...IN_BODY }))("a long %s", async (_, { makes, send }) => {
    expect(await findExcesses(makes, (text) => ask(send(text)))).toEqual({});
  });
});

describe("through the gateway", () => {
  let fixture: GatewayFixture;
  let client: RawClient | undefined;
  beforeAll(async () => {
    const upstream = await startUpstream((request, response) => {
      request.resume();
      response.end();
    });
    fixture = await startGateway(upstream, {
      config: { identity: IDENTITY, challenge: CHALLENGE },
      rules: RULES,
    });
  });
  afterAll(async () => {
    client?.end();
    await stopAll();
  });

  async function ask({ path = "/", fields = {}, body = "" }: Sent): Promise<void> {
    client ??= await connectTo(fixture.url);
    const bytes = Buffer.from(body);
    const all = { host: "a.example.com", ...fields, "content-length": `${bytes.length}` };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    client.text = "";
    client.send(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${bytes.toString("latin1")}`);
    const answer = await client.until((text) => text.includes("\r\n\r\n"));
    if (!answer.includes("Connection: close")) return;
    client.end();
    client = undefined;
  }

  it.each(Object.entries({ ...IN_HEAD, ...IN_BODY }))("a long %s", async (_, { makes, send }) => {
    expect(await findExcesses(makes, (text) => ask(send(text)))).toEqual({});
  });
});

describe("in facts of the decision API", () => {
  let test: TestListener;
  beforeAll(async () => {
    test = await openTestListener({ rules: RULES });
  });
  afterAll(() => test.close());

  const FACTS: Readonly<Record<string, [Kind["makes"], number, (text: string) => object]>> = {
    path: [{ ...PATHS, ...TEXTS, ...ESCAPED }, LENGTH_MAX, (text) => ({ path: `/${text}` })],
    host: [{ ...HOSTS, ...TEXTS }, 4_000, (host) => ({ host })],
    ip: [{ ...HOSTS, ...TEXTS }, 4_000, (ip) => ({ ip })],
    user: [TEXTS, 4_000, (user) => ({ user })],
    tenant: [TEXTS, 4_000, (tenant) => ({ tenant })],
    "API key": [TEXTS, 4_000, (apiKey) => ({ apiKey })],
    header: [{ ...FIELDS, ...TEXTS }, LENGTH_MAX, (text) => ({ headers: { "x-plan": text } })],
    cookie: [{ ...FIELDS, ...TEXTS }, LENGTH_MAX, (a) => ({ cookies: { a } })],
    body: [TEXTS, 4 * LENGTH_MAX, (username) => ({ body: { username } })],
    attribute: [TEXTS, 4 * LENGTH_MAX, (country) => ({ attributes: { country } })],
    fingerprint: [TEXTS, 4_000, (fingerprint) => ({ fingerprint })],
  };

  it.each(Object.entries(FACTS))("a long %s", async (_, [makes, lengthMax, toFacts]) => {
    const ask = async (text: string) => {
      const facts = { method: "GET", path: "/", ...toFacts(text) };
      const { status, body } = await test.post("/v1/check", { facts });
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
    };
    expect(await findExcesses(makes, ask, lengthMax)).toEqual({});
  });
});
