// Rules as JSON are read without the YAML parser. Nothing but the time it takes may tell the two apart.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson } from "./json.js";
import { parseRules } from "./parse.js";
import { NESTING_MAX } from "./yaml.js";

/** The same string, which is not JSON because of a comment behind it. */
const asYaml = (text: string) => `${text}\n# YAML`;

function outcomeOf(text: string): unknown {
  try {
    return parseRules(text, { file: "f" });
  } catch (error) {
    return String(error);
  }
}

const rule = fc.record(
  {
    id: fc.oneof(fc.constantFrom("a", "b", "c"), fc.string()),
    limit: fc.constantFrom("5/minute", "7/s", "x", {
      tokenBucket: { capacity: 5, refillPerSecond: 1 },
    }),
    key: fc.constantFrom("ip", ["user", "tenant"], "nothing"),
    match: fc.record({ path: fc.string() }, { requiredKeys: [] }),
    tiers: fc.dictionary(fc.string(), fc.constantFrom("1/s", "2/s")),
    unknown: fc.jsonValue(),
  },
  { requiredKeys: ["id", "limit"] },
);

it("reads the same rules, lines, versions and problems as the YAML parser does", () => {
  const document = fc.record({ version: fc.constantFrom(1, 2), rules: fc.array(rule) });
  fc.assert(
    fc.property(document, fc.constantFrom(0, 2, "\t"), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(outcomeOf(text)).toEqual(outcomeOf(asYaml(text)));
    }),
    { numRuns: 100 },
  );
});

it("knows the line of each rule", () => {
  const text = '{"version":1,\n"note":{"rules":[{}]},\r\n"rules":[{},\n\n{"a":"]},{"},{"b":[{}]}]}';
  const json = readJson(text);
  expect([0, 1, 2, 3].map((at) => json?.lineOf(["rules", at])?.line)).toEqual([3, 5, 5, undefined]);
});

describe("is left to the YAML parser:", () => {
  it.each([
    ["a key that comes twice", '{"a":1,"b":{"c":1,"c":2}}'],
    ["a key that is escaped", '{"a\\u0062":1}'],
    ["a merge key", '{"<<":{"a":1}}'],
    ["a list", "[1]"],
    ["flow style that is not JSON", "{version: 1}"],
    ["a comment", '{"a":1} # b'],
    ["several documents", '{"a":1}\n---\n{"a":1}'],
    ["deep nesting", `{"a":${"[".repeat(NESTING_MAX)}${"]".repeat(NESTING_MAX)}}`],
    ["a carriage return alone", '{"a":1,\r"b":2}'],
  ])("%s", (_what, text) => {
    expect(readJson(text)).toBeUndefined();
  });
});

it("finds the end of a string behind escapes", () => {
  const value = { 'say "}': "a\\", b: '\\"]', c: ["\\\\", '"'] };
  const text = JSON.stringify({ d: value.c, e: value.b, rules: [{ id: "\\" }, { id: '"' }] });
  expect(readJson(text)?.value).toEqual(JSON.parse(text));
  expect(readJson(text)?.lineOf(["rules", 1])?.line).toBe(1);
});
