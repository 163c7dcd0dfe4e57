import { describe, expect, it } from "vitest";
import { diffRules, type RulesDiff } from "./diff.js";
import { parseRules } from "./parse/parse.js";

const bucket = (capacity: number) => ({ tokenBucket: { capacity, refillPerSecond: 1 } });

function diff(before: object | object[], after: object | object[], set: object = {}): RulesDiff {
  const parse = (rules: object | object[], more: object) =>
    parseRules({ version: 1, rules: [rules].flat(), ...more });
  return diffRules(parse(before, {}), parse(after, set));
}

/** What a change of one rule does to its counters. */
function fates(before: object, after: object, set: object = {}): [string, string, string][] {
  const { changed } = diff({ id: "a", ...before }, { id: "a", ...after }, set);
  return changed.flatMap(({ limits }) =>
    limits.map(({ where, fate, why }): [string, string, string] => [where, fate, why]),
  );
}

describe("diffRules", () => {
  it("finds nothing where nothing changed but how it is written", () => {
    const text = "version: 1\nrules:\n  - { id: a, limit: 5/minute }\n";
    const other = "rules:\n\n  - { limit: 5/60s, key: [ip], id: a } # same\nversion: 1\n";
    const version = parseRules(text).version;
    expect(diffRules(parseRules(text), parseRules(other))).toEqual({
      fromVersion: version,
      toVersion: version,
      fields: [],
      added: [],
      removed: [],
      changed: [],
    });
  });

  it("says what becomes of the counters of durable rules", () => {
    const quota = (limit: number) => ({ quota: { limit, period: "month" } });
    const rule = { key: "tenant", limit: quota(10), durable: true };
    expect(fates(rule, { ...rule, durable: { carryOver: 5 } })).toEqual([]);
    expect(
      diff({ id: "a", ...rule }, { id: "a", ...rule, durable: { header: true } }),
    ).toMatchObject({
      changed: [{ id: "a", fields: ["durable"], counters: "kept" }],
    });
    expect(fates(rule, { ...rule, durable: false })).toEqual([
      ["limit", "empty", "counted in another place"],
    ]);
    expect(fates(rule, { ...rule, tiers: { pro: quota(20) } })).toEqual([
      ["tiers.pro", "carried", "other numbers"],
    ]);
    const byUser = { ...rule, key: "user" };
    expect(fates(byUser, { ...byUser, tiers: { pro: quota(20) } })).toEqual([
      ["tiers.pro", "empty", "counted apart now, or no more"],
    ]);
  });

  it("names rules that come, go and change, and the fields that changed", () => {
    const found = diff(
      [
        { id: "a", limit: "5/minute" },
        { id: "b", limit: "5/minute" },
        { id: "c", limit: "5/minute" },
      ],
      [
        { id: "d", limit: "5/minute" },
        { id: "b", limit: "6/minute", enabled: false, expose: false, rollout: 50, cost: 2 },
        { id: "c", limit: "5/minute" },
      ],
    );
    expect(found.added).toEqual(["d"]);
    expect(found.removed).toEqual(["a"]);
    expect(found.changed).toEqual([
      {
        id: "b",
        fields: ["enabled", "limit", "cost", "rollout", "expose"],
        counters: "carried",
        limits: [{ where: "limit", fate: "carried", why: "other numbers" }],
      },
    ]);
    expect(found.fromVersion).not.toBe(found.toVersion);
  });

  it("names what changed of the whole set", () => {
    const [a, b] = [
      { id: "a", limit: "5/minute" },
      { id: "b", limit: "5/minute", key: "user", onMissing: "skip" },
    ];
    const set = { enabled: false, ipv6Prefix: 56, exempt: { ips: ["10.0.0.0/8"] } };
    expect(diff([a, b], [a, b]).fields).toEqual([]);
    expect(diff([a, b], [a, b], set).fields).toEqual(["enabled", "ipv6Prefix", "exempt"]);
    expect(diff([a, b], [b, a]).fields).toEqual(["order"]);
    expect(diff([a, b], [b]).fields).toEqual([]);
  });

  it.each([
    ["onExceed", { onExceed: "shadow" }],
    ["match", { match: { path: "/a" } }],
    ["exempt", { exempt: { ips: ["10.0.0.0/8"] } }],
    ["when", { when: { status: 401 } }],
    ["consistency", { consistency: "leased" }],
    ["timeoutMs", { timeoutMs: 10 }],
    ["onMissing", { onMissing: "skip" }],
  ])("keeps counters where only %s changes", (name, change) => {
    const rule = { id: "a", limit: bucket(5) };
    expect(diff(rule, { ...rule, ...change }).changed).toEqual([
      { id: "a", fields: [name], counters: "kept", limits: [] },
    ]);
  });

  it.each<[string, object, object, [string, string, string][]]>([
    [
      "other numbers",
      { limit: bucket(5) },
      { limit: bucket(6) },
      [["limit", "carried", "other numbers"]],
    ],
    [
      "another delay",
      { limit: bucket(5) },
      { limit: bucket(5), onExceed: "delay", delayMsMax: 5 },
      [["limit", "carried", "another delay"]],
    ],
    [
      "another algorithm",
      { limit: bucket(5) },
      { limit: "5/minute" },
      [["limit", "empty", "another algorithm"]],
    ],
    [
      "a limit more",
      { limit: bucket(5) },
      { limit: [bucket(5), "9/minute"] },
      [["limit[1]", "empty", "a new limit"]],
    ],
    [
      "limits in another order",
      { limit: [bucket(5), "9/minute"] },
      { limit: ["9/minute", bucket(5)] },
      [
        ["limit[0]", "empty", "another algorithm"],
        ["limit[1]", "empty", "another algorithm"],
      ],
    ],
    [
      "another key",
      { limit: bucket(5) },
      { limit: bucket(5), key: "user" },
      [["limit", "empty", "another key"]],
    ],
    [
      "other shards",
      { limit: bucket(5), key: "global" },
      { limit: bucket(5), key: "global", shards: 2 },
      [["limit", "empty", "another number of shards"]],
    ],
    [
      "another place",
      { limit: bucket(5) },
      { limit: bucket(5), consistency: "local" },
      [["limit", "empty", "counted in another place"]],
    ],
    [
      "a limit of an override",
      { limit: bucket(5), overrides: { "ip:203.0.113.7": bucket(6) } },
      { limit: bucket(5), overrides: { "ip:203.0.113.7": bucket(7) } },
      [["overrides.ip:203.0.113.7", "carried", "other numbers"]],
    ],
    [
      "an override that ends",
      { limit: bucket(5), overrides: { "ip:203.0.113.7": "6/day" } },
      { limit: bucket(5) },
      [["overrides.ip:203.0.113.7", "empty", "another algorithm"]],
    ],
    [
      "a new tier, which counts apart",
      { limit: bucket(5), key: "user" },
      { limit: bucket(5), key: "user", tiers: { pro: bucket(9) } },
      [["tiers.pro", "empty", "counted apart now, or no more"]],
    ],
    [
      "other numbers of a tier",
      { limit: bucket(5), key: "user", tiers: { pro: bucket(9) } },
      { limit: bucket(5), key: "user", tiers: { pro: bucket(8) } },
      [["tiers.pro", "carried", "other numbers"]],
    ],
    [
      "a limit that is lifted",
      { limit: bucket(5), tiers: { pro: bucket(9) } },
      { limit: bucket(5), tiers: { pro: "unlimited" } },
      [],
    ],
  ])("says what becomes of counters under %s", (_what, before, after, expected) => {
    expect(fates(before, after)).toEqual(expected);
  });

  it("says that counters start at zero under another IPv6 prefix, for rules that count by address only", () => {
    const set = { ipv6Prefix: 48 };
    const why = "another IPv6 prefix, for callers over IPv6";
    const rule = { limit: bucket(5) };
    expect(fates(rule, rule, set)).toEqual([["limit", "empty", why]]);
    const other = { limit: bucket(5), key: "user", onMissing: "skip" };
    expect(fates(other, other, set)).toEqual([]);
  });

  it("calls a rule by the worst of its limits", () => {
    const before = { id: "a", limit: [bucket(5), "9/minute"] };
    const after = { id: "a", limit: [bucket(6), { fixedWindow: { limit: 9, windowMs: "1m" } }] };
    expect(diff(before, after).changed[0].counters).toBe("empty");
  });
});
