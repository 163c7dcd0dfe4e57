import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { looksSecret } from "../../stores/redis/keys.js";
import type { Facts } from "../facts.js";
import { NormalizedRequest } from "../match/normalized-request.js";
import { toLoginName, toValue } from "../normalize/normalize-string.js";
import type { Dimension } from "../rule.js";
import { compileKey, describeKey, needsIdentity, VALUE_LENGTH_MAX } from "./key.js";
import { toDimensions, toKeyText } from "./written-key.js";

const base: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };
const named = (kind: "header" | "cookie" | "body" | "attribute", name: string): Dimension => ({
  kind,
  name,
});
const user: Dimension = { kind: "user" };
const tenant: Dimension = { kind: "tenant" };

function keyOf(dimensions: readonly Dimension[], facts: Partial<Facts>, paths: string[] = []) {
  return compileKey(dimensions, paths)(new NormalizedRequest({ ...base, ...facts }, 64));
}

const everything: Facts = {
  method: "head",
  path: "/uSers/42?x",
  ip: "::ffff:203.0.113.77",
  user: "42",
  tenant: "acme",
  apiKey: "q83vEjRWeJCrze8SNFZ4kA",
  headers: {
    "x-plan": "free",
    "x-api-key": "hunter2",
    authorization: "Bearer hunter2",
    "x-twice": ["a", " a "],
    "x-many": ["a", "b"],
  },
  cookies: { sid: "hunter2" },
  body: { email: " Bob@Example.com ", password: "hunter2", id: 7 },
  attributes: { asn: 64500, "a:b": "c", token: "hunter2" },
};

describe("a key", () => {
  it.each<[Dimension, string]>([
    [user, "user:42"],
    [tenant, "tenant:acme"],
    [{ kind: "apiKey" }, "apiKeyHash:q83vEjRWeJCrze8SNFZ4kA"],
    [{ kind: "ip" }, "ip:203.0.113.77"],
    [{ kind: "ipPrefix", ipv4: 24, ipv6: 48 }, "ipPrefix:203.0.113.0/24"],
    [{ kind: "endpoint" }, "endpoint:GET /users/42"],
    [{ kind: "global" }, "global"],
    [named("header", "x-plan"), "header:x-plan:free"],
    [named("header", "x-twice"), "header:x-twice:a"],
    [named("body", "email"), "body:email:bob@example.com"],
    [named("body", "id"), "body:id:7"],
    [named("attribute", "asn"), "attribute:asn:64500"],
    [named("attribute", "a:b"), "attribute:a%3Ab:c"],
  ])("by %j is %s", (dimension, key) => {
    expect(keyOf([dimension], everything)).toBe(key);
  });

  it("of several dimensions has them in their order, and lacks one if the request does", () => {
    const three: Dimension[] = [tenant, user, { kind: "ip" }];
    expect(keyOf([tenant, user], everything)).toBe("tenant:acme|user:42");
    expect(keyOf(three, everything)).toBe("tenant:acme|user:42|ip:203.0.113.77");
    expect(keyOf([user, tenant], { user: "42" })).toBeUndefined();
    expect(keyOf([tenant, user], { user: "42" })).toBeUndefined();
    expect(keyOf(three, { user: "42" })).toBeUndefined();
  });

  it("never holds a secret, and no store takes it for one", () => {
    const secret: Dimension[] = [
      named("cookie", "sid"),
      named("cookie", "theme"),
      named("header", "x-api-key"),
      named("header", "authorization"),
      named("body", "password"),
      named("attribute", "token"),
    ];
    const facts = { ...everything, cookies: { sid: "hunter2", theme: "hunter2" } };
    for (const dimension of [...secret, { kind: "apiKey" } as const]) {
      const key = keyOf([dimension], facts) as string;
      expect(key).toMatch(/^\w+Hash:([\w-]+:)?[\w-]{22}$/);
      expect(key).not.toContain("hunter2");
      expect(looksSecret(key)).toBe(false);
      expect(
        keyOf([dimension], { ...facts, cookies: { sid: "hunter3", theme: "hunter3" } }) === key,
      ).toBe(dimension.kind !== "cookie");
    }
  });

  it.each([
    "proxy-authorization",
    "x-auth-token",
    "x-session-id",
    "x-csrf-token",
    "x-amz-signature",
    "set-cookie",
    "X-API-KEY",
  ])("by the header %s is a hash", (name) => {
    expect(keyOf([named("header", name)], { headers: { [name]: "v" } })).toMatch(/^headerHash:/);
  });

  it.each<[Dimension, Partial<Facts>]>([
    [user, {}],
    [user, { user: " " }],
    [user, { user: {} as string }],
    [{ kind: "ip" }, { ip: "unknown" }],
    [{ kind: "ip" }, { ip: undefined }],
    [{ kind: "ipPrefix", ipv4: 24, ipv6: 48 }, { ip: "unknown" }],
    [named("header", "x-plan"), {}],
    [named("header", "x-plan"), { headers: { "x-plan": [] } }],
    [named("header", "x-many"), everything],
    [named("header", "__proto__"), { headers: {} }],
    [named("header", "constructor"), { headers: {} }],
    [named("cookie", "toString"), { cookies: {} }],
    [named("body", "email"), { body: { email: { $gt: "" } } }],
    [named("body", "email"), { body: { email: ["a"] } }],
    [named("body", "email"), { body: { email: true } }],
    [named("attribute", "asn"), { attributes: { asn: Number.NaN } }],
  ])("by %j is missing from %j", (dimension, facts) => {
    expect(keyOf([dimension], facts)).toBeUndefined();
  });

  it("is the same however its value is written", () => {
    const same = [" josé ", "jose\u0301", "josé\u00a0", "\tjosé"];
    for (const name of same) expect(keyOf([user], { user: name })).toBe("user:jos%C3%A9");
    const login = ["BOB", "bob", "ｂｏｂ", "b\u200bob", "Bob "];
    for (const email of login) {
      expect(keyOf([named("body", "email")], { body: { email } })).toBe("body:email:bob");
    }
  });

  const HOSTILE = [
    "__proto__",
    "constructor",
    "a|user:b",
    "a%7Cuser:b",
    "a|b",
    "a%7Cb",
    "%",
    "%25",
    "%h",
    "%hAAAAAAAAAAAAAAAAAAAAAA",
    "\ud800",
    "\udc00",
    "\ufffd",
    "%uD800",
    "a\u0000",
    "a\u0000b",
    "a",
    "A",
    "a\u202eb",
    "a\u200fb",
    "ab",
    "a\nb",
    "a\\nb",
    "a b",
    "a%20b",
    "x".repeat(VALUE_LENGTH_MAX),
    "x".repeat(VALUE_LENGTH_MAX + 1),
    "x".repeat(65_536),
    `${"x".repeat(65_535)}y`,
    "é".repeat(200),
    "é".repeat(201),
    "ß",
    "ss",
  ];

  it("of hostile values is another for each, printable and bounded", () => {
    const keys = HOSTILE.map(
      (value) => keyOf([tenant, user], { tenant: "a", user: value }) as string,
    );
    expect(new Set(keys).size).toBe(HOSTILE.length);
    for (const key of keys) {
      expect(key).toMatch(/^[!-~]+$/);
      expect(key.length).toBeLessThan(VALUE_LENGTH_MAX + 20);
    }
  });

  it("holds a value of 256 characters, and the digest of a longer one", () => {
    expect(keyOf([user], { user: "x".repeat(256) })).toBe(`user:${"x".repeat(256)}`);
    expect(keyOf([user], { user: "x".repeat(257) })).toMatch(/^user:%h[\w-]{22}$/);
    expect(keyOf([user], { user: "%".repeat(86) })).toMatch(/^user:%h[\w-]{22}$/);
    // One, escaped, is written like the other, but they are different values.
    expect(keyOf([user], { user: "%".repeat(100) })).not.toBe(
      keyOf([user], { user: "%25".repeat(100) }),
    );
  });

  it("by a secret is another for each half of a surrogate pair", () => {
    const keys = ["\ud800", "\ud801", "\ufffd"].map((sid) =>
      keyOf([named("cookie", "sid")], { cookies: { sid } }),
    );
    expect(new Set(keys).size).toBe(3);
  });

  it("is the same only for the same normalised values, whatever they hold", () => {
    const odd = fc.constantFrom(
      "%",
      "|",
      ":",
      "7C",
      "%7C",
      "\u0000",
      "\ud800",
      "é",
      "e\u0301",
      " ",
      "A",
      "a",
    );
    const value = fc.oneof(
      fc.array(odd, { maxLength: 5 }).map((parts) => parts.join("")),
      fc.string({ unit: "binary" }),
      fc.constantFrom(...HOSTILE),
    );
    const dimensions: Dimension[] = [tenant, user, named("body", "email"), named("header", "x")];
    const facts = fc.tuple(value, value, value, value);
    fc.assert(
      fc.property(facts, facts, ([t1, u1, b1, h1], [t2, u2, b2, h2]) => {
        const one = keyOf(dimensions, {
          tenant: t1,
          user: u1,
          body: { email: b1 },
          headers: { x: h1 },
        });
        const two = keyOf(dimensions, {
          tenant: t2,
          user: u2,
          body: { email: b2 },
          headers: { x: h2 },
        });
        const normal = [
          [toValue(t1), toValue(u1), toLoginName(b1), toValue(h1)],
          [toValue(t2), toValue(u2), toLoginName(b2), toValue(h2)],
        ];
        const isWhole = normal.map((parts) => !parts.includes(undefined));
        expect([one !== undefined, two !== undefined]).toEqual(isWhole);
        if (!isWhole.includes(true)) return;
        expect(one === two).toBe(normal[0].every((part, i) => part === normal[1][i]));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("an endpoint", () => {
  const endpoint = (path: string, paths: string[] = [], method = "GET") =>
    keyOf([{ kind: "endpoint" }], { path, method }, paths);

  it("is the pattern that the path fits, parameters by their name", () => {
    const paths = ["/users/:id", "/files/*", "/*"];
    expect(endpoint("/uSers/42/", paths)).toBe("endpoint:GET /users/:id");
    expect(endpoint("/users/43", paths, "head")).toBe("endpoint:GET /users/:id");
    expect(endpoint("/users/43", paths, "POST")).toBe("endpoint:POST /users/:id");
    expect(endpoint("/files/a%2Fb/c", paths)).toBe("endpoint:GET /files/a%2Fb/c");
    expect(endpoint("/users/:id/x", paths)).toBe("endpoint:GET /users/%3Aid/x");
  });

  it("is the path itself under a rule without patterns", () => {
    expect(endpoint("/Users//42/?x")).toBe("endpoint:GET /users/42");
    expect(endpoint("/")).toBe("endpoint:GET /");
  });

  it("is found by either variant of a path with dots", () => {
    expect(endpoint("/users/..", ["/users/:id"])).toBe("endpoint:GET /users/:id");
    expect(endpoint("/x/../users/1", ["/users/:id"])).toBe("endpoint:GET /users/:id");
  });

  it("is bounded", () => {
    const long = endpoint(`/${"a/".repeat(10_000)}`) as string;
    expect(long.length).toBeLessThan(VALUE_LENGTH_MAX);
    expect(long).not.toBe(endpoint(`/${"a/".repeat(10_001)}`));
    expect(endpoint("/", [], "X|".repeat(5))).toBe(`endpoint:${"X%7C".repeat(5)} /`);
  });
});

describe("a key that people write", () => {
  const ip: Dimension = { kind: "ip" };
  const ipPrefix: Dimension = { kind: "ipPrefix", ipv4: 24, ipv6: 48 };

  it.each<[Dimension[], string, string | undefined]>([
    [[user], "user:42", "user:42"],
    [[user], " user: 42 ", "user:42"],
    [[user], "user:jose\u0301", "user:jos%C3%A9"],
    [[user], "user:a%7Cb", "user:a%7Cb"],
    [[user], "user:100%", "user:100%25"],
    [[user], "user:%uD800", "user:%uD800"],
    [[user], "user:%h0123456789abcdefghijkl", "user:%h0123456789abcdefghijkl"],
    [[user], "user:", undefined],
    [[user], "42", undefined],
    [[user], "tenant:42", undefined],
    [[user], "user:a|b", undefined],
    [[tenant, user], "tenant:acme|user:42", "tenant:acme|user:42"],
    [[tenant, user], "user:42|tenant:acme", undefined],
    [[tenant, user], "tenant:acme", undefined],
    [[ip], "ip:203.0.113.10", "ip:203.0.113.10"],
    [[ip], "ip:::ffff:203.0.113.10", "ip:203.0.113.10"],
    [[ip], "ip:2001:DB8::1", "ip:2001:db8::/64"],
    [[ip], "ip:2001:db8::/64", "ip:2001:db8::/64"],
    [[ip], "ip:2001:db8::/56", undefined],
    [[ip], "ip:203.0.113.0/24", undefined],
    [[ip], "ip:example.com", undefined],
    [[ipPrefix], "ipPrefix:203.0.113.77", "ipPrefix:203.0.113.0/24"],
    [[ipPrefix], "ipPrefix:203.0.113.0/24", "ipPrefix:203.0.113.0/24"],
    [[ipPrefix], "subnet:203.0.113.0/24", "ipPrefix:203.0.113.0/24"], // its former name
    [[ipPrefix], "ipPrefix:203.0.113.0/25", undefined],
    [[ipPrefix], "ipPrefix:2001:db8::1", "ipPrefix:2001:db8::/48"],
    [[{ kind: "global" }], "global", "global"],
    [[{ kind: "global" }], "global:x", undefined],
    [[{ kind: "endpoint" }], "endpoint:head /Users/:id/", "endpoint:GET /users/:id"],
    [[{ kind: "endpoint" }], "endpoint:/users", undefined],
    [[{ kind: "endpoint" }], "endpoint:GET users", undefined],
    [[named("body", "email")], "body:email:Bob@Example.com", "body:email:bob@example.com"],
    [[named("header", "x-plan")], "header:x-plan:free", "header:x-plan:free"],
    [[named("header", "x-plan")], "header:x-other:free", undefined],
    [[named("header", "x-api-key")], "header:x-api-key:hunter2", undefined],
    [[named("header", "x-api-key")], "headerHash:x-api-key:hunter2", undefined],
    [
      [named("header", "x-api-key")],
      "headerHash:x-api-key:0123456789abcdefghijkl",
      "headerHash:x-api-key:0123456789abcdefghijkl",
    ],
    [
      [{ kind: "apiKey" }],
      "apiKeyHash:0123456789abcdefghijkl",
      "apiKeyHash:0123456789abcdefghijkl",
    ],
    [[{ kind: "apiKey" }], "apiKey:hunter2", undefined],
  ])("under %j as %s is counted as %s", (dimensions, written, key) => {
    expect(toKeyText(dimensions, written)).toBe(key);
  });

  it("counts IPv6 by the prefix of its rules", () => {
    expect(toKeyText([ip], "ip:2001:db8::1", { ipv6Prefix: 56 })).toBe("ip:2001:db8::/56");
  });

  it("is the key of requests, read back", () => {
    const dimensions: Dimension[] = [
      tenant,
      user,
      ip,
      ipPrefix,
      { kind: "endpoint" },
      { kind: "apiKey" },
      named("header", "x-plan"),
      named("header", "x-api-key"),
      named("cookie", "sid"),
      named("body", "email"),
      named("attribute", "a:b"),
    ];
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), (value) => {
        const facts = { ...everything, user: value, path: `/${value}`, body: { email: value } };
        const key = keyOf(dimensions, facts);
        if (key === undefined) return;
        if (/\p{Cs}/u.test(value)) return;
        expect(toKeyText(dimensions, key)).toBe(key);
        expect(toKeyText(toDimensions(key) ?? [], key)).toBe(key);
      }),
      { numRuns: 2_000 },
    );
  });

  it("says what it is a key of", () => {
    expect(toDimensions("tenant:acme|user:42")).toEqual([tenant, user]);
    expect(toDimensions("headerHash:x-api-key:abc")).toEqual([named("header", "x-api-key")]);
    expect(toDimensions("ipPrefix:203.0.113.0/24")).toEqual([
      { kind: "ipPrefix", ipv4: 24, ipv6: 24 },
    ]);
    expect(toDimensions("apiKeyHash:abc|global")).toEqual([{ kind: "apiKey" }, { kind: "global" }]);
    const badBits = ["ipPrefix:1.2.3.4/0", "ipPrefix:1.2.3.4/33", "ipPrefix:2001:db8::/129"];
    const nones = ["", "x:1", "user:1|", "apiKey:1", "header", "ipPrefix:1.2.3.4", ...badBits];
    for (const none of nones) {
      expect(toDimensions(none), none).toBeUndefined();
    }
  });
});

describe("the type of a key", () => {
  it("names dimensions and no values", () => {
    expect(describeKey([tenant, user])).toBe("tenant|user");
    expect(describeKey([{ kind: "ipPrefix", ipv4: 24, ipv6: 48 }, named("header", "x-plan")])).toBe(
      "ipPrefix:24/48|header:x-plan",
    );
  });

  it("needs an identity where the caller has to prove it or the body to be read", () => {
    const needing = (["user", "tenant", "apiKey", "ip", "endpoint", "global"] as const).filter(
      (kind) => needsIdentity({ kind }),
    );
    expect(needing).toEqual(["user", "tenant"]);
    expect(needsIdentity(named("body", "email"))).toBe(true);
    expect(needsIdentity(named("header", "x"))).toBe(false);
  });
});
