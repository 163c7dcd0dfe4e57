import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fixedWindow } from "../../limits/limits.js";
import { hostileKeys, illFormedKeys } from "../../testing/conformance/hostile-keys.js";
import { KeyNames, looksSecret } from "./keys.js";

const keySecret = "a secret of sixteen";
const limit = fixedWindow({ limit: 1, windowMs: 1000 });
const names = new KeyNames({ prefix: "sluice", keySecret, isSecret: looksSecret });
const counterOf = (scope: string, part = 0) => ({ scope, part, limit });
const nameOf = (key: string, scope: string) => names.value(names.tag(key), scope);
const listOf = (key: string, scope: string, part = 0) =>
  names.tag(key) + names.of(counterOf(scope, part)).list;
// Any string at all, lone surrogates included, and many that look like names.
const anyText = fc.oneof(
  fc.string({ minLength: 1, unit: fc.constantFrom(..."ab:{}%#u0 \n1") }),
  fc.string({ minLength: 1, unit: "binary" }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 8 })
    .map((codes) => String.fromCharCode(...codes)),
);

/** What a Cluster hashes: between the first brace and the first closing one behind it. */
function hashTagOf(name: string): string {
  const open = name.indexOf("{");
  const close = name.indexOf("}", open);
  return open >= 0 && close > open + 1 ? name.slice(open + 1, close) : name;
}

describe("names of keys", () => {
  it("are readable", () => {
    expect(nameOf("ip:203.0.113.10", "login")).toBe("sluice:{ip:203.0.113.10}:login");
    expect(listOf("user:Ünal", "api", 2)).toBe("sluice:{user:Ünal}:api:2:list");
  });

  it("differ wherever keys, limiters or parts differ", () => {
    const named = fc.tuple(anyText, anyText, fc.integer({ min: 0, max: 3 }));
    fc.assert(
      fc.property(named, named, (one, other) => {
        const isSame = one.every((part, i) => part === other[i]);
        expect(listOf(...one) === listOf(...other)).toBe(isSame);
        const isSameLimiter = one[0] === other[0] && one[1] === other[1];
        expect(nameOf(one[0], one[1]) === nameOf(other[0], other[1])).toBe(isSameLimiter);
      }),
      { numRuns: 5_000, seed: 1 },
    );
  });

  it("are never those of another purpose", () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, (key, scope, requestId) => {
        const counters = [0, 1].map((part) => counterOf(scope, part));
        const all = counters.flatMap((counter) => {
          const { list, open } = names.of(counter);
          return [list, open].map((suffix) => names.tag(key) + suffix);
        });
        all.push(nameOf(key, scope));
        all.push(names.request(names.tag(key), counters[0], requestId));
        expect(new Set(all).size).toBe(all.length);
      }),
      { numRuns: 1_000, seed: 1 },
    );
  });

  it("of one key share a slot of a Cluster, whatever braces it has", () => {
    for (const key of [...hostileKeys, ...illFormedKeys]) {
      const tag = names.tag(key);
      const whole = [
        nameOf(key, "a}{b"),
        names.value(tag, "{x}"),
        names.request(tag, counterOf("}"), "{}{id}"),
      ];
      const tags = new Set(whole.map(hashTagOf));
      expect([...tags], JSON.stringify(key.slice(0, 40))).toEqual([hashTagOf(`${tag}:x`)]);
      expect(tags.size).toBe(1);
    }
  });

  it("stay short, also of keys that are not", () => {
    const long = "x".repeat(65_000);
    expect(nameOf(long, long).length).toBeLessThan(200);
    expect(nameOf(long, "a")).not.toBe(nameOf(`${long}x`, "a"));
  });

  it("hold secrets only as keyed hashes", () => {
    const key = "apiKey:sk_live_123456";
    const other = new KeyNames({
      prefix: "sluice",
      keySecret: `${keySecret}!`,
      isSecret: looksSecret,
    });
    expect(names.tag(key)).toMatch(/^sluice:\{apiKey:%s[\w-]{43}\}$/);
    expect(names.tag(key)).toBe(names.tag(key));
    expect(names.tag(key)).not.toBe(other.tag(key));
    for (const kind of ["API_KEY", "token", "session", "access-token", "jwt", "password"]) {
      expect(names.tag(`${kind}:hunter2`)).not.toContain("hunter2");
    }
  });

  it("are refused for secrets if there is nothing to hash them with", () => {
    const bare = new KeyNames({ prefix: "sluice", keySecret: undefined, isSecret: looksSecret });
    expect(() => bare.tag("apiKey:sk_live_123456")).toThrow(
      expect.objectContaining({ code: "SLUICE_KEY_SECRET_MISSING" }),
    );
    expect(() => bare.tag("apiKey:sk_live_123456")).not.toThrow(/sk_live/);
  });
});
