import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { requestOf } from "../../../test/http/http-request.js";
import type { Facts } from "../../rules/facts.js";
import type { HttpRequest } from "./http-request.js";
import { type IdentityOptions, type TokenVerifier, toIdentity } from "./identity.js";

const peer = "10.0.0.1";
const trustedProxies = ["10.0.0.0/8"];

function read(options: IdentityOptions, request: Partial<HttpRequest>): Facts {
  return toIdentity(options).read(requestOf({ peer, ...request }));
}

function verifierOf(claims: Record<string, unknown> | undefined): TokenVerifier {
  return { header: "authorization", claimsOf: () => claims };
}

const ALL = { body: true };

describe("headers that name a caller", () => {
  const options: IdentityOptions = {
    trustedProxies,
    user: { header: "X-User-Id" },
    tenant: { header: "x-tenant" },
    tier: { header: "x-tier" },
    attributes: { country: { header: "x-country" }, agent: { header: "x-agent", trust: "anyone" } },
  };
  const headers = {
    "x-user-id": " 42 ",
    "x-tenant": "acme",
    "x-tier": "pro",
    "x-country": "NZ",
    "x-agent": "curl",
  };

  it("are trusted from a trusted peer", () => {
    const { user, tenant, tier, attributes } = read(options, { headers });
    expect({ user, tenant, tier, ...attributes }).toEqual({
      user: "42",
      tenant: "acme",
      tier: "pro",
      country: "NZ",
      agent: "curl",
    });
  });

  it("are not trusted from other peers, except where the option says so", () => {
    const facts = read(options, { headers, peer: "203.0.113.7" });
    expect([facts.user, facts.tenant, facts.tier]).toEqual([undefined, undefined, undefined]);
    expect({ ...facts.attributes }).toEqual({ agent: "curl" });
  });

  it("are not trusted from any peer by default", () => {
    expect(read({ user: { header: "x-user-id" } }, { headers }).user).toBeUndefined();
  });

  it.each([["a, b"], [["a", "b"]], [""], [" "], [undefined]])("count as missing as %j", (value) => {
    expect(read(options, { headers: { "x-user-id": value } }).user).toBeUndefined();
  });

  it("are missing under names that every object has", () => {
    const facts = read(options, { headers });
    expect(facts.attributes?.constructor).toBeUndefined();
    expect(facts.attributes?.toString).toBeUndefined();
  });
});

describe("claims", () => {
  it.each<[string | string[], unknown, string | undefined]>([
    ["sub", { sub: "42" }, "42"],
    ["sub", { sub: 42 }, "42"],
    ["org.id", { org: { id: "acme" } }, "acme"],
    ["org.id", { "org.id": "acme" }, undefined],
    [["https://example.com/org"], { "https://example.com/org": "acme" }, "acme"],
    [["https://example.com/org", "id"], { "https://example.com/org": { id: "acme" } }, "acme"],
    ["sub", {}, undefined],
    ["sub", undefined, undefined],
    ["sub", { sub: "" }, undefined],
    ["sub", { sub: true }, undefined],
    ["sub", { sub: ["42"] }, undefined],
    ["sub", { sub: null }, undefined],
    ["sub.length", { sub: "42" }, undefined],
    ["constructor.name", {}, undefined],
    ["toString", {}, undefined],
  ])("%j of %j is %j", (claim, claims, user) => {
    const jwt = verifierOf(claims as Record<string, unknown> | undefined);
    const identity = toIdentity({ jwt, user: { claim } });
    const request = requestOf({});
    const facts = identity.read(request);
    expect(facts.user).toBeUndefined();
    expect(identity.identify(request, facts, ALL)).toBe(facts);
    expect(facts.user).toBe(user);
  });

  it("are not asked for before the caller has to be known", () => {
    let asked = 0;
    const jwt: TokenVerifier = {
      header: "authorization",
      claimsOf: () => {
        asked++;
        return { sub: "42" };
      },
    };
    const identity = toIdentity({ jwt, user: { claim: "sub" } });
    const request = requestOf({});
    const facts = identity.read(request);
    void [facts.user, facts.ip, facts.attributes];
    expect(asked).toBe(0);
    identity.identify(request, facts, ALL);
    void [facts.user, facts.user];
    expect(asked).toBe(1);
  });

  it("need a verifier", () => {
    expect(() => toIdentity({ user: { claim: "sub" } })).toThrow(/a claim needs jwt/);
  });
});

describe("functions in code", () => {
  it("identify the caller, synchronously or later", async () => {
    const options: IdentityOptions<{ session: string }> = {
      user: (raw) => raw.session,
      tenant: async (raw) => `tenant of ${raw.session}`,
      attributes: { asn: () => 64_496, none: () => undefined, empty: () => "" },
    };
    const identity = toIdentity(options);
    const request = requestOf({ raw: { session: "s1" } });
    const facts = (await identity.identify(request, identity.read(request), ALL)) as Facts;
    expect([facts.user, facts.tenant]).toEqual(["s1", "tenant of s1"]);
    expect({ ...facts.attributes }).toEqual({ asn: "64496", none: undefined, empty: undefined });
  });

  it("stay synchronous if they are", () => {
    const identity = toIdentity({ user: () => "42" });
    const request = requestOf({});
    const facts = identity.read(request);
    expect(identity.identify(request, facts, ALL)).toBe(facts);
    expect(facts.user).toBe("42");
  });

  it("fail the request with what they throw, even if others fail later", async () => {
    const identity = toIdentity({
      user: async () => {
        throw new Error("first");
      },
      tenant: () => {
        throw new Error("second");
      },
      tier: () => Promise.reject(new Error("third")),
    });
    const request = requestOf({});
    await expect(identity.identify(request, identity.read(request), ALL)).rejects.toThrow(
      /first|second/,
    );
  });

  it("may answer with text only, and errors don't show what they answered", async () => {
    const identity = toIdentity({ user: () => ({ password: "hunter2" }) as unknown as string });
    const request = requestOf({});
    const failure = await Promise.resolve(
      identity.identify(request, identity.read(request), ALL),
    ).catch(String);
    expect(failure).toContain(
      "identity.user: the function must return a string, a number or undefined, got object",
    );
    expect(failure).not.toContain("hunter2");
  });
});

describe("identify", () => {
  it("reads the body only if a rule needs it", () => {
    let reads = 0;
    const request = requestOf({
      readBody: () => {
        reads++;
        return { account: "ann" };
      },
    });
    const identity = toIdentity(undefined);
    const facts = identity.read(request);
    identity.identify(request, facts, { body: false });
    expect([reads, facts.body]).toEqual([0, undefined]);
    identity.identify(request, facts, { body: true });
    expect([reads, facts.body]).toEqual([1, { account: "ann" }]);
  });

  it("passes the bounds of a body on", () => {
    const seen: unknown[] = [];
    const request = requestOf({ readBody: (...bounds: unknown[]) => void seen.push(...bounds) });
    const identity = toIdentity({ bodyBytesMax: 100, bodyMsMax: 20 });
    identity.identify(request, identity.read(request), ALL);
    expect(seen).toEqual([expect.objectContaining({ bytesMax: 100, arrivalMsMax: 20 })]);
  });

  it("knows a request by its request too, if its facts were wrapped", () => {
    const identity = toIdentity({ user: () => "42" });
    const facts = identity.identify(requestOf({}), { method: "GET", path: "/" }, ALL) as Facts;
    expect(facts.user).toBe("42");
  });
});

describe("API keys", () => {
  const KEY = "sk_live_51H8secret";

  it("are not looked for by default", () => {
    expect(read({}, { headers: { "x-api-key": KEY } }).apiKey).toBeUndefined();
  });

  it("have one hash of 22 characters wherever they stand", () => {
    const apiKey = { header: "x-api-key", query: "api_key", scheme: "ApiKey" };
    const requests: Partial<HttpRequest>[] = [
      { headers: { "x-api-key": KEY } },
      { target: `/a?b=1&api_key=${KEY}&c=2` },
      { target: `/a?api%5Fkey=${encodeURIComponent(KEY)}#x` },
      { target: `/a?api_key=%73k_live_51H8secret` },
      { headers: { authorization: `apikey ${KEY}` } },
      { headers: { "x-api-key": [KEY, KEY] }, target: `/?api_key=${KEY}` },
    ];
    const hashes = new Set(requests.map((request) => read({ apiKey }, request).apiKey));
    expect(hashes).toEqual(new Set(["RYEYQpNfj3p03X0apaK28A"]));
  });

  it("are looked for in x-api-key, or else in the places that are named only", () => {
    expect(read({ apiKey: {} }, { headers: { "x-api-key": KEY } }).apiKey).toBeDefined();
    expect(
      read({ apiKey: { query: "k" } }, { headers: { "x-api-key": KEY } }).apiKey,
    ).toBeUndefined();
    expect(read({ apiKey: { query: "k" } }, { target: "/?k=1" }).apiKey).toBeDefined();
    const scheme = { apiKey: { scheme: "Bearer" } };
    expect(read(scheme, { headers: { authorization: `Basic ${KEY}` } }).apiKey).toBeUndefined();
    expect(read(scheme, { headers: { authorization: `Bearer ${KEY}` } }).apiKey).toBeDefined();
  });

  it.each<[string, Partial<HttpRequest>]>([
    ["none", {}],
    ["an empty one", { headers: { "x-api-key": " " }, target: "/?api_key=" }],
    ["two lines", { headers: { "x-api-key": ["a", "b"] } }],
    ["two lines that came as one", { headers: { "x-api-key": "a, b" } }],
    ["two parameters", { target: "/?api_key=a&api_key=b" }],
    ["another spelling of the parameter", { target: "/?api_key=a&api.key=b" }],
    [
      "a key in a header and another spelling of the parameter",
      { headers: { "x-api-key": "a" }, target: "/?API_KEY=b" },
    ],
    ["only another spelling of the parameter", { target: "/?Api_Key=a" }],
    ["another one in the query", { headers: { "x-api-key": "a" }, target: "/?api_key=b" }],
  ])("are missing where there is %s", (_, request) => {
    expect(
      read({ apiKey: { header: "x-api-key", query: "api_key" } }, request).apiKey,
    ).toBeUndefined();
  });

  it("have another hash under another secret", () => {
    const hashes = [undefined, "a secret of sixteen", "another secret here"].map((keySecret) => {
      const options = keySecret === undefined ? { apiKey: {} } : { apiKey: {}, keySecret };
      return read(options, { headers: { "x-api-key": KEY } }).apiKey;
    });
    expect(new Set(hashes).size).toBe(3);
  });

  it("can't be bearers where tokens are", () => {
    const jwt = verifierOf({});
    expect(() => toIdentity({ jwt, apiKey: { scheme: "bearer" } })).toThrow(
      /scheme can't be Bearer when jwt reads the Authorization header/,
    );
    expect(() => toIdentity({ jwt, apiKey: { scheme: "ApiKey" } })).not.toThrow();
  });

  it("are found in no fact that is about them", () => {
    const facts = read({ apiKey: {} }, { headers: { "x-api-key": KEY } });
    const { apiKey, user, tenant, tier, attributes, cookies, body, ip, host } = facts;
    const seen = JSON.stringify([apiKey, user, tenant, tier, attributes, cookies, body, ip, host]);
    expect(seen).not.toContain("live");
    expect(Buffer.from(apiKey as string, "base64url").toString("latin1")).not.toContain("live");
  });
});

describe("the host", () => {
  const forwardedHost = { trustedProxies, forwardedHost: true };
  it.each<[string, IdentityOptions, Partial<HttpRequest>, string | undefined]>([
    ["Host", {}, { headers: { host: "API.Example.com:8080" } }, "api.example.com"],
    ["an IPv6 host", {}, { headers: { host: "[2001:DB8::1]:80" } }, "[2001:db8::1]"],
    ["an IPv6 host without port", {}, { headers: { host: "[2001:db8::1]" } }, "[2001:db8::1]"],
    [":authority before Host", {}, { headers: { ":authority": "a", host: "b" } }, "a"],
    ["a whole URL", {}, { target: "http://u@A.example:1/b?c" }, "a.example"],
    ["a path with a URL in it", {}, { target: "/b?c=http://a.example/" }, undefined],
    ["nothing", {}, {}, undefined],
    ["a header not to be trusted", {}, { headers: { host: "a", "x-forwarded-host": "b" } }, "a"],
    ["a trusted header", forwardedHost, { headers: { host: "a", "x-forwarded-host": "B:1" } }, "b"],
    [
      "the nearest of several",
      forwardedHost,
      { headers: { host: "a", "x-forwarded-host": "evil, b" } },
      "b",
    ],
    [
      "a blank trusted header",
      forwardedHost,
      { headers: { host: "a", "x-forwarded-host": "" } },
      "a",
    ],
    [
      "a stranger's header",
      forwardedHost,
      { headers: { host: "a", "x-forwarded-host": "b" }, peer: "203.0.113.7" },
      "a",
    ],
  ])("of %s", (_, options, request, host) => {
    expect(read(options, request).host).toBe(host);
  });
});

describe("the method", () => {
  const headers = { "x-http-method-override": "delete" };
  const methodOverride = "X-HTTP-Method-Override";

  it("is that of the request, whatever a header says, by default", () => {
    expect(read({}, { method: "POST", headers }).method).toBe("POST");
  });

  it("is the one that a POST asks for, if the application honours that", () => {
    expect(read({ methodOverride }, { method: "POST", headers }).method).toBe("DELETE");
    const first = { "x-http-method-override": "PATCH, GET" };
    expect(read({ methodOverride }, { method: "POST", headers: first }).method).toBe("PATCH");
    const own = { header: "x-method", methods: ["GET"] };
    const request = { method: "POST", headers: { "x-method": "get" } };
    expect(read({ methodOverride: own }, request).method).toBe("GET");
  });

  it.each([["GET"], ["TRACE"], [""], ["constructor"]])(
    "is still POST if it asks for %j",
    (asked) => {
      const request = { method: "POST", headers: { "x-http-method-override": asked } };
      expect(read({ methodOverride }, request).method).toBe("POST");
    },
  );

  it("is not changed for a GET", () => {
    expect(read({ methodOverride }, { method: "GET", headers }).method).toBe("GET");
  });
});

describe("facts", () => {
  it("are read once, and only if they are needed", () => {
    let reads = 0;
    const request = requestOf({ peer });
    Object.defineProperty(request, "headers", {
      get: () => {
        reads++;
        return { cookie: "a=1", host: "a.example", "x-forwarded-for": "203.0.113.7" };
      },
    });
    const facts = toIdentity({ trustedProxies, apiKey: {} }).read(request);
    void [facts.method, facts.path, facts.body];
    expect(reads).toBe(0);
    for (const name of ["ip", "host", "cookies", "apiKey"] as const) {
      void facts[name];
      const after = reads;
      expect(facts[name]).toBe(facts[name]);
      expect(reads).toBe(after);
    }
  });

  it("never throw, whatever headers a client sends", () => {
    const identity = toIdentity({
      trustedProxies,
      apiKey: { header: "a", query: "b", scheme: "c" },
      user: { header: "a" },
      forwardedHost: true,
      methodOverride: "a",
    });
    const value = fc.oneof(fc.string(), fc.array(fc.string()), fc.constant(undefined));
    const names = ["a", "authorization", "cookie", "host", "x-forwarded-for", "x-forwarded-host"];
    const fields = fc.record(Object.fromEntries(names.map((name) => [name, value])));
    fc.assert(
      fc.property(fields, fc.string(), fc.string(), (headers, target, method) => {
        const facts = identity.read(requestOf({ headers, target, method, peer }));
        for (const name of ["ip", "host", "apiKey", "cookies", "user", "method"] as const) {
          void facts[name];
        }
      }),
    );
  });
});

describe("options of identity", () => {
  it.each<[unknown, string]>([
    [{ trustProxies: [] }, 'unknown option "trustProxies"'],
    [{ clientAddress: "x-real-ip" }, "clientAddress must be one of x-forwarded-for, forwarded"],
    [{ clientAddress: { header: "" } }, "clientAddress.header must be a name such as x-user-id"],
    [{ user: "x-user-id" }, "identity: user"],
    [{ user: {} }, "identity: user needs a header, a claim or a function, got {}"],
    [{ user: { header: "a", claim: "b" } }, "needs a header, a claim or a function"],
    [{ user: { header: "a b" } }, "user.header must be a name"],
    [{ user: { header: "a", trust: "all" } }, "trust must be one of proxies, anyone"],
    [{ user: { claim: [] } }, "claim must be a name or a list of names"],
    [{ user: { claim: "a..b" } }, "claim must be a name or a list of names"],
    [{ attributes: [] }, "identity: attributes"],
    [{ attributes: { a: 1 } }, "identity: attributes.a"],
    [{ apiKey: true }, "identity: apiKey"],
    [{ apiKey: { query: "" } }, "apiKey.query must be a non-empty string"],
    [
      { keySecret: "short" },
      "keySecret must be a string of at least 16 characters, got 5 characters",
    ],
    [{ jwt: {} }, "jwt must be made by jwtVerifier"],
    [{ jwt: null }, "jwt must be made by jwtVerifier"],
    [{ bodyBytesMax: 0 }, "bodyBytesMax must be a whole number from 1 to 1048576, got 0"],
    [{ bodyMsMax: 1e9 }, "bodyMsMax must be a whole number from 1 to 60000"],
    [
      { methodOverride: { header: "a", methods: [] } },
      "methodOverride.methods must be a list of 1 to 100 items, got 0",
    ],
    [{ forwardedHost: "yes" }, "forwardedHost must be true or false"],
    [7, "needs an object of options"],
  ])("%j are refused with what was seen", (options, message) => {
    expect(() => toIdentity(options as IdentityOptions)).toThrow(message);
  });

  it("never show a secret", () => {
    expect(() => toIdentity({ keySecret: "hunter2" })).toThrow(/^(?!.*hunter2)/);
  });
});
