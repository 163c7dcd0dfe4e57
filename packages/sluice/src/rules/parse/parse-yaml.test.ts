import { describe, expect, it } from "vitest";
import { parseRules, RulesError } from "./parse.js";
import { PROBLEMS_MAX } from "./problems.js";
import { ALIASES_MAX, MERGED_MAX, NESTING_MAX, TEXT_LENGTH_MAX } from "./yaml.js";

const RULES = "version: 1\nrules:\n  - id: a\n    limit: 5/minute\n";

function problemsOf(text: string): string[] {
  try {
    parseRules(text, { file: "f" });
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    return error.message
      .slice("invalid rules: ".length)
      .split("\n  ")
      .filter((line) => !/^\d+ problems$/.test(line));
  }
  throw new Error("no error");
}

describe("the same rules", () => {
  const { version } = parseRules(RULES);

  it.each([
    ["with a byte order mark", `\uFEFF${RULES}`],
    ["with CRLF", RULES.replaceAll("\n", "\r\n")],
    ["with a document marker", `---\n${RULES}...\n`],
    ["with comments", `# first\n${RULES}# last\n`],
    ["in flow style", "{version: 1, rules: [{id: a, limit: 5/minute}]}"],
    ["as JSON", '{"version":1,"rules":[{"id":"a","limit":"5/minute"}]}'],
    [
      "as JSON with its schema named",
      '{"$schema":"rules.schema.json","version":1,"rules":[{"id":"a","limit":"5/m"}]}'.replace(
        "5/m",
        "5/minute",
      ),
    ],
    ["with quotes", RULES.replace("5/minute", "'5/minute'").replace("id: a", 'id: "a"')],
    ["with a default written out", `${RULES}    key: [ip]\n    expose: true\n`],
    ["with fields in another order", "rules:\n  - limit: 5/minute\n    id: a\nversion: 1\n"],
    ["in another unit", RULES.replace("5/minute", "5/60s")],
    ["spelt out", RULES.replace("5/minute", "{ slidingWindowLog: { windowMs: 1m, limit: 5 } }")],
  ])("%s have the same version", (_what, text) => {
    expect(parseRules(text).version).toBe(version);
  });

  it.each([
    ["another limit", RULES.replace("5/", "6/")],
    ["another id", RULES.replace("id: a", "id: b")],
    ["a rule more", `${RULES}  - { id: b, limit: 1/second }\n`],
    ["a rule switched off", `${RULES}    enabled: false\n`],
    ["an exempt range", `${RULES}    exempt: { ips: [10.0.0.0/8] }\n`],
    ["an override", `${RULES}    overrides: { "ip:203.0.113.7": 1/second }\n`],
    ["the kill switch", `enabled: false\n${RULES}`],
  ])("with %s have another version", (_what, text) => {
    expect(parseRules(text).version).not.toBe(version);
  });

  it("in another order of rules have another version", () => {
    const [a, b] = ["  - { id: a, limit: 1/second }\n", "  - { id: b, limit: 1/second }\n"];
    const head = "version: 1\nrules:\n";
    expect(parseRules(head + a + b).version).not.toBe(parseRules(head + b + a).version);
  });

  it("have a version of 12 hexadecimal digits, the same in every process", () => {
    expect(version).toMatch(/^[0-9a-f]{12}$/);
    expect(version).toBe("ad33cf06756a");
  });
});

describe("YAML", () => {
  it("lets rules share parts by anchors, aliases and merge keys", () => {
    const { rules } = parseRules(`
version: 1
rules:
  - id: a
    limit: &standard { tokenBucket: { capacity: 5, refillPerSecond: 1 } }
    match: &where { path: /a, methods: [GET] }
  - id: b
    limit: *standard
    match: { <<: *where, path: /b }
`);
    expect(rules[1].limits).toEqual(rules[0].limits);
    expect(rules[1].match).toMatchObject({ paths: ["/b"], methods: ["GET"] });
  });

  it("reports a problem inside an alias at the place where it is written", () => {
    const text = `
version: 1
rules:
  - id: a
    limit: &standard
      tokenBucket: { capacity: ten, refillPerSecond: 1 }
  - id: b
    limit: *standard
`;
    expect(problemsOf(text).map((line) => line.replace(/ limit.* \(/, " ("))).toEqual([
      'rule "a": (f:6)',
      'rule "b": (f:6)',
    ]);
  });

  it("leaves dates, on, off, yes, no and octal-looking ids as the text that they are", () => {
    const { rules } = parseRules(`
version: 1
rules:
  - id: on
    limit: { quota: { limit: 5, period: month, anchor: 2024-01-31 } }
  - id: "007"
    limit: 1/second
    tiers: { no: 5/second, 1: 6/second }
    match: { headers: { x-flag: [yes, 1.5] } }
`);
    expect(rules.map(({ id }) => id)).toEqual(["on", "007"]);
    expect(rules[0].limits[0]).toMatchObject({ calendar: { anchorDay: 31 } });
    expect([...rules[1].tiers.keys()].sort()).toEqual(["1", "no"]);
    expect(rules[1].match.headers.get("x-flag")).toEqual(["yes", "1.5"]);
  });

  it.each([
    [
      "a key twice",
      "version: 1\nrules: []\nversion: 1\n",
      ['the key "version" occurs twice (f:3)'],
    ],
    [
      "a key twice in a rule",
      `${RULES}    limit: 6/minute\n`,
      ['the key "limit" occurs twice (f:5)'],
    ],
    ["several documents", `${RULES}---\n${RULES}`, ["the text holds several documents (f:5)"]],
    [
      "an alias of nothing",
      "version: 1\nrules: *none\n",
      ["the alias *none has no anchor before it (f:2)"],
    ],
    ["an unknown tag", "version: !one 1\nrules: []\n", ["Unresolved tag: !one (f:1)"]],
    [
      "a list as a key",
      "version: 1\n? [a]\n: b\nrules: []\n",
      ["a key must be a string, not a list or a map (f:2)"],
    ],
  ])("with %s is refused", (_what, text, problems) => {
    expect(problemsOf(text)).toEqual(problems);
  });

  it.each([
    ["tabs", "version: 1\nrules:\n\t- id: a\n", 3],
    ["a quote that is not closed", "version: 1\nrules: ['\n", 3],
    ["a bracket that is not closed", "version: 1\nrules: [\n", 3],
    ["a block that is indented wrongly", "version: 1\nrules:\n  - id: a\n   limit: 1/second\n", 4],
    ["JSON with a comma too many", '{"version": 1,, "rules": []}', 1],
  ])("with %s is refused with its line", (_what, text, line) => {
    const problems = problemsOf(text);
    expect(problems.some((problem) => problem.endsWith(`(f:${line})`))).toBe(true);
  });

  it("keeps __proto__ a name like any other", () => {
    const text = `
version: 1
__proto__: { rules: [] }
rules:
  - id: __proto__
    limit: 1/second
    __proto__: { enabled: false }
    tiers: { __proto__: 5/second, constructor: 6/second }
    match: { headers: { __proto__: x } }
`;
    expect(problemsOf(text).map((line) => line.split(" is ")[0])).toEqual([
      "__proto__",
      'rule "__proto__": __proto__',
    ]);
    const { rules } = parseRules(text.replace(/^ *__proto__: \{ (rules|enabled).*\n/gm, ""));
    expect([...rules[0].tiers.keys()]).toEqual(["__proto__", "constructor"]);
    expect(rules[0].match.headers.get("__proto__")).toEqual(["x"]);
    expect(rules[0].isEnabled).toBe(true);
    expect(({} as { rules?: unknown }).rules).toBeUndefined();
  });
});

describe("a usual mistake", () => {
  it.each([
    [
      "  - id: a\n   limit: 5/minute\n",
      4,
      "an item of a list must start with -; check the indentation",
    ],
    [
      "  - id: a\n    match: path: /login\n",
      4,
      "a map in a map must start on the line after its key, indented further; check the indentation",
    ],
    [
      "  - id a\n    limit: 5/minute\n",
      3,
      "a key must be on one line with its colon; check for a missing colon, and the indentation",
    ],
  ])("in %j is named in plain words", (rules, line, message) => {
    expect(problemsOf(`version: 1\nrules:\n${rules}`)).toContain(`${message} (f:${line})`);
  });

  it("is the path of a file in place of its text", () => {
    for (const path of ["rules.yaml", "./config/rules.yml", "/etc/sluice/rules.json"]) {
      expect(() => parseRules(path), path).toThrow(
        `invalid rules: must be the text of a rule file, got its path "${path}": read the file, or use watchRules`,
      );
    }
  });
});

describe("a hostile text", () => {
  it("longer than 8 MiB is not read", () => {
    const text = `${RULES}#${"x".repeat(TEXT_LENGTH_MAX)}`;
    expect(problemsOf(text)).toEqual([
      `the text has ${text.length} characters, at most ${TEXT_LENGTH_MAX} are read (f)`,
    ]);
  });

  it("whose aliases multiply is refused immediately", () => {
    const levels = Array.from({ length: 20 }, (_, i) => {
      const items =
        i === 0
          ? "x"
          : Array(10)
              .fill(`*a${i - 1}`)
              .join(",");
      return `l${i}: &a${i} [${items}]`;
    });
    expect(problemsOf(`version: 1\nrules: []\n${levels.join("\n")}\n`)).toEqual([
      "the text can't be read: Excessive alias count indicates a resource exhaustion attack (f)",
    ]);
  });

  it("with more anchors and aliases than any file needs is refused immediately", () => {
    const list = Array.from({ length: ALIASES_MAX + 1 }, (_, i) => `&a${i} x`).join(", ");
    expect(problemsOf(`version: 1\nrules: [${list}]\n`)).toEqual([
      `more than ${ALIASES_MAX} anchors and aliases (f:2)`,
    ]);
  });

  it.each([
    ["lists", "["],
    ["maps", "{a: "],
    ["block lists", "- "],
    ["keys", "? "],
  ])(
    "of %s is refused before it uses up the stack, which could end the process",
    (_what, opening) => {
      for (const depth of [NESTING_MAX, 40_000]) {
        expect(problemsOf(`version: 1\nrules: \n  ${opening.repeat(depth)}`)).toEqual([
          `the text can't be read: it is nested more than ${NESTING_MAX} levels deep (f)`,
        ]);
      }
      const seen = problemsOf(`version: 1\nrules: \n  ${opening.repeat(NESTING_MAX - 10)}`);
      expect(seen.join()).not.toContain("levels deep");
    },
  );

  it("whose merge keys copy a large map again and again is refused immediately", () => {
    const fields = Array.from({ length: 50_000 }, (_, i) => `k${i}: 1`).join(", ");
    const copies = "{ <<: *a }, ".repeat(5_000);
    const problems = problemsOf(`version: 1\nx: &a { ${fields} }\nrules: [${copies}]\n`);
    expect(problems).toEqual([
      `5001 anchors and aliases of 50000 fields may add up to more than ${MERGED_MAX} (f:1)`,
    ]);
  });

  it("that names a large part in many wrong places is not written out each time", () => {
    const large = `&a [${"x, ".repeat(100_000)}]`;
    const items = "*a, ".repeat(2_000);
    const problems = problemsOf(`version: 1\nenabled: ${large}\nrules: [[${items}], ${items}]\n`);
    expect(problems).toHaveLength(PROBLEMS_MAX + 1);
    expect(problems[1]).toContain(', got [["x","x",');
    expect(Math.max(...problems.map(({ length }) => length))).toBeLessThan(600);
  });

  it("that names itself is refused", () => {
    expect(problemsOf("version: 1\nrules: &a [*a]\n").length).toBeGreaterThan(0);
  });
});

describe("a large file", () => {
  const lines = Array.from(
    { length: 10_000 },
    (_, i) => `  - { id: r${i}, match: { path: /p${i}/:id }, key: user, limit: ${i + 1}/minute }\n`,
  );

  it("of 10,000 rules is read, each with its line", () => {
    const { rules } = parseRules(`version: 1\nrules:\n${lines.join("")}`, { file: "f" });
    expect(rules).toHaveLength(10_000);
    expect(rules[9_999]).toMatchObject({ id: "r9999", place: "f:10002" });
  });

  it("of more than 20,000 rules is refused", () => {
    const rules = Array.from({ length: 20_001 }, () => 1);
    expect(() => parseRules({ version: 1, rules })).toThrow(
      "rules must be a list of 0 to 20000 items, got 20001",
    );
  });
});
