import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  keepsTypes,
  loadsSynchronously,
  namedInKebabCase,
  namesUnits,
  opensWithProse,
  runsEveryTest,
  staysShort,
  takesChanceAsArgument,
  takesTimeFromClock,
} from "./tidy/code-rules.js";
import { foldersFormNoCycle, importsFormNoCycle } from "./tidy/import-cycles.js";
import { importsPointDown, importsStayInside } from "./tidy/import-rules.js";
import type { FileRule, TreeRule } from "./tidy/rule.js";
import {
  leavesNoNotes,
  locksNoAddress,
  namesNoMachine,
  namesNoRegistry,
  usesPlainWords,
} from "./tidy/text-rules.js";
import { explainsDependencies, linksLeadSomewhere } from "./tidy/tree-rules.js";
import { findBreaches, readTree } from "./tidy.js";

describe("the repository", () => {
  it("keeps every house rule", () => {
    expect(findBreaches(readTree(join(import.meta.dirname, "..")))).toEqual([]);
  });
});

const src = "packages/sluice/src";
const longText = "// A file.\n".repeat(351);

type Sample = readonly [rule: FileRule, path: string, text: string];

const bad: readonly Sample[] = [
  [importsPointDown, `${src}/algorithms/a.ts`, 'import { x } from "../stores/store.js";'],
  [importsPointDown, `${src}/algorithms/a.ts`, 'import type { X } from "../limiter/limiter.js";'],
  [importsPointDown, `${src}/algorithms/deep/a.ts`, 'export * from "../../stores/store.js";'],
  [
    importsPointDown,
    `${src}/stores/memory/a.ts`,
    'const x = await import("../../limiter/limiter.js");',
  ],
  [importsPointDown, `${src}/base/errors.ts`, 'import {\n  x,\n} from "../algorithms/a.js";'],
  [importsPointDown, `${src}/limiter/limiter.ts`, 'import { x } from "../rules/match.js";'],
  [importsPointDown, `${src}/limiter/limiter.ts`, 'import { x } from "../testing/testing.js";'],
  [importsPointDown, `${src}/index.ts`, 'export * from "./testing/testing.js";'],
  [importsPointDown, `${src}/stores/a.ts`, 'import { x } from "../index.js";'],
  [importsPointDown, `${src}/stores/a.ts`, 'import { x } from "sluice";'],
  [importsPointDown, `${src}/rules/a.ts`, 'import "../http/headers.js";'],
  [
    importsStayInside,
    "bench/a.ts",
    'import { x } from "../packages/sluice/src/limiter/limiter.js";',
  ],
  [importsPointDown, "packages/server/src/base/a.ts", 'import type { X } from "../config/b.js";'],
  [importsPointDown, "packages/server/src/new/a.ts", 'import { x } from "../cli/b.js";'],
  [importsPointDown, "packages/http1/src/message/a.ts", 'import { x } from "../server/b.js";'],
  [importsPointDown, "packages/http1/src/message/a.ts", 'import { x } from "sluice";'],
  [importsPointDown, "packages/http1/src/message/a.ts", 'import { x } from "sluice-http1";'],
  [importsStayInside, "packages/server/src/a.ts", 'import { x } from "../../sluice/src/a.js";'],
  [importsPointDown, "packages/server/src/admin/a.ts", 'import { x } from "../decision/b.js";'],
  [importsPointDown, "packages/server/src/envoy/grpc/a.ts", 'import "../../gateway/b.js";'],
  [opensWithProse, `${src}/a.ts`, 'import { x } from "./b.js";\n// Too late.\n'],
  [opensWithProse, `${src}/a.ts`, "/** @module */\n"],
  [opensWithProse, `${src}/a.ts`, "// A line.\n".repeat(7)],
  [staysShort, `${src}/a.ts`, longText],
  [namedInKebabCase, `${src}/memoryStore.ts`, ""],
  [namedInKebabCase, `${src}/Stores/memory.ts`, ""],
  [namedInKebabCase, `${src}/memory_store.ts`, ""],
  [runsEveryTest, "a.test.ts", 'it.only("x", f);'],
  [runsEveryTest, "a.test.ts", 'describe.skip("x", f);'],
  [runsEveryTest, "a.test.ts", 'test.concurrent.skip("x", f);'],
  [runsEveryTest, "a.test.ts", 'it.todo("x");'],
  [runsEveryTest, "a.test.ts", 'it.skipIf(slow)("x", f);'],
  [keepsTypes, "a.ts", "const x = y as any;"],
  [keepsTypes, "a.ts", "// @ts-ignore\nx();"],
  [namesUnits, `${src}/a.ts`, "interface A { timeout?: number }"],
  [namesUnits, `${src}/a.ts`, "function f(delay: number) {}"],
  [takesTimeFromClock, `${src}/a.ts`, "const now = Date.now();"],
  [takesTimeFromClock, `${src}/a.ts`, "const now = () => performance.now();"],
  [takesTimeFromClock, `${src}/a.ts`, "const today = new Date();"],
  [takesTimeFromClock, `${src}/a.ts`, "const dice = Math.random;"],
  [takesTimeFromClock, `${src}/a.ts`, "setTimeout(sweep, 10);"],
  [takesChanceAsArgument, `${src}/a.ts`, "const id = crypto.randomUUID();"],
  [takesChanceAsArgument, `${src}/a.ts`, "crypto.getRandomValues(words);"],
  [loadsSynchronously, `${src}/a.ts`, 'export const x = await import("./b.js");'],
  [leavesNoNotes, "README.md", `Later. ${"TO" + "DO"}: write.`],
  [leavesNoNotes, `${src}/a.ts`, `// ${"FIX" + "ME"} soon`],
  [namesNoMachine, "README.md", `cd ${"/home" + "/jo"}/code`],
  [namesNoMachine, "a.ts", `const x = "${"/Users" + "/jo"}";`],
  [namesNoRegistry, "package-lock.json", `"https:${"//registry" + ".example.org"}/x.tgz"`],
  [namesNoRegistry, ".npmrc", `${"registry" + "="}somewhere`],
  [usesPlainWords, "README.md", `Open the ${"do" + "or"}.`],
  [usesPlainWords, `${src}/a.tsx`, `<p>Open the ${"do" + "or"}.</p>`],
  [usesPlainWords, `${src}/a.ts`, `// Each ${"Do" + "or"} has a port.`],
  [usesPlainWords, "docs/a.md", `It answers ${"at on" + "ce"}.`],
  [usesPlainWords, "docs/a.md", `It is for ${"no" + "body"}.`],
  [usesPlainWords, `${src}/a.lua`, `-- It ${"tel" + "ls"} what is left.`],
  [usesPlainWords, `${src}/a.ts`, `// The header is ${"belie" + "ved"}.`],
  [usesPlainWords, "docs/a.md", `A window starts ${"an" + "ew"}.`],
  [usesPlainWords, "docs/a.md", `The body is ${"left al" + "one"}.`],
  [locksNoAddress, "package-lock.json", '{ "resolved": "https://example.org/x.tgz" }'],
];

const good: readonly Sample[] = [
  [importsPointDown, `${src}/algorithms/a.ts`, 'import { x } from "./b.js";'],
  [importsPointDown, `${src}/limits/limits.ts`, 'import { x } from "../algorithms/a.js";'],
  [importsPointDown, `${src}/algorithms/a.ts`, '// not import { x } from "../stores/store.js";'],
  [importsPointDown, `${src}/stores/memory/a.ts`, 'import { x } from "../../algorithms/a.js";'],
  [importsPointDown, `${src}/limiter/limiter.ts`, 'import { x } from "../stores/store.js";'],
  [
    importsPointDown,
    `${src}/http/adapters/express.ts`,
    'import { x } from "../../rules/policy.js";',
  ],
  [importsPointDown, `${src}/index.ts`, 'export * from "./limiter/limiter.js";'],
  [importsPointDown, `${src}/testing/a.ts`, 'import { x } from "../limiter/limiter.js";'],
  [importsPointDown, `${src}/limits.test.ts`, 'import { x } from "./testing/testing.js";'],
  [importsStayInside, "bench/a.ts", 'import { x } from "sluice";\nimport { y } from "./b.js";'],
  [importsPointDown, "packages/server/src/admin/a.ts", 'import "./b.js";\nimport "../base/c.js";'],
  [importsPointDown, "packages/server/src/service/a.ts", 'import { x } from "../admin/b.js";'],
  [importsPointDown, "packages/server/src/admin/a.ts", 'import { x } from "sluice-http1";'],
  [
    importsPointDown,
    "packages/http1/src/server/a.ts",
    'import "node:net";\nimport "../request/b.js";',
  ],
  [opensWithProse, `${src}/a.ts`, "// What it is.\n// And why.\n\nexport {};\n"],
  [opensWithProse, `${src}/a.ts`, "/**\n * What it is.\n *\n * @module\n */\n"],
  [opensWithProse, "scripts/a.ts", "#!/usr/bin/env node\n// What it is.\n"],
  [staysShort, `${src}/a.test.ts`, longText],
  [staysShort, `${src}/testing/step-tables.ts`, longText],
  [namedInKebabCase, `${src}/stores/deny-cache.test.ts`, ""],
  [namedInKebabCase, "README.md", ""],
  [runsEveryTest, "a.test.ts", 'it("says it.only in its name", f); // it.skip'],
  [keepsTypes, "a.ts", 'const x = "as any"; // as any other'],
  [namesUnits, `${src}/a.ts`, "interface A { timeoutMs?: number }"],
  [takesTimeFromClock, `${src}/clock.ts`, "const now = Date.now();"],
  [takesChanceAsArgument, `${src}/http/response/retry-after.ts`, "crypto.getRandomValues(words);"],
  [takesChanceAsArgument, `${src}/a.test.ts`, "const id = crypto.randomUUID();"],
  [takesTimeFromClock, `${src}/a.test.ts`, "const now = Date.now();"],
  [takesTimeFromClock, `${src}/a.ts`, "const then = new Date(nowMs); // not Date.now()"],
  [loadsSynchronously, `${src}/a.ts`, "async function f() {\n  await g();\n}"],
  [namesNoMachine, "a.ts", 'get("/users/42"); open("./home/index.html");'],
  [namesNoRegistry, "a.ts", "registry.metrics.reset();"],
  [usesPlainWords, "CHANGELOG.md", `The ${"do" + "ors"} are listeners.`],
  [usesPlainWords, "README.md", "Indoors, the rules are outdoorsy."],
  [locksNoAddress, "package-lock.json", '{ "resolved": "packages/sluice", "link": true }'],
];

describe("a house rule", () => {
  it.each(bad)("%o complains of %s holding %j", (rule, path, text) => {
    expect(rule(path, text)).toEqual([expect.stringMatching(`^${path}:\\d+: `)]);
  });

  it.each(good)("%o lets %s hold %j", (rule, path, text) => {
    expect(rule(path, text)).toEqual([]);
  });

  it("names the line of the breach", () => {
    const text = "// A file.\n\nconst now = Date.now();\n";
    expect(takesTimeFromClock(`${src}/a.ts`, text)).toEqual([
      `${src}/a.ts:3: Date.now outside clock.ts`,
    ]);
  });
});

describe("a rule over the whole tree", () => {
  const page = "docs/dependencies.md";
  const manifest = '{ "name": "x", "devDependencies": { "vitest": "4", "y": "1" } }';
  const sister = '{ "name": "y" }';
  const judge = (rule: TreeRule, files: Record<string, string>) =>
    rule(new Map(Object.entries(files)));

  it("asks a sentence for each dependency, except for a sister package", () => {
    const files = { "package.json": manifest, "packages/y/package.json": sister, [page]: "" };
    expect(judge(explainsDependencies, files)).toEqual([
      `package.json:1: vitest has no sentence in ${page}`,
    ]);
    const explained = { ...files, [page]: "- `vitest`: runs the tests.\n" };
    expect(judge(explainsDependencies, explained)).toEqual([]);
  });

  it("asks a dependency for each sentence", () => {
    const files = { "package.json": sister, [page]: "# Page\n\n- `gone`: was useful once.\n" };
    expect(judge(explainsDependencies, files)).toEqual([`${page}:3: nothing depends on gone`]);
  });

  it("names the shortest way of imports back to a file, types included, once", () => {
    const files = {
      [`${src}/a.ts`]: 'import { b } from "./b.js";\nimport { c } from "./c.js";',
      [`${src}/b.ts`]: 'import { c } from "./c.js";',
      [`${src}/c.ts`]: 'export type { A } from "./a.js";',
      [`${src}/d.tsx`]: 'import type { E } from "./e.js";',
      [`${src}/e.tsx`]: 'const d = await import("./d.js");',
    };
    expect(judge(importsFormNoCycle, files)).toEqual([
      `${src}/a.ts:1: imports lead back to it: ${src}/a.ts → ${src}/c.ts → ${src}/a.ts`,
      // Another circle, of which only the end is the same.
      `${src}/b.ts:1: imports lead back to it: ${src}/b.ts → ${src}/c.ts → ${src}/a.ts → ${src}/b.ts`,
      `${src}/d.tsx:1: imports lead back to it: ${src}/d.tsx → ${src}/e.tsx → ${src}/d.tsx`,
    ]);
  });

  it("lets tests import whatever imports them, and files import down", () => {
    const files = {
      [`${src}/a.ts`]: 'import { b } from "./b.js"; // import { c } from "./c.js";',
      [`${src}/b.ts`]: 'import { c } from "./c.js";',
      [`${src}/c.ts`]: 'import { sluice } from "sluice";',
      [`${src}/c.test.ts`]: 'import { a } from "./a.js";\nimport "./c.test.js";',
    };
    expect(judge(importsFormNoCycle, files)).toEqual([]);
  });

  it("names the shortest way of imports back to a folder over those beside it, once", () => {
    const files = {
      [`${src}/a/deep/x.ts`]: 'import { y } from "../../b/y.js";',
      [`${src}/b/y.ts`]: 'import { z } from "../c/z.js";',
      [`${src}/c/z.ts`]: 'import type { X } from "../a/deep/x.js";',
    };
    const way = ["a", "b", "c", "a"].map((folder) => `${src}/${folder}`).join(" → ");
    expect(judge(foldersFormNoCycle, files)).toEqual([
      `${src}/a/deep/x.ts:1: imports lead back to its folder: ${way}`,
    ]);
  });

  it("lets a file import folders beside it that import it, and tests import across", () => {
    const files = {
      [`${src}/entry.ts`]: 'import { x } from "./a/x.js";',
      [`${src}/a/x.ts`]: 'import type { Entry } from "../entry.js";\nimport "../b/y.js";',
      [`${src}/b/y.ts`]: 'import { Entry } from "../entry.js";',
      [`${src}/b/y.test.ts`]: 'import { x } from "../a/x.js";',
    };
    expect(judge(foldersFormNoCycle, files)).toEqual([]);
  });

  it("follows relative links to files and folders", () => {
    const text =
      "# Here\n[a](b.md#part) [c](../src) [d](https://example.org) [e](#here) `[f](g.md)`";
    const files = { "docs/a.md": text, "docs/b.md": "## Part", "src/x.ts": "" };
    expect(judge(linksLeadSomewhere, files)).toEqual([]);
    expect(judge(linksLeadSomewhere, { "docs/a.md": "\n[a](b.md)" })).toEqual([
      'docs/a.md:2: "b.md" leads nowhere',
    ]);
    const pages = { "a.md": "[x](b.md#two-words) [y](#none)", "b.md": "# Two `words`!" };
    expect(judge(linksLeadSomewhere, pages)).toEqual(['a.md:1: "#none" leads nowhere']);
  });
});
