import { describe, expect, it } from "vitest";
import { byName, requestHandlerOf, requestOf } from "../../../../test/handler-stand.js";
import { fixedWindow } from "../../../limits/limits.js";
import type { Facts } from "../../../rules/facts.js";
import { callerBlocks } from "../../../rules/policy/operator/caller-blocks.js";
import type { PolicyDecision } from "../../../rules/policy/policy-request/policy-decision.js";
import type { HttpRequest } from "../http-request.js";
import type { IdentityOptions, TokenVerifier } from "../identity.js";
import { toIdentity } from "../identity.js";
import type { KeyAnswer, KeyResolver } from "./key-resolver.js";
import { SharedKey } from "./shared-key.js";

const one = fixedWindow({ limit: 1, windowMs: 60_000 });
const two = fixedWindow({ limit: 2, windowMs: 60_000 });
const many = fixedWindow({ limit: 1_000, windowMs: 60_000 });

const KEYS: Readonly<Record<string, KeyAnswer>> = {
  "key-a": { id: "a", tenant: "acme", tier: "pro", plan: "gold", attributes: { region: "eu" } },
  "key-a2": { id: "a", tenant: "acme" },
  "key-b": { id: "b", tenant: "beta" },
  away: "unchecked",
  unlimited: "anonymous",
};

function resolverOf(): { keyResolver: KeyResolver; asked: string[] } {
  const asked: string[] = [];
  const resolve = (key: string) => {
    asked.push(key);
    return Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;
  };
  return { keyResolver: { resolve }, asked };
}

function withKey(key: string, more: object = {}) {
  return { headers: { "x-api-key": key, ...more } };
}

describe("a request with an API key that a resolver knows", () => {
  it("is counted by tenant, tier and attributes of the key, immediately", () => {
    const { keyResolver } = resolverOf();
    const rules = [
      { id: "tenants", key: "tenant", limit: one, tiers: { pro: two } },
      { id: "regions", key: "attribute:region", limit: many, onMissing: "skip" },
    ];
    const { handle } = requestHandlerOf(rules, { identity: { keyResolver } });
    const limits = () => handle(withKey("key-a")).decision.results.map(({ rule }) => rule);
    expect(limits()).toEqual(["tenants", "regions"]);
    expect(handle(withKey("key-a")).refusal).toBeUndefined();
    expect(handle(withKey("key-a")).refusal?.status).toBe(429);
    expect(handle(withKey("key-b")).refusal).toBeUndefined();
    expect(handle(withKey("key-b")).refusal?.status).toBe(429);
  });

  it("is counted by the id of the key, so that a rotated key shares its counter", () => {
    const { keyResolver } = resolverOf();
    const rules = [{ id: "keys", key: "apiKey", limit: one }];
    const { handle } = requestHandlerOf(rules, { identity: { keyResolver } });
    expect(handle(withKey("key-a")).decision.allowed).toBe(true);
    expect(handle(withKey("key-a2")).refusal?.reason).toBe("limit");
    expect(handle(withKey("key-b")).decision.allowed).toBe(true);
  });

  it("is counted in the same way if the resolver has one answer for all keys of a tenant", () => {
    const shared = new SharedKey({ tenant: "a|c", tier: "pro" }, (sent) => sent.slice(0, 3));
    const keyResolver: KeyResolver = {
      resolve: (sent) => (sent.startsWith("k") ? shared : { id: "own", tenant: "a|c" }),
    };
    const keysOf = (key: string | readonly string[], sent: string) => {
      const rules = [{ id: "r", key, limit: many, tiers: { pro: two } }];
      const { handle } = requestHandlerOf(rules, { identity: { keyResolver } });
      const { charges } = handle(withKey(sent)).decision;
      return charges.map((charge) => [charge.key, charge.verdict.limit]);
    };
    expect(keysOf("tenant", "k01-secret")).toEqual([["tenant:a%7Cc", 2]]);
    expect(keysOf("tenant", "other")).toEqual([["tenant:a%7Cc", 1_000]]);
    expect(keysOf("apiKey", " k01-secret ")).toEqual([["apiKeyHash:k01", 2]]);
    expect(keysOf(["tenant", "apiKey"], "k02-secret")).toEqual([
      ["tenant:a%7Cc|apiKeyHash:k02", 2],
    ]);
  });

  it("has the facts of the key, whatever headers and tokens say of tenant and tier", async () => {
    const { keyResolver } = resolverOf();
    const jwt: TokenVerifier = {
      header: "authorization",
      claimsOf: async () => ({ sub: "42", tier: "enterprise", region: "us", team: "x" }),
    };
    const identity = toIdentity({
      keyResolver,
      jwt,
      tenant: { header: "x-tenant", trust: "anyone" },
      tier: { claim: "tier" },
      user: { claim: "sub" },
      attributes: { region: { claim: "region" }, team: { claim: "team" } },
    });
    const factsOf = async (key: string) => {
      const request = requestOf(withKey(key, { "x-tenant": "other" }));
      const facts = await identity.identify(request, identity.read(request), { body: false });
      if (!("user" in facts)) throw new Error("refused");
      const { apiKey, tenant, tier, plan, user, attributes } = facts;
      return { apiKey, tenant, tier, plan, user, ...attributes };
    };
    expect(await factsOf("key-a")).toEqual({
      apiKey: "a",
      tenant: "acme",
      tier: "pro",
      plan: "gold",
      user: "42",
      region: "eu",
      team: "x",
    });
    // The tier of another caller's token is not that of the key.
    expect(await factsOf("key-b")).toMatchObject({ tenant: "beta", tier: undefined, region: "us" });
  });

  it("is matched by the scopes of the key, and by no scope that a header names", () => {
    const shared = new SharedKey({ tenant: "acme", scopes: ["read", "export"] }, () => "a");
    const keys: Readonly<Record<string, KeyAnswer>> = {
      both: shared,
      plain: { id: "b", tenant: "beta" },
      one: { id: "c", scopes: ["export"] },
    };
    const rules = [
      { id: "exports", match: { attributes: { scope: "export" } }, key: "apiKey", limit: many },
      { id: "reads", match: { attributes: { scope: ["read"] } }, key: "apiKey", limit: many },
    ];
    const attributes = { scope: { header: "x-scope", trust: "anyone" } } as const;
    const { handle } = requestHandlerOf(rules, {
      identity: { keyResolver: { resolve: (sent) => keys[sent] }, attributes },
    });
    const rulesOf = (sent: string) =>
      handle(withKey(sent, { "x-scope": "read" })).decision.results.map(({ rule }) => rule);
    expect(rulesOf("both")).toEqual(["exports", "reads"]);
    expect(rulesOf("plain")).toEqual([]);
    expect(rulesOf("one")).toEqual(["exports"]);
  });

  it("waits for an answer that takes time, and reads the clock after it", async () => {
    let answer: (found: KeyAnswer) => void = () => {};
    const resolve = () => new Promise<KeyAnswer>((found) => (answer = found));
    const rules = [{ id: "keys", key: "apiKey", limit: one }];
    const { requestHandler } = requestHandlerOf(rules, {
      identity: { keyResolver: { resolve } },
    });
    const handled = requestHandler.handle(requestOf(withKey("key-a")));
    answer({ id: "a" });
    expect((await handled).decision.allowed).toBe(true);
  });
});

describe("a request whose rules all wait for its API key", () => {
  const rules = [{ id: "tenants", key: "tenant", limit: one, tiers: { pro: two } }];

  it("is reported once, whether its key is known or not", () => {
    const { keyResolver } = resolverOf();
    const reported: unknown[] = [];
    const onDecision = ({ allowed, reason, limit }: PolicyDecision, { tenant }: Facts) =>
      reported.push([allowed, reason, limit, tenant]);
    const { handle } = requestHandlerOf(rules, { identity: { keyResolver } }, { onDecision });
    for (const key of ["key-a", "key-b", "wrong"]) handle(withKey(key));
    expect(reported).toEqual([
      [true, undefined, 2, "acme"],
      [true, undefined, 1, "beta"],
      [false, "unknown-api-key", Number.POSITIVE_INFINITY, undefined],
    ]);
  });

  it("is refused by a block of its address before a resolver is asked, and by one of its tenant after", () => {
    const { keyResolver, asked } = resolverOf();
    const { handle, requestHandler } = requestHandlerOf(rules, { identity: { keyResolver } });
    const block = (subject: string) =>
      requestHandler.policy.blockCallers(callerBlocks([{ subject, reason: "abuse" }]));
    block("ip:203.0.113.10");
    expect(handle(withKey("key-a")).decision.reason).toBe("blocked");
    expect(asked).toEqual([]);
    block("tenant:acme");
    expect(handle(withKey("key-a")).decision.reason).toBe("blocked");
    expect(handle(withKey("key-b")).decision.allowed).toBe(true);
    requestHandler.policy.blockCallers(undefined);
    expect(handle(withKey("key-a")).decision.allowed).toBe(true);
  });

  it("has its body read where a rule counts by it", async () => {
    const { keyResolver } = resolverOf();
    const login = { id: "logins", key: "body:name", limit: one };
    const { requestHandler } = requestHandlerOf([login], { identity: { keyResolver } });
    const send = () =>
      requestHandler.handle(requestOf({ ...withKey("key-a"), readBody: () => ({ name: "ann" }) }));
    expect([(await send()).decision.allowed, (await send()).decision.allowed]).toEqual([
      true,
      false,
    ]);
  });
});

describe("a request with an unknown API key", () => {
  const rules = [
    { id: "keys", key: "apiKey", limit: many },
    { id: "addresses", key: "ip", limit: two },
  ];

  it("is refused with 401, a challenge and a problem body, and no caller is charged for it", () => {
    const { keyResolver } = resolverOf();
    const { handle } = requestHandlerOf(rules, { identity: { keyResolver } });
    const { refusal, decision } = handle(withKey("wrong"));
    expect(refusal).toMatchObject({ status: 401, reason: "unknown-api-key" });
    expect(byName([...(refusal?.fields ?? [])])).toMatchObject({
      "cache-control": "no-store",
      "content-type": "application/problem+json",
      "www-authenticate": 'ApiKey header="X-API-Key"',
    });
    expect(JSON.parse(refusal?.body ?? "")).toEqual({
      type: "about:blank",
      title: "Unauthorized",
      status: 401,
      code: "API_KEY_UNKNOWN",
      detail: "The API key is unknown, has expired or was revoked.",
      "violated-policies": [],
      retryAfterMs: null,
    });
    expect(decision.results.map(({ rule }) => rule)).toEqual(["addresses"]);
    expect(decision.toJSON()).toMatchObject({ allowed: false, reason: "unknown-api-key" });
  });

  it("is limited by address first: then no resolver is asked", () => {
    const { keyResolver, asked } = resolverOf();
    const { handle, clock } = requestHandlerOf(rules, { identity: { keyResolver } });
    const statuses = () =>
      ["x1", "x2", "x3", "x4"].map((key) => handle(withKey(key)).refusal?.status);
    expect(statuses()).toEqual([401, 401, 429, 429]);
    expect(asked).toEqual(["x1", "x2"]);
    clock.advance(60_000);
    expect(statuses()).toEqual([401, 401, 429, 429]);
  });

  it("counts under a rule for failed logins, and leaves no permit taken", () => {
    const { keyResolver } = resolverOf();
    const { handle } = requestHandlerOf(
      [
        { id: "failures", when: { status: [401] }, limit: two },
        { id: "parallel", limit: { concurrency: { limit: 1, permitMs: 60_000 } } },
      ],
      { identity: { keyResolver } },
    );
    const statuses = ["x", "x", "x"].map((key) => handle(withKey(key)).refusal?.status);
    expect(statuses).toEqual([401, 401, 429]);
  });

  it.each<[string, object[]]>([
    ["no rule is there", []],
    ["no rule counts by key", [{ id: "addresses", limit: many }]],
    ["the address is exempt", [{ id: "addresses", limit: many, exempt: { ips: ["0.0.0.0/0"] } }]],
  ])("is refused where %s", (_, some) => {
    const { keyResolver } = resolverOf();
    const { handle } = requestHandlerOf(some, { identity: { keyResolver } });
    expect(handle(withKey("wrong")).refusal?.status).toBe(401);
    expect(handle(withKey("key-a")).refusal).toBeUndefined();
  });

  it("is refused while every rule is switched off", () => {
    const { keyResolver } = resolverOf();
    const { handle, requestHandler } = requestHandlerOf(rules, { identity: { keyResolver } });
    requestHandler.policy.disable();
    expect(handle(withKey("wrong")).refusal?.status).toBe(401);
  });

  it("goes on as anonymous if the options say so, and is not counted as any key", () => {
    const { keyResolver } = resolverOf();
    const { handle } = requestHandlerOf(
      [{ id: "keys", key: "apiKey", limit: one, onMissing: "ip" }],
      { identity: { keyResolver, unknownKeys: "anonymous" } },
    );
    expect(handle(withKey("wrong")).refusal).toBeUndefined();
    expect(handle(withKey("other")).refusal?.status).toBe(429);
    expect(handle(withKey("key-a")).refusal).toBeUndefined();
    expect(handle(withKey("unlimited")).refusal?.status).toBe(429);
  });

  it("gets the same from peek and from GET /rate_limit", async () => {
    const { keyResolver } = resolverOf();
    const { requestHandler } = requestHandlerOf(rules, { identity: { keyResolver } });
    const request = requestOf(withKey("wrong"));
    expect(await requestHandler.peek(request)).toMatchObject({ allowed: false });
    expect(await requestHandler.status(request)).toMatchObject({ status: 401 });
  });

  it("is one that can't be checked, if the resolver says so: with a time to try again", () => {
    const { keyResolver } = resolverOf();
    const { handle } = requestHandlerOf(rules, {
      identity: { keyResolver, unknownKeys: "anonymous" },
    });
    const { refusal } = handle(withKey("away"));
    expect(refusal).toMatchObject({ status: 401, reason: "unchecked-api-key" });
    expect(byName([...(refusal?.fields ?? [])])).toMatchObject({ "retry-after": "1" });
    expect(JSON.parse(refusal?.body ?? "")).toMatchObject({
      code: "API_KEY_UNCHECKED",
      detail: "The API key could not be verified. Try again in 1 second.",
    });
  });
});

describe("a key resolver", () => {
  it("is not asked for requests without a key, which are decided as ever", () => {
    const { keyResolver, asked } = resolverOf();
    const rules = [{ id: "addresses", limit: one }];
    const { handle } = requestHandlerOf(rules, { identity: { keyResolver } });
    expect(handle().refusal).toBeUndefined();
    expect(handle({ headers: { "x-api-key": " " } }).refusal?.status).toBe(429);
    expect(asked).toEqual([]);
  });

  it.each<[string, IdentityOptions["apiKey"], HttpRequest["headers"], string]>([
    ["two different keys", {}, { "x-api-key": "key-a, key-b" }, 'ApiKey header="X-API-Key"'],
    ["two lines", {}, { "x-api-key": ["key-a", "key-b"] }, 'ApiKey header="X-API-Key"'],
    ["a key of 5,000 characters", {}, { "x-api-key": "k".repeat(5_000) }, "ApiKey header"],
    [
      "an unknown bearer",
      { scheme: "Bearer" },
      { authorization: "Bearer x" },
      'Bearer error="invalid_token"',
    ],
  ])("refuses %s", (_, apiKey = {}, headers, challenge) => {
    const { keyResolver } = resolverOf();
    const { handle } = requestHandlerOf([], { identity: { keyResolver, apiKey } });
    const { refusal } = handle({ headers });
    expect(refusal?.status).toBe(401);
    expect(byName([...(refusal?.fields ?? [])])["www-authenticate"]).toContain(challenge);
  });

  it.each([[{}], [{ id: "" }], [42], [null], [{ id: "x".repeat(257) }]])(
    "that answers %j fails the request, which shows no value",
    (answer) => {
      const keyResolver = { resolve: () => answer as unknown as KeyAnswer };
      const { handle } = requestHandlerOf([], { identity: { keyResolver } });
      expect(() => handle(withKey("key-a"))).toThrow(/identity.keyResolver must answer an object/);
    },
  );

  it("that rejects fails the request, and what was counted by address is refunded", async () => {
    const resolve = () => Promise.reject(new Error("broken"));
    const { requestHandler, handle } = requestHandlerOf([{ id: "addresses", limit: one }], {
      identity: { keyResolver: { resolve } },
    });
    await expect(requestHandler.handle(requestOf(withKey("key-a")))).rejects.toThrow("broken");
    expect(handle().refusal).toBeUndefined();
  });

  it.each<[object, RegExp]>([
    [{ keyResolver: {} }, /keyResolver must have a function resolve\(key\)/],
    [{ keyResolver: null }, /keyResolver must have a function resolve\(key\)/],
    [{ unknownKeys: "refuse" }, /unknownKeys needs keyResolver/],
    [{ keyResolver: { resolve: () => undefined }, unknownKeys: "allow" }, /unknownKeys must be/],
  ])("is refused as %j", (options, message) => {
    expect(() => toIdentity(options as IdentityOptions)).toThrow(message);
  });
});
