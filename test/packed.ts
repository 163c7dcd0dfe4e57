// The packages as `npm pack` makes them, for the tests that unpack and use them. They are packed once in a
// test run: the first test file that needs them does it, and the others wait for it.

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { vi } from "vitest";
import { run } from "./run.js";

const root = join(import.meta.dirname, "..");
const packages = ["sluice", "http1", "server"] as const;
const packedMsMax = 100_000;

/** The archive of each package, by the name of its folder. */
export type Archives = Readonly<Record<(typeof packages)[number], string>>;

/** Returns the archives of this test run; throws what packing printed if it failed. */
export async function packedOnce(): Promise<Archives> {
  // The folder of all test processes of a run, which is removed at its end.
  const folder = join(tmpdir(), "packed");
  const result = join(folder, "result.json");
  if (isFirst(folder)) {
    writeFileSync(`${result}.part`, JSON.stringify(packAll(folder)));
    renameSync(`${result}.part`, result);
  }
  const found = await vi.waitFor(() => readFileSync(result, "utf8"), {
    timeout: packedMsMax,
  });
  const { archives, error } = JSON.parse(found) as { archives?: Archives; error?: string };
  if (archives === undefined) throw new Error(error);
  return archives;
}

function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

function packAll(folder: string): { archives?: Archives; error?: string } {
  const source = join(folder, "source");
  try {
    copyPackages(source);
    const named = packages.map((name) => [name, pack(join(source, "packages", name), folder)]);
    return { archives: Object.fromEntries(named) as Archives };
  } catch (error) {
    return { error: String(error) };
  } finally {
    rmSync(source, { recursive: true, force: true });
  }
}

/** With the build that npm test has made, but for what is left over of sources that are gone. */
function copyPackages(source: string): void {
  const leftOut = new Set([".build", ".git", "coverage", "node_modules"]);
  for (const name of readdirSync(root).filter((name) => !leftOut.has(name)))
    cpSync(join(root, name), join(source, name), {
      recursive: true,
      filter: (path) => !leftOut.has(basename(path)) && !isLeftOver(path),
    });
  symlinkSync(join(root, "node_modules"), join(source, "node_modules"));
}

function isLeftOver(path: string): boolean {
  const [, module] = /^(.*\/dist\/.*?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(path) ?? [];
  return module !== undefined && !existsSync(`${module.replace("/dist/", "/src/")}.ts`);
}

function pack(folder: string, destination: string): string {
  const packed = run("npm", ["pack", "--json", "--pack-destination", destination], folder);
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  return join(destination, filename);
}
