import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder, removeFolder } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packedOnce } from "./packed.js";
import { run } from "./run.js";

const root = join(import.meta.dirname, "..");

/** What the package may take up once it is unpacked, with the dashboard, which is compressed. */
const UNPACKED_BYTES_MAX = 2_900_000;

const work = makeFolder("service-package");
const consumer = join(work, "consumer");
const installed = join(consumer, "node_modules/sluice-server");

beforeAll(async () => {
  const archives = await packedOnce();
  mkdirSync(consumer);
  writeFileSync(join(consumer, "package.json"), '{ "name": "consumer", "private": true }');
  const names = Object.entries(archives).flatMap(([folder, archive]) =>
    install(join(root, "packages", folder), archive),
  );
  for (const name of new Set(names)) linkFromHere(name);
  // What npm install does at its end: the command gets its link. Nothing is asked of a registry.
  run("npm", ["rebuild", "sluice-server", "--ignore-scripts", "--offline"], consumer);
});

// Large: a process that ends has no time for it.
afterAll(() => removeFolder(work));

describe("the packed service", () => {
  it("carries its licence and readme, and no tests or build leftovers", () => {
    const files = filesBelow(installed);
    expect(files).toEqual(
      expect.arrayContaining([
        "LICENSE",
        "README.md",
        "bin/sluice.js",
        "dashboard/index.html.gz",
        "sluice.schema.json",
      ]),
    );
    expect(files.filter((file) => /\.test\.|tsbuildinfo|tsconfig/.test(file))).toEqual([]);
    const [own, house] = [installed, root].map((at) => readFileSync(join(at, "LICENSE"), "utf8"));
    expect(own).toBe(house);
  });

  it("carries neither sources nor maps of them, and is no larger than its bound", () => {
    const files = filesBelow(installed);
    expect(files.filter((file) => /\.map$|^src\/|^dist.*\.(?:md|sql)$/.test(file))).toEqual([]);
    const bytes = files.reduce((sum, file) => sum + statSync(join(installed, file)).size, 0);
    expect(bytes).toBeLessThan(UNPACKED_BYTES_MAX);
  });

  it("has a command that the system can execute", () => {
    expect(readFileSync(join(installed, "bin/sluice.js"), "utf8")).toMatch(
      /^#!\/usr\/bin\/env node\n/,
    );
    expect(statSync(join(installed, "bin/sluice.js")).mode & 0o111).toBe(0o111);
  });

  it("names every package that its code loads as a dependency", () => {
    const { dependencies, peerDependencies } = manifestOf(installed);
    const known = new Set(Object.keys({ ...dependencies, ...peerDependencies }));
    const loaded = filesBelow(join(installed, "dist"))
      .filter((file) => file.endsWith(".js"))
      .flatMap((file) => importsOf(readFileSync(join(installed, "dist", file), "utf8")));
    expect(loaded).toContain("sluice");
    expect([...new Set(loaded)].filter((name) => !known.has(name))).toEqual([]);
  });

  it("comes with an HTTP parser that has no tests, and a threat model", () => {
    const files = filesBelow(join(consumer, "node_modules/sluice-http1"));
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "threat-model.md"]));
    expect(files.filter((file) => /\.test\.|tsbuildinfo|tsconfig/.test(file))).toEqual([]);
  });

  it("runs by npx", () => {
    const { version } = manifestOf(installed);
    expect(run("npx", ["--offline", "sluice", "--version"], consumer)).toBe(`${version}\n`);
  });

  it("can be imported by its name", () => {
    run(process.execPath, ["--input-type=module", "-e", 'import "sluice-server"'], consumer);
  });

  it("validates rules and a configuration", () => {
    const rules = join(root, "examples/rules/sluice.yaml");
    expect(sluice(["rules", "validate", rules])).toMatch(/: ok \(10 rules/);
    const config = join(consumer, "sluice.yaml");
    writeFileSync(config, sluice(["demo", "--print-config"]));
    expect(sluice(["serve", "--check"])).toBe(
      "sluice.yaml: ok (gateway, 1 upstream, admin, 2 rules)\n",
    );
    writeFileSync(config, "gateway: { listen: nowhere }\n");
    expect(() => sluice(["serve", "--check"])).toThrow(/sluice\.yaml:1: gateway\.listen/);
  });

  it("runs the demo, answers once and ends by SIGTERM with 0", async () => {
    const anywhere = { SLUICE_GATEWAY_LISTEN: "127.0.0.1:0", SLUICE_ADMIN_LISTEN: "127.0.0.1:0" };
    const demo = spawn(join(consumer, "node_modules/.bin/sluice"), ["demo"], {
      cwd: consumer,
      env: { ...process.env, ...anywhere },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = once(demo, "exit");
    let printed = "";
    const isUp = new Promise<void>((resolve) => {
      const read = (piece: Buffer) => {
        printed += piece.toString();
        if (printed.includes("Ctrl-C")) resolve();
      };
      demo.stdout.on("data", read);
      demo.stderr.on("data", read);
    });
    await Promise.race([isUp, ended]);
    const gateway = /gateway +(\S+)/.exec(printed)?.[1];
    expect(gateway, printed).toBeDefined();
    const response = await fetch(`${gateway}/`);
    expect(response.status).toBe(200);
    expect(response.headers.get("ratelimit")).toMatch(/^"everything";r=19/);
    await response.text();
    demo.kill("SIGTERM");
    expect(await ended, printed).toEqual([0, null]);
    expect(printed).toContain("allowed  GET /");
  });
});

/** Runs the installed command to its end. */
function sluice(args: readonly string[]): string {
  return run(join(consumer, "node_modules/.bin/sluice"), args, consumer);
}

/** Unpacks a package where npm would. Returns what it depends on, besides ours. */
function install(folder: string, archive: string): string[] {
  const { name, dependencies = {} } = manifestOf(folder);
  const at = join(consumer, "node_modules", name);
  mkdirSync(at, { recursive: true });
  run("tar", ["-xzf", archive, "--strip-components=1", "-C", at], work);
  return Object.keys(dependencies).filter((other) => !other.startsWith("sluice"));
}

/** Lets the consumer find a package that is installed here: npm would ask a registry for it. */
function linkFromHere(name: string): void {
  const at = join(consumer, "node_modules", name);
  mkdirSync(dirname(at), { recursive: true });
  symlinkSync(join(root, "node_modules", name), at);
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** The packages that a file imports: neither files of its own nor what Node brings. */
function importsOf(code: string): string[] {
  const specifiers = [
    ...code.matchAll(/^(?:import|export) [^;]*?from "([^"]+)"|\bimport\("([^"]+)"\)/gm),
  ];
  return specifiers
    .map((match) => match[1] ?? (match[2] as string))
    .filter((specifier) => !/^(?:\.|node:)/.test(specifier))
    .map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] as string);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}
