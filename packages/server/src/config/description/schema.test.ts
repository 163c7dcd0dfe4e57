import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parseRules } from "sluice/rules";
import { describe, expect, it } from "vitest";
import { parseDocument } from "yaml";
import { badFiles, goodFile } from "../../../test/config/bad-cases.js";
import { toConfigSchema } from "./schema.js";

const schema = toConfigSchema();
const validate = new Ajv2020({
  strict: true,
  strictRequired: false,
  allErrors: true,
  allowUnionTypes: true,
}).compile(schema);
const accepts = (text: string) => validate(parseDocument(text, { uniqueKeys: false }).toJS());

/** What is between values, which a schema can't see. */
const BETWEEN =
  / needs (?:kind|apiKeys|follow|header)| can't be set beside regions| must differ | is missing: | never | is not in upstreams| at most requestT/;

describe("the JSON Schema", () => {
  it("is what packages/server/sluice.schema.json says; if not, write toConfigSchema() there", () => {
    const file = join(import.meta.dirname, "../../../sluice.schema.json");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(JSON.parse(JSON.stringify(schema)));
  });

  it("describes each value for editors", () => {
    const fields = describedFields(schema.properties);
    expect(fields.length).toBeGreaterThan(100);
    for (const [name, description] of fields)
      expect([name, description]).toEqual([name, expect.stringMatching(/^[A-Z].*[.…]$/)]);
  });

  it("takes a good file, and variables and strings wherever a value may be one", () => {
    expect(accepts(goodFile)).toBe(true);
    const texts =
      'server: { workers: "4", drainMs: "\u0024{DRAIN:-5s}" }\nidentity: { forwardedHost: "true" }';
    accepts(`${goodFile}${texts}`);
    expect(validate.errors).toBeNull();
  });

  it.each(guideBlocks().filter(({ value }) => isConfiguration(value)))(
    "takes $place",
    ({ value }) => {
      validate(value);
      expect(validate.errors).toBeNull();
    },
  );

  const structural = badFiles.filter(([, , problem]) =>
    / must be (?!at most)| is unknown/.test(problem),
  );
  const textual = [
    "a duration that is too long",
    "an invalid port",
    "an invalid address of IPv6",
    "a backend with an invalid port",
    "a route that no request can have",
    "a region's address that can't be read, without showing it",
    "a standby that is the home region",
  ];

  it.each(structural.filter(([what]) => !textual.includes(what)))("refuses %s", (_what, text) => {
    expect(accepts(text)).toBe(false);
  });

  it.each(structural.filter(([what]) => textual.includes(what)))(
    "can't see %s, which only parseConfig can",
    (_what, text) => {
      expect(accepts(text)).toBe(true);
    },
  );

  it.each(badFiles.filter(([, , problem]) => BETWEEN.test(problem)))(
    "can't see %s, which only parseConfig can",
    (_what, text) => {
      expect(accepts(text)).toBe(true);
    },
  );
});

describe("the rule files of the guides", () => {
  it.each(guideBlocks().filter(({ value }) => isRuleFile(value)))(
    "are valid: $place",
    ({ value }) => {
      expect(parseRules(value as object).rules.length).toBeGreaterThan(0);
    },
  );
});

/** The YAML of the guides, with its places, except where `…` leaves something out. */
function guideBlocks(): { readonly place: string; readonly value: unknown }[] {
  const folder = join(import.meta.dirname, "../../../../../docs/guides");
  return readdirSync(folder).flatMap((guide) => {
    const page = readFileSync(join(folder, guide), "utf8");
    return [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].flatMap(([, text = ""], at) => {
      const place = `block ${at + 1} of ${guide}`;
      return text.includes("…") ? [] : [{ place, value: parseDocument(text).toJS() as unknown }];
    });
  });
}

/** Whether all its fields are sections. A file whose rules are a list is a rule file. */
function isConfiguration(value: unknown): boolean {
  if (typeof value !== "object" || value === null || isRuleFile(value)) return false;
  const sections = schema.properties as object;
  return Object.keys(value).every((name) => Object.hasOwn(sections, name));
}

function isRuleFile(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return "rules" in value && Array.isArray(value.rules);
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
