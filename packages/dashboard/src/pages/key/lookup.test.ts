import { describe, expect, it } from "vitest";
import { factsOfKey, idOfSecret, isDigest, lookupOf } from "./lookup.js";

describe("what a URL asks for", () => {
  it("is a caller by what it is known by, or a key of a rule", () => {
    expect(lookupOf({})).toBeUndefined();
    expect(lookupOf({ ip: "", user: "42" })).toEqual({ by: "caller", kind: "user", value: "42" });
    const key = { rule: "login", key: "ip:203.0.113.7" };
    expect(lookupOf({ ...key, path: "/x" })).toEqual({ by: "key", ...key });
    expect([isDigest("hmac:0123"), isDigest("user:hmac:0123")]).toEqual([true, false]);
  });
});

describe("a key as a rule counts it", () => {
  it.each([
    ["ip:203.0.113.7", { ip: "203.0.113.7" }],
    ["ip:2001:db8::/64", { ip: "2001:db8::" }],
    ["ipPrefix:203.0.113.0/24", { ip: "203.0.113.0" }],
    ["tenant:acme|user:a%7Cb%20c", { tenant: "acme", user: "a|b c" }],
    ["apiKeyHash:7Hq2mZpVw9Tb", { apiKeyId: "7Hq2mZpVw9Tb" }],
    ["apiKeyHash:0123456789abcdefghij-_", { apiKeyHash: "0123456789abcdefghij-_" }],
    ["endpoint:POST /users/:id", { method: "POST", path: "/users/:id" }],
    ["header:x-plan:a:b|header:x-b:c", { headers: { "x-plan": "a:b", "x-b": "c" } }],
    ["attribute:country:FR", { attributes: { country: "FR" } }],
    ["user:100%", { user: "100%" }],
    ["global", {}],
  ])("%s is read back into facts", (key, facts) => {
    expect(factsOfKey(key)).toEqual(facts);
  });

  it.each(["cookieHash:sid:abc", "user:%habc", "headerHash:authorization:abc", "nonsense"])(
    "%s can't be",
    (key) => {
      expect(factsOfKey(key)).toBeUndefined();
    },
  );
});

it("takes the id out of a whole API key, so that the key is never in a URL", () => {
  expect(idOfSecret(`slk_7Hq2mZpVw9Tb_${"x".repeat(32)}_1A2b3C`)).toBe("7Hq2mZpVw9Tb");
  expect(idOfSecret("another key")).toBeUndefined();
});
