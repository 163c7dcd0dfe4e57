// Every example that uses Redis, as it stands, while there is no Redis: the program starts, answers and stays alive.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "./run.js";

const root = join(import.meta.dirname, "..");
const readText = (path: string) => readFileSync(join(root, path), "utf8");

const pages = ["README.md", "packages/sluice/README.md"].concat(
  filesOf("docs").filter((path) => path.endsWith(".md")),
);
const sources = [
  ...pages.flatMap((page) =>
    [...readText(page).matchAll(/^```ts\n([\s\S]*?)^```/gm)].map((block, index) => ({
      name: `${page}, code block ${index + 1}`,
      code: block[1] as string,
    })),
  ),
  ...filesOf("examples")
    .filter((path) => path.endsWith(".ts"))
    .map((path) => ({ name: path, code: readText(path) })),
].filter(({ code }) => /from "(ioredis|redis)"/.test(code));

/** Addresses in examples. An example that has no address would find a server of this machine. */
const ADDRESS = /127\.0\.0\.1:6379|(?<=port: )(7000|26379)/g;

// Inside the workspace, so that the examples find "sluice" by its name.
mkdirSync(join(root, ".build"), { recursive: true });
const work = mkdtempSync(join(root, ".build/redis-outage-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

beforeAll(async () => {
  const port = await deadPort();
  for (const [index, { code }] of sources.entries()) {
    const away = code.replace(ADDRESS, (found) =>
      found.includes(":") ? `127.0.0.1:${port}` : `${port}`,
    );
    writeFileSync(join(work, `example-${index}.mts`), away);
  }
  writeFileSync(join(work, "driver.mts"), DRIVER);
  // The file that guides have their readers write before.
  writeFileSync(
    join(work, "rules.yaml"),
    "version: 1\nrules: [{ id: a, key: ip, limit: 9/minute }]\n",
  );
  const settings = { extends: join(root, "tsconfig.base.json"), include: ["*.mts"] };
  writeFileSync(join(work, "tsconfig.json"), JSON.stringify(settings));
  run(join(root, "node_modules/.bin/tsc"), ["-p", work], root);
});

/**
 * Runs an example to its end, and what it exports: functions make stores, over which a limiter has to answer. Then
 * it waits for what fails later. What an example leaves open is closed with the process.
 */
const DRIVER = `
import { setTimeout } from "node:timers/promises";
import { createLimiter, fixedWindow, type Store } from "sluice";

const example = (await import(process.argv[2] as string)) as Record<string, unknown>;
for (const [name, make] of Object.entries(example)) {
  // A middleware takes arguments, and what makes a store takes none.
  if (typeof make !== "function" || make.length > 0) continue;
  const store = (await make()) as Store;
  const limit = fixedWindow({ limit: 10, windowMs: 60_000 });
  const { allowed, source } = await createLimiter({ limit, store }).check("user:42");
  console.log(name, allowed, source);
}
await setTimeout(1_000);
console.log("alive");
process.exit(0);
`;

describe("while Redis is unavailable", () => {
  it("there are examples to run, each with an address", () => {
    expect(sources.length).toBeGreaterThanOrEqual(6);
    for (const { name, code } of sources) {
      expect(code.match(ADDRESS), `${name} names the server that it asks`).not.toBeNull();
    }
  });

  // Beside each other: most of it is waiting for what fails later.
  it.concurrent.each(sources.map(({ name }, index) => ({ name, index })))(
    "$name starts, answers and stays alive",
    async ({ index }) => {
      const { code, out, err } = await runDriver(`./example-${index}.mjs`);
      expect(err).not.toMatch(/unhandled|uncaught/i);
      expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
      expect(out).toMatch(/alive\n$/);
      const answers = out.split("\n").filter((line) => / (true|false) \w+$/.test(line));
      for (const line of answers) expect(line).toMatch(/ true fallback$/);
    },
  );
});

function runDriver(file: string): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [join(work, "driver.mjs"), file], {
    cwd: work,
    env: { ...process.env, REDIS_URL: undefined },
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  const timer = setTimeout(() => child.kill(), 60_000);
  return new Promise((resolve) =>
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, out, err });
    }),
  );
}

/** A port that was free a moment ago, on which nothing listens. */
async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function filesOf(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return names.map((name) => join(folder, name));
}
