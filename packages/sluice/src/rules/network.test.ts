import { describe, expect, it } from "vitest";
import type { Facts } from "./facts.js";
import { toAsn, toCountry } from "./network.js";
import { parseRules } from "./parse/parse.js";
import { createPolicy } from "./policy/create-policy.js";
import type { PolicyOptions } from "./policy/policy-options.js";

const NETWORKS: Readonly<Record<string, { asn?: number; country?: string }>> = {
  "203.0.113.7": { asn: 64_500, country: "DE" },
  "203.0.113.8": { asn: 64_500, country: "fr" },
  "2001:db8::1": { asn: 64_501 },
  "192.0.2.1": { country: "XX" },
};

function policyOf(rule: object, options: Partial<PolicyOptions> = {}) {
  const asked: string[] = [];
  const rules = { version: 1, rules: [{ id: "r", limit: "1/minute", ...rule }] };
  const policy = createPolicy({
    rules,
    networkOf: (address) => {
      asked.push(address);
      return NETWORKS[address];
    },
    ...options,
  });
  const keyOf = async (facts: Partial<Facts>) => {
    const { charges } = await policy.admit({ method: "GET", path: "/", ...facts });
    return charges[0]?.key;
  };
  return { policy, asked, keyOf };
}

describe("keys by network", () => {
  it("count by autonomous system, by country, and by both", async () => {
    expect(await policyOf({ key: "asn" }).keyOf({ ip: "203.0.113.7" })).toBe("asn:64500");
    expect(await policyOf({ key: "country" }).keyOf({ ip: "203.0.113.8" })).toBe("country:FR");
    const both = policyOf({ key: ["country", "asn", "ip"] });
    expect(await both.keyOf({ ip: "203.0.113.7" })).toBe("country:DE|asn:64500|ip:203.0.113.7");
  });

  it("look an address up once for a request, in one form, and only if a rule needs it", async () => {
    const both = policyOf({ key: ["country", "asn"], match: { country: ["DE"], asn: 64_500 } });
    await both.keyOf({ ip: "::ffff:203.0.113.7" });
    expect(both.asked).toEqual(["203.0.113.7"]);
    const other = policyOf({ key: ["asn"], match: { path: "/login" } });
    await other.keyOf({ ip: "203.0.113.7" });
    expect(other.asked).toEqual([]);
    const plain = policyOf({ key: "ip" });
    await plain.keyOf({ ip: "203.0.113.7" });
    expect(plain.asked).toEqual([]);
  });

  it("treat an address of no known network as a missing identity, never as one bucket", async () => {
    const byIp = policyOf({ key: "asn" });
    expect(await byIp.keyOf({ ip: "198.51.100.1" })).toBe("ip:198.51.100.1");
    expect(await byIp.keyOf({ ip: "198.51.100.2" })).toBe("ip:198.51.100.2");
    const unknown = policyOf({ key: "country" });
    expect(await unknown.keyOf({ ip: "192.0.2.1" })).toBe("ip:192.0.2.1");
    const skipped = policyOf({ key: "asn", onMissing: "skip" });
    expect(await skipped.keyOf({ ip: "198.51.100.1" })).toBeUndefined();
    const refused = policyOf({ key: "asn", onMissing: "refuse" }).policy;
    const decision = await refused.admit({ method: "GET", path: "/", ip: "198.51.100.1" });
    expect(decision).toMatchObject({ allowed: false, reason: "identity", rule: "r" });
  });

  it("take what the facts say before what is looked up", async () => {
    const { keyOf, asked } = policyOf({ key: ["asn", "country"] });
    const facts = { ip: "203.0.113.7", asn: "AS0064999", country: "se" };
    expect(await keyOf(facts)).toBe("asn:64999|country:SE");
    expect(asked).toEqual([]);
  });

  it("count by the fingerprint of the client's software, and by address without one", async () => {
    const { keyOf } = policyOf({ key: "fingerprint" });
    expect(await keyOf({ ip: "203.0.113.7", fingerprint: " t13d1516h2 " })).toBe(
      "fingerprint:t13d1516h2",
    );
    expect(await keyOf({ ip: "203.0.113.7" })).toBe("ip:203.0.113.7");
  });

  it.each([
    ["ipPrefix", "ipPrefix:203.0.113.0/24", "ipPrefix:2001:db8::/48"],
    ["ipPrefix/24", "ipPrefix:203.0.113.0/24", "ipPrefix:2001:db8::/48"],
    ["ipPrefix/16", "ipPrefix:203.0.0.0/16", "ipPrefix:2001:db8::/48"],
    ["ipPrefix/56", "ipPrefix:203.0.113.0/24", "ipPrefix:2001:db8::/56"],
    ["ipPrefix:20/32", "ipPrefix:203.0.112.0/20", "ipPrefix:2001:db8::/32"],
  ])("%s counts by the first bits of an address", async (key, ipv4, ipv6) => {
    const { keyOf } = policyOf({ key });
    expect(await keyOf({ ip: "203.0.113.7" })).toBe(ipv4);
    expect(await keyOf({ ip: "2001:db8:0:1::1" })).toBe(ipv6);
  });

  it.each(["ipPrefix/0", "ipPrefix/129", "ipPrefix:33/48", "ipPrefix/", "asn:1", "Country"])(
    "%s is not a key",
    (key) => {
      const rules = { version: 1, rules: [{ id: "r", limit: "1/minute", key }] };
      expect(() => parseRules(rules)).toThrow(/key must be|key\[0\] must be|did you mean/);
    },
  );

  it("are written by operators as they are counted", async () => {
    const { policy } = policyOf({
      key: "asn",
      overrides: { "asn:AS64500": "2/minute" },
      exempt: { keys: ["asn: 64501"] },
    });
    const admit = (ip: string) => policy.admit({ method: "GET", path: "/", ip });
    expect(await admit("203.0.113.7")).toMatchObject({ limit: 2, remaining: 1 });
    expect((await admit("2001:db8::1")).charges).toEqual([]);
    await policy.block("r", "asn:64500", 1_000);
    expect(await admit("203.0.113.8")).toMatchObject({ allowed: false, reason: "blocked" });
    expect(() => policy.block("r", "asn:none", 1_000)).toThrow(/SLUICE|does not count this key/);
  });

  it("refuse a look-up that answers later, or with something else", async () => {
    const late = policyOf({ key: "asn" }, { networkOf: (async () => ({})) as never }).policy;
    const facts = { method: "GET", path: "/", ip: "203.0.113.7" };
    expect(() => late.admit(facts)).toThrow(/networkOf must return .* got a promise/);
    const odd = policyOf({ key: "asn" }, { networkOf: (() => "DE") as never }).policy;
    expect(() => odd.admit(facts)).toThrow(/networkOf must return .* got string/);
  });
});

describe("match by network", () => {
  const matches = async (match: object, facts: Partial<Facts>) =>
    (await policyOf({ match }).keyOf(facts)) !== undefined;

  it("asks for ranges, systems, countries and fingerprints, one of each list", async () => {
    const ip = "203.0.113.7";
    expect(await matches({ asn: ["AS64499", 64_500] }, { ip })).toBe(true);
    expect(await matches({ asn: 64_501 }, { ip })).toBe(false);
    expect(await matches({ country: ["fr", "de"] }, { ip })).toBe(true);
    expect(await matches({ country: "FR" }, { ip })).toBe(false);
    expect(await matches({ ips: ["198.51.100.0/24", "203.0.113.0/29"] }, { ip })).toBe(true);
    expect(await matches({ ips: ["203.0.113.8"] }, { ip: "::ffff:203.0.113.7" })).toBe(false);
    expect(await matches({ fingerprint: "ja4" }, { ip, fingerprint: "ja4" })).toBe(true);
    expect(await matches({ fingerprint: "ja4" }, { ip })).toBe(false);
    expect(await matches({ country: "DE", asn: 64_501 }, { ip })).toBe(false);
    expect(await matches({ country: "DE" }, {})).toBe(false);
  });

  it("finds its rule among many for other countries and ranges", async () => {
    const countries = ["AT", "BE", "CH", "DE", "ES", "FR"];
    const rules = countries.flatMap((country, i) => [
      { id: `c-${country}`, match: { country }, limit: "9/minute" },
      { id: `r-${country}`, match: { ips: [`203.0.113.${i}/32`] }, limit: "9/minute" },
    ]);
    const policy = createPolicy({
      rules: { version: 1, rules },
      networkOf: (address) => NETWORKS[address],
    });
    const { results } = await policy.admit({ method: "GET", path: "/", ip: "203.0.113.7" });
    expect(results.map(({ rule }) => rule)).toEqual(["c-DE"]);
    const other = await policy.admit({ method: "GET", path: "/", ip: "203.0.113.4" });
    expect(other.results.map(({ rule }) => rule)).toEqual(["r-ES"]);
  });

  it("needs no identity, so that a refusal costs no verification", async () => {
    const { policy } = policyOf({ match: { country: "DE" }, key: "asn" });
    expect(policy.needsIdentity).toBe(false);
  });

  it("is explained", async () => {
    const { policy } = policyOf({ match: { country: "DE", ips: ["203.0.113.0/24"] } });
    const explained = await policy.explain(
      { method: "GET", path: "/", ip: "203.0.113.8" },
      { all: true },
    );
    expect(explained.rules[0]).toMatchObject({
      isMatch: false,
      conditions: [
        { on: "client", wanted: "ips: 203.0.113.0/24", isMet: true },
        { on: "client", wanted: "country: DE", isMet: false },
      ],
    });
  });

  it("reports what is not a range, a system or a country, each at its place", () => {
    const match = { ips: ["203.0.113.0/33"], asn: [0, "AS1x"], country: ["Germany", "XX"] };
    const rules = { version: 1, rules: [{ id: "r", limit: "1/minute", match }] };
    expect(() => parseRules(rules)).toThrow(
      /match\.ips\[0\][\s\S]*match\.asn\[0\][\s\S]*match\.asn\[1\][\s\S]*match\.country\[0\][\s\S]*match\.country\[1\]|match\.asn\[0\][\s\S]*match\.country\[1\]/,
    );
  });

  it("is part of what rules mean, and of nothing where it is not used", () => {
    const of = (match: object) =>
      parseRules({ version: 1, rules: [{ id: "r", limit: "1/minute", match }] }).version;
    expect(of({ country: "DE" })).not.toBe(of({ country: "FR" }));
    expect(of({ country: "de" })).toBe(of({ country: ["DE"] }));
  });
});

describe("values of networks", () => {
  it("have one form", () => {
    expect([64_500, "64500", "AS64500", "as064500", " 64500 "].map(toAsn)).toEqual(
      new Array(5).fill("64500"),
    );
    expect([0, -1, 1.5, "AS", "", 4_294_967_296, Number.NaN, null, {}].map(toAsn)).toEqual(
      new Array(9).fill(undefined),
    );
    expect(["de", " DE ", "T1"].map(toCountry)).toEqual(["DE", "DE", "T1"]);
    expect(["DEU", "1D", "XX", "zz", "", 49, "ß", "ıı"].map(toCountry)).toEqual(
      new Array(8).fill(undefined),
    );
  });
});
