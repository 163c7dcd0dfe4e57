import { describe, expect, it } from "vitest";
import { badRules } from "../../../test/rules/bad-cases.js";
import { SluiceError } from "../../base/errors.js";
import { parseRules, RulesError } from "./parse.js";
import { PROBLEMS_MAX } from "./problems.js";
import { VALUES_MAX } from "./rule-reading.js";

const SUMMARY = "invalid rules: ";

function errorOf(source: string | object, file?: string): RulesError {
  try {
    parseRules(source, file === undefined ? {} : { file });
  } catch (error) {
    if (error instanceof RulesError) return error;
    throw error;
  }
  throw new Error("no error");
}

describe("a bad file", () => {
  it.each(badRules)("reports $what exactly", ({ text, problems }) => {
    const { message } = errorOf(text, "sluice.yaml");
    const [first, ...lines] = message.slice(SUMMARY.length).split("\n  ");
    expect(message.startsWith(SUMMARY)).toBe(true);
    expect(lines.length === 0 ? [first] : lines).toEqual(problems);
  });

  it("reports an id that occurs twice together with rules that can't be read", () => {
    const rules =
      "rules:\n  - { id: a, limit: soon }\n  - { id: b, limit: 5/minute }\n  - { id: b, limit: 5 }";
    expect(
      errorOf(`version: 1\n${rules}\n`, "f").problems.map(({ line, message }) => [line, message]),
    ).toEqual([
      [3, expect.stringContaining('rule "a": limit must be a rate')],
      [5, expect.stringContaining('rule "b": limit must be')],
      [5, 'rule "b": has the id of an earlier rule (f:4)'],
    ]);
  });

  it("is one error of the catalogue, whose problems say rule, line and column", () => {
    const error = errorOf("version: 1\nrules:\n  - id: login\n    limit: soon\n");
    expect(error).toBeInstanceOf(SluiceError);
    expect(error.code).toBe("SLUICE_RULES_INVALID");
    expect(error.status).toBe(500);
    expect(error.problems).toEqual([
      {
        message: 'rule "login": limit must be a rate such as 100/minute or 100/5m, got "soon"',
        rule: "login",
        line: 4,
        column: 12,
      },
    ]);
  });

  it.each([
    ["limit: 5/min", "5/minute"],
    ["limit: 5/mins", "5/minute"],
    ["limit: 5/mintue", "5/minute"],
    ["limit: 5/m", "5/minute"],
    ["limit: 5 per hour", "5/hour"],
    ["limit: 5 / second", "5/second"],
    ["limit: 5/s", "5/second"],
    ["limit: 5/Days", "5/day"],
    ["limit: 5/10min", "5/10m"],
    ["limit: unlimted", "unlimited"],
    ["limit: { fixedWindow: { limit: 5, windowMs: 1 minute } }", "1m"],
    ["limit: { fixedWindow: { limit: 5, windowMs: 90sec } }", "90s"],
    ["limit: { fixedWindow: { limit: 5, windowMs: 1m, align: fist } }", "first"],
    ["limit: { fixedWindw: { limit: 5, windowMs: 1m } }", "fixedWindow"],
    ["limit: { leakyBucket: { ratePerSecond: 5, queueSize: 1, mode: metre } }", "meter"],
    ["limit: { quota: { limit: 5, period: mnoth } }", "month"],
    ["key: usr", "user"],
    ["key: apikey", "apiKey"],
    ["key: headers:x-id", "header:x-id"],
    ["key: [ip, tennant]", "tenant"],
    ["onExceed: shaddow", "shadow"],
    ["onMissing: refused", "refuse"],
    ["consistency: leasd", "leased"],
    ["onStoreFailure: clsoed", "closed"],
  ])("says of %j that %s was probably meant", (line, meant) => {
    const limit = line.startsWith("limit") ? "" : "\n    limit: 1/minute";
    const { message } = errorOf(`version: 1\nrules:\n  - id: a\n    ${line}${limit}\n`);
    expect(message).toContain(`did you mean ${meant}?`);
  });

  it.each(["limit: soon", "limit: 5/banana", "key: colour", "onExceed: explode"])(
    "guesses nothing for %j",
    (line) => {
      const limit = line.startsWith("limit") ? "" : "\n    limit: 1/minute";
      const { message } = errorOf(`version: 1\nrules:\n  - id: a\n    ${line}${limit}\n`);
      expect(message).not.toContain("did you mean");
    },
  );

  it("is reported by its lines alone where the file has no name", () => {
    expect(errorOf("version: 1\nrules: 5\n").message).toBe(
      `${SUMMARY}rules must be a list of 0 to 20000 items, got 5 (line 2)`,
    );
  });

  it("shows every problem of every rule together", () => {
    const text = `
version: 3
rules:
  - id: a
    limit: soon
    rollout: 200
  - id: b
    key: stranger
    limit: 1/second
    shards: 0
  - id: c
    limit: 1/second
    delayMsMax: 5s
`;
    const problems = errorOf(text).problems;
    expect(problems.map(({ rule, line }) => [rule, line])).toEqual([
      [undefined, 2],
      ["a", 5],
      ["a", 6],
      ["b", 8],
      ["b", 10],
      ["c", 13],
    ]);
    expect(errorOf(text).message.split("\n")[0]).toBe(`${SUMMARY}6 problems`);
  });

  it("names at most 50 problems, and how many more there are", () => {
    const rules = Array.from({ length: 70 }, (_, i) => ({ id: `r${i}`, limit: "never" }));
    const error = errorOf({ version: 1, rules });
    expect(error.problems).toHaveLength(PROBLEMS_MAX);
    const lines = error.message.split("\n");
    expect(lines[0]).toBe(`${SUMMARY}70 problems`);
    expect(lines.at(-1)).toBe("  and 20 more");
  });

  it("can't forge a line of a log by what it holds", () => {
    const error = errorOf({ version: 1, rules: [{ id: "a\nERROR b", "x\ny": 1, limit: "1\n2" }] });
    const lines = error.message.split("\n");
    expect(lines.filter((line) => !line.startsWith("  rule "))).toEqual([`${SUMMARY}3 problems`]);
  });
});

describe("an object in code", () => {
  it("is reported by its fields, without a line", () => {
    const error = errorOf({ version: 1, rules: [{ id: "a", limit: 5, key: [] }] }, "rules.ts");
    expect(error.problems.map(({ message }) => message.slice(0, 40))).toEqual([
      'rule "a": key must be a list of 1 to 8 i',
      'rule "a": limit must be a rate such as 1',
    ]);
    expect(error.problems[0]).not.toHaveProperty("line");
    expect(error.message).toContain("(rules.ts)");
  });

  it.each([
    [undefined, "undefined"],
    [null, "null"],
    [5, "5"],
    [() => 1, "a function"],
  ])("that is %s is refused", (source, shown) => {
    expect(errorOf(source as unknown as object).message).toMatch(
      new RegExp(`^${SUMMARY}must be an object with .*, got ${shown}$`),
    );
  });

  it("that holds a limit which only looks like one is refused", () => {
    const limit = { algorithm: "tokenBucket", capacity: 5, limit: 5 };
    expect(errorOf({ version: 1, rules: [{ id: "a", limit }] }).problems[0].message).toContain(
      "limit.algorithm is unknown",
    );
  });

  it("that is larger than rules are is refused instead of read for minutes", () => {
    const overrides: Record<string, unknown> = {};
    for (let i = 0; i < 1_000; i++) overrides[`ip:10.0.${i >> 8}.${i & 255}`] = "5/second";
    const rules = Array.from({ length: 2_500 }, (_, i) => ({
      id: `r${i}`,
      limit: "1/second",
      overrides,
    }));
    expect(errorOf({ version: 1, rules }).message).toBe(
      `${SUMMARY}the rules hold more than ${VALUES_MAX} values`,
    );
  });

  it("that goes round in a circle is refused like any other", () => {
    const rule: Record<string, unknown> = { id: "a" };
    rule.limit = [rule];
    rule.match = rule;
    expect(errorOf({ version: 1, rules: [rule] }).problems.length).toBeGreaterThan(2);
  });
});

describe("options", () => {
  it.each([
    [{ name: "a" }, 'parseRules: unknown option "name"; known: file'],
    [{ file: 5 }, "parseRules: file must be a string, got 5"],
  ])("%o are refused", (options, text) => {
    expect(() => parseRules("version: 1\nrules: []", options as object)).toThrow(text);
  });
});
