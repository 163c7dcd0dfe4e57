import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packedOnce } from "./packed.js";
import { run } from "./run.js";

const root = join(import.meta.dirname, "..");
const examples = readdirSync(join(root, "examples"), { withFileTypes: true })
  .filter((entry) => entry.isFile() && /(?<!\.test)\.ts$/.test(entry.name))
  .map((entry) => entry.name.replace(/\.ts$/, ""));
const snippets = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".md"))
  .flatMap(snippetsOf);

// Inside the workspace, so that examples find "sluice" by its name.
mkdirSync(join(root, ".build"), { recursive: true });
const work = mkdtempSync(join(root, ".build/examples-"));
let redis: RedisProcess;
let demo = "";
let problems: readonly string[] = [];
afterAll(async () => {
  rmSync(work, { recursive: true, force: true });
  await redis.stop();
});
beforeAll(async () => {
  redis = await startRedis();
  // As users have it: in few files, which load in half of the time.
  const { sluice } = await packedOnce();
  const installed = join(work, "node_modules/sluice");
  mkdirSync(installed, { recursive: true });
  run("tar", ["-xzf", sluice, "--strip-components=1", "-C", installed], work);
  // As a user would: compiled against the package's types, strictly.
  expect(compile(join(root, "examples"), join(work, "examples"))).toEqual([]);
  demo = runExample("demo");
  // Together, because most of a compilation is reading the same types again.
  const folder = join(work, "snippets");
  mkdirSync(folder);
  for (const { file, code } of snippets) writeFileSync(join(folder, file), code);
  problems = compile(folder, join(folder, "out"));
});

describe("examples", () => {
  it.each(examples.filter((name) => name !== "demo"))("%s prints what its end says", (name) => {
    const promised = readText(`examples/${name}.ts`).split("\n// Prints:\n")[1];
    expect(promised, "a comment at the end that begins with Prints:").toBeDefined();
    const lines = (promised as string).trimEnd().split("\n");
    expect(runExample(name)).toBe(lines.map((line) => `${line.replace(/^\/\/ ?/, "")}\n`).join(""));
  });
});

describe("the demonstration", () => {
  it("is plain text of at most 80 columns where it is not shown in a terminal", () => {
    const lines = demo.split("\n");
    expect(lines.filter((line) => line.includes("\x1b"))).toEqual([]);
    expect(lines.filter((line) => [...line].length > 80)).toEqual([]);
  });

  it("shows every algorithm, and accounts for every request under each", () => {
    const calls = [...demo.matchAll(/^ {2}(\w+)\(\{/gm)].map((match) => match[1]);
    expect(new Set(calls)).toEqual(
      new Set([
        "tokenBucket",
        "leakyBucket",
        "fixedWindow",
        "slidingWindowCounter",
        "slidingWindowLog",
        "concurrency",
        "quota",
      ]),
    );
    const totals = [...demo.matchAll(/(\d+) admitted, (\d+) refused/g)];
    const offered = Number(/One caller, (\d+) requests/.exec(demo)?.[1]);
    expect(totals).toHaveLength(calls.length);
    expect(totals.map((match) => Number(match[1]) + Number(match[2]))).toEqual(
      calls.map(() => offered),
    );
  });

  it("says of the windows what their algorithms promise", () => {
    const most = (name: string) =>
      Number(new RegExp(`^ {2}${name}\\([\\s\\S]*?; (\\d+) was the most`, "m").exec(demo)?.[1]);
    expect(most("fixedWindow")).toBe(40);
    expect(most("slidingWindowLog")).toBe(20);
    expect(most("slidingWindowCounter")).toBe(24);
    expect(most("tokenBucket")).toBeLessThanOrEqual(30);
  });
});

describe("docs", () => {
  it.each(snippets)("$name compiles", ({ file }) => {
    expect(problems.filter((line) => line.includes(file))).toEqual([]);
  });

  it("have no other problem", () => {
    expect(problems).toEqual([]);
  });
});

interface Snippet {
  readonly name: string;
  readonly file: string;
  readonly code: string;
}

function snippetsOf(page: string): Snippet[] {
  const blocks = [...readText(`docs/${page}`).matchAll(/^```ts\n([\s\S]*?)^```/gm)];
  return blocks.map((block, index) => ({
    name: `${page}, code block ${index + 1}`,
    // .mts: each is a module, and declares for itself alone.
    file: `${page.replaceAll(/\W/g, "-")}-${index + 1}.mts`,
    code: block[1] as string,
  }));
}

/** Compiles a folder and returns the lines that the compiler printed: none if all is well. */
function compile(sources: string, outDir: string): readonly string[] {
  const folder = mkdtempSync(join(work, "settings-"));
  const settings = {
    extends: join(root, "tsconfig.base.json"),
    compilerOptions: { rootDir: sources, outDir },
    include: [join(sources, "**/*.ts"), join(sources, "*.mts")],
    exclude: ["**/*.test.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  try {
    run(join(root, "node_modules/.bin/tsc"), ["-p", folder], root);
    return [];
  } catch (error) {
    return (error as Error).message.split("\n");
  }
}

function runExample(name: string): string {
  const env = { REDIS_URL: `redis://${redis.host}:${redis.port}` };
  return run(process.execPath, [join(work, "examples", `${name}.js`)], root, env);
}

function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}
