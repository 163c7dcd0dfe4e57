import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { badRules } from "../../../test/rules/bad-cases.js";
import { toJsonSchema } from "./json-schema.js";
import { parseRules } from "./parse.js";

const root = join(import.meta.dirname, "../../../../..");
const schema = toJsonSchema();
const validate = new Ajv2020({
  strict: true,
  strictRequired: false,
  allErrors: true,
  allowUnionTypes: true,
}).compile(schema);

/** Every sample of a whole file in the reference and the guide, and the example. */
const samples = [
  ["examples/rules/sluice.yaml", read("examples/rules/sluice.yaml")] as const,
  ...[...read("docs/reference/rules.md").matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(
    ([, text], i) => [`docs/reference/rules.md, sample ${i + 1}`, text] as const,
  ),
];

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

describe("the JSON Schema", () => {
  it("is what packages/sluice/rules.schema.json says; if not, run `npm run schema`", () => {
    expect(JSON.parse(read("packages/sluice/rules.schema.json"))).toEqual(
      JSON.parse(JSON.stringify(schema)),
    );
  });

  it("describes each field for editors", () => {
    const fields = describedFields(schema);
    expect(fields.length).toBeGreaterThan(60);
    for (const [name, description] of fields)
      expect([name, description]).toEqual([name, expect.stringMatching(/\S{2,}.*[.…]$/)]);
  });

  it.each(samples)("takes %s, as parseRules does", (_where, text) => {
    expect(parseRules(text).rules.length).toBeGreaterThan(0);
    validate(parse(text, { merge: true }));
    expect(validate.errors).toBeNull();
  });

  it.each(badRules.filter(({ isStructural }) => isStructural))("refuses $what", ({ text }) => {
    expect(validate(parse(text))).toBe(false);
  });

  it.each(badRules.filter(({ isStructural }) => !isStructural))(
    "can't see $what, which only parseRules can",
    ({ text }) => {
      expect(validate(parse(text))).toBe(true);
    },
  );

  it.each([
    ["a rule of every field", { version: 1, rules: [everyField()] }],
    ["a durable rule", { version: 1, rules: [durableRule()] }],
    ["no rules", { $schema: "rules.schema.json", version: 1, rules: [] }],
  ])("takes %s, as parseRules does", (_what, file) => {
    parseRules(file);
    validate(file);
    expect(validate.errors).toBeNull();
  });
});

function everyField(): object {
  return {
    id: "a",
    enabled: true,
    match: {
      path: "/a",
      methods: "GET",
      host: ["api.example.com"],
      headers: { a: true, b: "c", d: ["e", 1] },
      attributes: { tier: "pro" },
    },
    key: ["tenant", "header:x-y", "ipPrefix:24/48"],
    onMissing: "skip",
    limit: [
      "100/5m",
      { tokenBucket: { capacity: 90, refill: { amount: 1, everyMs: "1s" } } },
      { leakyBucket: { ratePerSecond: 0.5, queueSize: 50, mode: "meter" } },
      { fixedWindow: { limit: 50, windowMs: "1h" } },
      { slidingWindowLog: { limit: 50, windowMs: 1000 } },
      { concurrency: { limit: 50, permitMs: "1m" } },
      { quota: { limit: 50, period: "week", timeZone: "Asia/Tokyo", anchor: "2024-01-31" } },
    ],
    tiers: { pro: "unlimited" },
    overrides: { "tenant:a|header:x-y:b|ipPrefix:203.0.113.0/24": "5/second" },
    cost: { header: "x-cost", min: 0, max: 9, otherwise: 1 },
    settle: { header: "x-units" },
    when: { statusNot: [304, "5xx"] },
    onExceed: "shadow",
    rollout: 0.5,
    consistency: "strict",
    onStoreFailure: "open",
    timeoutMs: "20ms",
    priority: 5,
    expose: false,
    shards: 2,
    exempt: { ips: ["10.0.0.0/8"], keys: ["tenant:a|header:x-y:b|ipPrefix:203.0.113.0/24"] },
    windowJitter: false,
  };
}

function durableRule(): object {
  return {
    id: "exports",
    key: "tenant",
    limit: { quota: { limit: 50, period: "month", prorate: true } },
    durable: { carryOver: 5, alertAt: [50, "80%", 100], header: true },
    consistency: "leased",
  };
}

function describedFields(value: unknown): [string, unknown][] {
  if (typeof value !== "object" || value === null) return [];
  const { properties } = value as { properties?: Record<string, { description?: unknown }> };
  const own = Object.entries(properties ?? {}).map(([name, field]): [string, unknown] => [
    name,
    field.description,
  ]);
  return [...own, ...Object.values(value).flatMap(describedFields)];
}
