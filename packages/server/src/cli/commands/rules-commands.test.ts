import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { sluice } from "../../../test/cli/fake-terminal.js";

const folder = makeFolder("rules");

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const good = write(
  "good.yaml",
  `version: 1
rules:
  - id: login
    match: { path: /login }
    limit: 5/minute
  - id: api
    limit: 100/minute
`,
);
const bad = write(
  "bad.yaml",
  `version: 1
rules:
  - id: login
    limit: ten
  - id: api
    limits: 100/minute
`,
);

describe("sluice rules validate", () => {
  it("says of good rules how many there are and which version, and exits with 0", async () => {
    const { code, out, err } = await sluice(["rules", "validate", good]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/good\.yaml: ok \(2 rules, version \w+\)\n$/);
  });

  it("reports every problem with its file and line, and exits with 1", async () => {
    const { code, out, err } = await sluice(["rules", "validate", bad]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    const lines = err.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThanOrEqual(2);
    expect(lines[0]).toMatch(/bad\.yaml:4:\d+: rule "login": limit .*"ten"/);
    expect(lines.every((line) => line.startsWith(`${bad}:`))).toBe(true);
  });

  it("looks at every file, and one bad file makes the whole answer bad", async () => {
    const { code, out, err } = await sluice(["rules", "validate", bad, good]);
    expect(code).toBe(1);
    expect(out).toContain("good.yaml: ok");
    expect(err).toContain("bad.yaml:4");
  });

  it("reads the standard input as -", async () => {
    const { code, out } = await sluice(["rules", "validate", "-"], {
      input: "version: 1\nrules: []\n",
    });
    expect(code).toBe(0);
    expect(out).toMatch(/^standard input: ok \(0 rules/);
  });

  it("prints a line of JSON for each file with --json", async () => {
    const { code, out, err } = await sluice(["rules", "validate", "--json", good, bad]);
    expect({ code, err }).toEqual({ code: 1, err: "" });
    const [first, second] = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(first).toMatchObject({ file: good, valid: true, rules: ["login", "api"] });
    expect(second).toMatchObject({ file: bad, valid: false });
    expect(second.problems[0]).toMatchObject({ rule: "login", line: 4 });
  });

  it("says how to check a configuration, where it is given one", async () => {
    const file = write("sluice.yaml", "gateway: { listen: 127.0.0.1:8080 }\n");
    const { code, err } = await sluice(["rules", "validate", file]);
    expect(code).toBe(1);
    expect(err).toContain(
      `looks like a configuration, which has rules inside: sluice serve --check`,
    );
  });

  it("says in one line that a file is not there, and exits with 2", async () => {
    const { code, err } = await sluice(["rules", "validate", join(folder, "none.yaml")]);
    expect(code).toBe(2);
    expect(err).toMatch(/^sluice: .*none\.yaml: no such file\n$/);
  });
});

describe("sluice rules diff", () => {
  const next = write(
    "next.yaml",
    `version: 1
rules:
  - id: login
    match: { path: /login }
    limit: { tokenBucket: { capacity: 5, refillPerSecond: 1 } }
  - id: search
    limit: 5/second
`,
  );

  it("exits with 0 where both say the same, however they are written", async () => {
    const same = write(
      "same.yaml",
      `rules: [{ limit: 5/minute, id: login, match: { path: [/login] } }, { id: api, limit: 100/minute }]
version: 1`,
    );
    const { code, out } = await sluice(["rules", "diff", good, same]);
    expect(code).toBe(0);
    expect(out).toMatch(/^the same rules/);
  });

  it("exits with 1 and says what comes, goes and changes, and that counters start empty", async () => {
    const { code, out } = await sluice(["rules", "diff", good, next]);
    expect(code).toBe(1);
    expect(out).toContain("- api\n+ search\n~ login: limit\n");
    expect(out).toContain("    limit: counters start empty (another algorithm)\n");
  });

  it("prints the whole difference as JSON with --json", async () => {
    const { code, out } = await sluice(["rules", "diff", "--json", good, next]);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ added: ["search"], removed: ["api"] });
  });

  it("exits with 2, as diff(1) does, where one of them can't be used", async () => {
    const { code, err } = await sluice(["rules", "diff", good, bad]);
    expect(code).toBe(2);
    expect(err).toMatch(/bad\.yaml:4:.*\n[\s\S]*sluice: .*bad\.yaml can't be compared\n$/);
  });
});

describe("sluice", () => {
  it("prints its version, and help with examples and exit codes", async () => {
    expect(await sluice(["--version"])).toMatchObject({ code: 0, out: "0.1.0\n" });
    const { code, out } = await sluice(["--help"]);
    expect(code).toBe(0);
    expect(out).toContain("Examples:");
    expect(out).toContain("Exit codes:");
  });

  it.each([[["nonsense"]], [["rules", "validate"]], [["rules", "diff", "a", "b", "--nonsense"]]])(
    "exits with 2 and a short line on %j",
    async (args) => {
      const { code, out, err } = await sluice(args);
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toMatch(/^error: /);
    },
  );

  it("prints help without any arguments, and exits with 2", async () => {
    const { code, err } = await sluice([]);
    expect(code).toBe(2);
    expect(err).toContain("Usage: sluice");
  });
});
