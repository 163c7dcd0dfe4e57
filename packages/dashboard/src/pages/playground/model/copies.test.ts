// What the playground copies works: rules pass the parser, programs compile.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseRules } from "sluice/rules";
import { describe, expect, it } from "vitest";
import { ALGORITHMS, isPossible, toLimit } from "./algorithms.js";
import { toCode, toRule } from "./copies.js";
import { DEFAULTS, type Settings } from "./settings.js";

const root = join(import.meta.dirname, "../../../../../..");
const VARIANTS: readonly Settings[] = [
  DEFAULTS,
  { ...DEFAULTS, limit: 7, windowMs: 3_600_000, cost: 3, keying: "client", queue: 2, holdMs: 100 },
];

describe.each(ALGORITHMS)("%s", (algorithm) => {
  it("as a rule is accepted by the parser, and is the limit that ran", () => {
    for (const settings of VARIANTS) {
      const [rule] = parseRules(toRule(algorithm, settings)).rules;
      expect(rule?.limits).toEqual([toLimit(algorithm, settings)]);
    }
  });
});

it("knows which limits the parser refuses since nothing would pass", () => {
  const settings = { ...DEFAULTS, queue: 0, cost: 2 };
  expect(ALGORITHMS.filter((algorithm) => !isPossible(algorithm, settings))).toEqual([
    "leakyBucket",
  ]);
  expect(() => parseRules(toRule("leakyBucket", settings))).toThrow(/never admits/);
});

it("reads well as a rule and as code", () => {
  expect(toRule("tokenBucket", DEFAULTS)).toBe(
    [
      "version: 1",
      "rules:",
      "  - id: token-bucket",
      "    key: global",
      "    limit: { tokenBucket: { capacity: 10, refill: { amount: 10, everyMs: 1m } } }",
      "",
    ].join("\n"),
  );
  expect(toCode("fixedWindow", { ...DEFAULTS, cost: 2 })).toBe(
    [
      'import { createLimiter, fixedWindow } from "sluice";',
      "",
      "const limiter = createLimiter({",
      "  limit: fixedWindow({ limit: 10, windowMs: 60_000 }),",
      "});",
      "",
      'const { allowed, retryAfterMs } = limiter.check("all", { cost: 2 });',
      "console.log({ allowed, retryAfterMs });",
      "",
    ].join("\n"),
  );
});

it("compiles as code, strictly", () => {
  mkdirSync(join(root, ".build"), { recursive: true });
  // Inside the workspace, so that it finds "sluice" by its name.
  const folder = mkdtempSync(join(root, ".build/playground-"));
  try {
    for (const algorithm of ALGORITHMS) {
      for (const [at, settings] of VARIANTS.entries())
        writeFileSync(join(folder, `${algorithm}-${at}.mts`), toCode(algorithm, settings));
    }
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: "nodenext",
      target: "es2023",
      types: ["node"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
    execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { stdio: "pipe" });
  } catch (error) {
    throw new Error(String((error as { stdout?: Buffer }).stdout ?? error));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
