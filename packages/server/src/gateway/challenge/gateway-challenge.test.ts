// Challenges through a whole gateway: for scripts, over Redis with two nodes, with workers, and with a provider.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { solveChallenge } from "sluice/http";
import { startRedis } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { fakeFork } from "../../../test/fake-worker.js";
import {
  type FixtureOptions,
  type GatewayFixture,
  startFixture,
} from "../../../test/gateway-fixture.js";
import { reloadsSeen, toGatewayConfig } from "../../../test/lifecycle/in-process.js";
import type { ChallengeConfig } from "../../config/config.js";
import { toConfig } from "../../config/load.js";
import { startPrimary } from "../../workers/primary.js";

const SECRET = "a-secret-of-at-least-thirty-two-characters";
const CHALLENGE: ChallengeConfig = { secrets: [SECRET], difficulty: 6, lifetimeMs: 120_000 };
const RULE = {
  id: "login",
  limit: { fixedWindow: { limit: 2, windowMs: 3_600_000, align: "first" } },
  onExceed: "challenge",
};

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function fixture(options: FixtureOptions = {}): Promise<GatewayFixture> {
  const config = { challenge: CHALLENGE, ...options.config };
  const started = await startFixture({ rules: [RULE], ...options, config });
  closing.push(() => started.close());
  return started;
}

/** Asks until it is refused, and returns the challenge. */
async function exhaust(url: string) {
  for (let i = 0; i < 50; i++) {
    const response = await fetch(url);
    const text = await response.text();
    if (response.status === 429) {
      return JSON.parse(text).challenge as { token: string; bits: number };
    }
  }
  throw new Error("never refused");
}

const send = async (url: string, pass: string) => {
  const response = await fetch(url, { headers: { "Sluice-Pass": pass } });
  await response.text();
  return response.status;
};

describe("a gateway that challenges", () => {
  it("lets a script through that solves the challenge, once, and counts it in the metrics", async () => {
    const { url, upstream, core } = await fixture();
    const pass = solveChallenge(await exhaust(url));
    expect(await send(`${url}/in`, pass)).toBe(200);
    expect(upstream.seen.at(-1)?.url).toBe("/in");
    await exhaust(url);
    expect(await send(url, pass)).toBe(429);
    const text = await core.telemetry.metrics();
    const line = (outcome: string) =>
      `rate_limiter_challenges_total{rule="login",outcome="${outcome}",region="local"} `;
    expect(text).toContain(`${line("passed")}1`);
    expect(text).toContain(`${line("replayed")}1`);
    expect(text).toContain(`${line("issued")}3`);
  });

  it("answers a solution itself, with a cookie: the upstream never sees it", async () => {
    const { url, upstream } = await fixture();
    const pass = solveChallenge(await exhaust(url));
    const seenBefore = upstream.seen.length;
    const kept = await fetch(`${url}/form`, { headers: { "Sluice-Solution": pass } });
    expect(kept.status).toBe(200);
    expect(kept.headers.get("cache-control")).toBe("no-store");
    const cookie = kept.headers.get("set-cookie")?.split(";")[0] ?? "";
    expect(upstream.seen.length).toBe(seenBefore);
    const response = await fetch(`${url}/form`, { headers: { cookie } });
    expect([response.status, await response.text()]).toEqual([200, "/form"]);
  });

  it("sends a page that names nothing of the request, whatever its path", async () => {
    const { url } = await fixture();
    await exhaust(url);
    const path = `/%3Cscript%3Ealert(1)%3C/script%3E?next=https://evil.example/"><img src=x>`;
    const response = await fetch(`${url}${path}`, { headers: { accept: "text/html" } });
    const page = await response.text();
    expect(response.status).toBe(429);
    expect(page).not.toMatch(/alert|evil|img/);
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'; worker-src blob:; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'$/,
    );
    expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
  });

  it("takes a pass once between two nodes over Redis", async () => {
    const redis = await startRedis();
    closing.push(() => redis.stop());
    const store = {
      kind: "redis",
      url: `redis://127.0.0.1:${redis.port}`,
      keyPrefix: undefined,
      timeoutMs: 10_000,
      failReadiness: false,
      onStoreFailure: "closed",
    } as const;
    const one = await fixture({ config: { store } });
    const other = await fixture({ config: { store } });
    const pass = solveChallenge(await exhaust(one.url));
    expect(await send(other.url, pass)).toBe(200);
    await exhaust(one.url);
    expect(await send(one.url, pass)).toBe(429);
    expect(await one.core.telemetry.metrics()).toContain('outcome="replayed"');
    // Of two at the same time, one gets through.
    const both = solveChallenge(await exhaust(one.url));
    const statuses = await Promise.all([one, other, one, other].map(({ url }) => send(url, both)));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(1);
    const texts = await Promise.all([one, other].map(({ core }) => core.telemetry.metrics()));
    const passed = texts.map((text) =>
      Number(
        /challenges_total\{rule="login",outcome="passed",region="local"\} (\d+)/.exec(text)?.[1] ??
          0,
      ),
    );
    expect(passed[0] + passed[1]).toBe(2);
  });

  it("takes a pass once between the workers of a service", async () => {
    const upstream = createServer((_request, response) => response.end("in"));
    await new Promise<void>((done) => upstream.listen(0, "127.0.0.1", done));
    closing.push(() => upstream.close());
    const backend = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    const rules = { version: 1, rules: [RULE] };
    const challenge = { secrets: [SECRET], difficulty: 6 };
    const config = toGatewayConfig(backend, rules, { server: { workers: 2 }, challenge });
    const { fork } = fakeFork(config);
    const service = await startPrimary(config, { fork, telemetry: reloadsSeen().telemetry });
    closing.push(() => service.close());
    const url = service.listeners.find(({ name }) => name === "gateway")?.url ?? "";
    const pass = solveChallenge(await exhaust(url));
    const statuses: number[] = [];
    // The first spends the pass, the second what it gave back, and no later one passes.
    for (let i = 0; i < 6; i++) statuses.push(await send(url, pass));
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(2);
    expect(statuses[0]).toBe(200);
    expect(statuses.slice(2)).toEqual([429, 429, 429, 429]);
  });
});

describe("a provider of the service", () => {
  async function providerOf(answer: (form: URLSearchParams) => [number, string]) {
    const forms: URLSearchParams[] = [];
    const server: Server = createServer(async (request, response) => {
      let text = "";
      for await (const piece of request) text += piece;
      const form = new URLSearchParams(text);
      forms.push(form);
      const [status, body] = answer(form);
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    closing.push(() => server.close());
    const provider = {
      verifyUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/siteverify`,
      secret: "provider-secret",
      siteKey: "0x4AAA",
      scriptUrl: "https://challenges.example.com/api.js",
      className: "cf-turnstile",
      origins: [],
      timeoutMs: 10_000,
      onFailure: "refuse",
    } as const;
    return { forms, provider };
  }

  it("is asked with the secret, the token and the address, and its word counts", async () => {
    const isGood = (form: URLSearchParams): [number, string] => [
      200,
      JSON.stringify({ success: form.get("response") === "good" }),
    ];
    const { forms, provider } = await providerOf(isGood);
    const { url } = await fixture({ config: { challenge: { ...CHALLENGE, provider } } });
    const { token } = await exhaust(url);
    expect(await send(url, `${token}.good`)).toBe(200);
    expect(Object.fromEntries(forms[0])).toEqual({
      secret: "provider-secret",
      response: "good",
      remoteip: "127.0.0.1",
    });
    const next = await exhaust(url);
    expect(await send(url, `${next.token}.bad`)).toBe(429);
  });

  it.each<[string, [number, string]]>([
    ["answers with an error", [500, "{}"]],
    ["answers with no JSON", [200, "<html>"]],
    ["answers with too much", [200, `"${"x".repeat(100_000)}"`]],
    ["redirects", [302, "{}"]],
  ])("that %s lifts nothing, unless failures are accepted", async (_what, answer) => {
    const { provider } = await providerOf(() => answer);
    const strict = await fixture({ config: { challenge: { ...CHALLENGE, provider } } });
    const { token } = await exhaust(strict.url);
    expect(await send(strict.url, `${token}.t`)).toBe(429);
    expect(await strict.core.telemetry.metrics()).toContain('outcome="unavailable"');
    const lenient = await fixture({
      config: { challenge: { ...CHALLENGE, provider: { ...provider, onFailure: "accept" } } },
    });
    const other = await exhaust(lenient.url);
    expect(await send(lenient.url, `${other.token}.t`)).toBe(200);
  });
});

describe("a configuration with challenges", () => {
  const base = {
    gateway: { listen: "127.0.0.1:0" },
    upstreams: { app: { backends: ["http://127.0.0.1:3000"] } },
    routes: [{ path: "/*", upstream: "app" }],
  };
  const rulesOf = (rule: object) => ({
    version: 1,
    rules: [{ id: "r", limit: "1/minute", ...rule }],
  });

  it.each<[string, object, object, RegExp]>([
    [
      "no secrets",
      { onExceed: "challenge" },
      {},
      /rule "r": onExceed is challenge, which needs the section challenge/,
    ],
    [
      "no MMDB file",
      { key: "asn" },
      {},
      /rule "r": asn is never known: name an MMDB file in identity\.mmdb/,
    ],
    ["no MMDB file", { match: { country: "DE" } }, {}, /rule "r": country is never known/],
    [
      "no header",
      { key: "fingerprint" },
      {},
      /rule "r": fingerprint is never known: set identity\.fingerprintHeader/,
    ],
    [
      "a short secret",
      {},
      { challenge: { secrets: ["short"] } },
      /challenge\.secrets\[0\] must be a string of at least 32/,
    ],
    [
      "an untrusted header",
      {},
      { identity: { fingerprintHeader: "x-ja4" } },
      /would never be trusted/,
    ],
    [
      "a missing file",
      {},
      { identity: { mmdb: ["none.mmdb"] } },
      /identity\.mmdb\[0\] .*none\.mmdb" was not found/,
    ],
    [
      "a wrong file",
      {},
      { identity: { mmdb: ["package.json"] } },
      /identity\.mmdb\[0\] .*package\.json" is not an MMDB file/,
    ],
  ])("is refused with %s", (_what, rule, more, message) => {
    expect(() => toConfig({ ...base, rules: rulesOf(rule), ...more })).toThrow(message);
  });

  it("is accepted with what its rules need", () => {
    const rules = rulesOf({ onExceed: "challenge", key: "fingerprint" });
    const identity = { fingerprintHeader: "X-JA4", trustedProxies: ["loopback"] };
    const config = toConfig({ ...base, rules, identity, challenge: { secrets: [SECRET] } });
    expect(config.challenge).toMatchObject({ difficulty: 18, lifetimeMs: 120_000 });
    expect(config.identity.fingerprintHeader).toBe("x-ja4");
  });
});
