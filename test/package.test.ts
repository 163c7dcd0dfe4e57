import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, posix } from "node:path";
import { makeFolder, removeFolder } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packedOnce } from "./packed.js";
import { run } from "./run.js";

const root = join(import.meta.dirname, "..");
const manifest = JSON.parse(readFileSync(join(root, "packages/sluice/package.json"), "utf8")) as {
  exports: Record<string, Record<string, string> | string>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};
const specifiers = Object.keys(manifest.exports)
  .filter((subpath) => !subpath.endsWith(".json"))
  .map((subpath) => posix.join("sluice", subpath));

/** What the package may take up once it is unpacked. */
const UNPACKED_BYTES_MAX = 1_850_000;

const work = makeFolder("package");
const consumer = join(work, "consumer");
const installed = join(consumer, "node_modules/sluice");

beforeAll(async () => {
  const { sluice: tarball } = await packedOnce();
  mkdirSync(consumer);
  writeJson(join(consumer, "package.json"), { name: "consumer", private: true });
  // Unpacked by hand: npm would ask a registry for what the package depends on.
  mkdirSync(installed, { recursive: true });
  run("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed], work);
  const others = { ...manifest.dependencies, ...manifest.peerDependencies };
  for (const name of [...Object.keys(others), "@types"]) linkFromHere(name, consumer);
});

// Large: a process that ends has no time for it.
afterAll(() => removeFolder(work));

describe("the packed package", () => {
  it("needs no other package for limiters and stores", () => {
    const alone = join(work, "alone");
    cpSync(installed, join(alone, "node_modules/sluice"), { recursive: true });
    const uses = ["sluice", "sluice/redis", "sluice/testing"].map((name) => `import "${name}";`);
    run(process.execPath, ["--input-type=module", "-e", uses.join("\n")], alone);
  });

  it("loads no YAML parser, and no other package, for limits in code", () => {
    const withoutYaml = join(work, "without-yaml");
    cpSync(installed, join(withoutYaml, "node_modules/sluice"), { recursive: true });
    // Of the frameworks, only NestJS is imported by its adapter.
    linkFromHere("@nestjs", withoutYaml);
    const uses = [
      ...["node", "express", "fastify", "hono", "koa", "fetch"].map(
        (name) =>
          `import { rateLimit as ${name} } from "sluice/${name}"; ${name}({ limit: "5/minute" });`,
      ),
      'import { RateLimitModule } from "sluice/nest"; RateLimitModule.forRoot({ limit: "5/minute" });',
    ];
    run(process.execPath, ["--input-type=module", "-e", uses.join("\n")], withoutYaml);
  });

  it("carries its licence and readme, and no tests or build leftovers", () => {
    const files = filesBelow(installed);
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
    expect(files.filter((file) => /\.test\.|tsbuildinfo|tsconfig/.test(file))).toEqual([]);
  });

  it("is under the licence of the repository", () => {
    const [own, house] = [installed, root].map((at) => readFileSync(join(at, "LICENSE"), "utf8"));
    expect(own).toBe(house);
  });

  it("points every export at a file that it carries", () => {
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === "string" ? [target] : Object.values(target),
    );
    const files = filesBelow(installed).map((file) => `./${file}`);
    expect(targets.filter((target) => !files.includes(target))).toEqual([]);
  });

  it("carries neither sources nor maps of them, and is no larger than its bound", () => {
    const files = filesBelow(installed);
    expect(files.filter((file) => /\.map$|^src\/|^dist.*\.(?:md|lua)$/.test(file))).toEqual([]);
    const output = files.filter((file) => file.endsWith(".js"));
    const mapped = output.filter((file) =>
      readFileSync(join(installed, file), "utf8").includes("sourceMappingURL"),
    );
    expect(mapped).toEqual([]);
    // Bundled: an entry and at most three files that it shares with others.
    expect(output.length).toBeLessThan(2 * specifiers.length);
    const bytes = files.reduce((sum, file) => sum + statSync(join(installed, file)).size, 0);
    expect(bytes).toBeLessThan(UNPACKED_BYTES_MAX);
  });

  it.each(specifiers)("gives import and require() of %s the same names", (specifier) => {
    const imported = namesOf("import", specifier);
    expect(imported).not.toEqual([]);
    expect(namesOf("require", specifier)).toEqual(imported);
  });

  it.each([
    { module: "nodenext", moduleResolution: "nodenext" },
    { module: "preserve", moduleResolution: "bundler" },
  ])(
    "has types for every name, and those that users write down, under moduleResolution $moduleResolution",
    (resolution) => {
      const bare = specifiers.filter((specifier) => !needsNodeTypes(specifier));
      compileUse(bare, { ...resolution, types: [] });
      // The types of frameworks are theirs to keep in order.
      compileUse(specifiers, { ...resolution, types: ["node"], skipLibCheck: true }, userTypes());
    },
  );
});

/** The types that users write down, the same in every adapter. */
function userTypes(): string {
  const shared = ["HttpOptions", "IdentityOptions", "RefusalBody", "TokenVerifier", "StatusList"];
  const adapters = ["node", "express", "fastify", "hono", "koa", "nest", "fetch"];
  const uses = adapters.map((name) => useTypes(`sluice/${name}`, shared));
  uses.push(useTypes("sluice/jwt", ["Claims", "HttpRequest", "TokenVerifier"]));
  return uses.join("\n");
}

/** Adapters speak in the types of their framework, most of them in Node's. */
function needsNodeTypes(specifier: string): boolean {
  return !["sluice", "sluice/redis", "sluice/rules", "sluice/testing"].includes(specifier);
}

/** Compiles programs of both module kinds that use every name. */
function compileUse(
  specifiers: readonly string[],
  settings: Record<string, unknown>,
  more = "",
): void {
  compile(`${specifiers.map(useEveryName).join("\n")}\n${more}`, settings);
}

/** Compiles a program as a module of both kinds. */
function compile(program: string, settings: Record<string, unknown>): void {
  const folder = mkdtempSync(join(consumer, "types-"));
  for (const extension of ["mts", "cts"]) writeFileSync(join(folder, `main.${extension}`), program);
  writeJson(join(folder, "tsconfig.json"), {
    compilerOptions: {
      target: "es2023",
      lib: ["es2023"],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      ...settings,
    },
  });
  run(join(root, "node_modules/.bin/tsc"), ["-p", folder], consumer);
}

/** A module's types under names of its own. */
function useTypes(specifier: string, names: readonly string[]): string {
  const prefix = specifier.replace(/\W/g, "_");
  const renamed = names.map((name) => `${name} as ${prefix}_${name}`).join(", ");
  return `export type { ${renamed} } from ${JSON.stringify(specifier)};`;
}

/** Lets a program in a folder find a package, or a scope of them, that is installed here. */
function linkFromHere(name: string, folder: string): void {
  const at = join(folder, "node_modules", name);
  mkdirSync(dirname(at), { recursive: true });
  symlinkSync(join(root, "node_modules", name), at);
}

type Loading = "import" | "require";
const loaded = new Map<Loading, Record<string, string[]>>();

/** The names that a module exports. One process loads all of them in each way, as starting one takes longest. */
function namesOf(loading: Loading, specifier: string): string[] {
  const names = loaded.get(loading) ?? loadNames(loading);
  loaded.set(loading, names);
  return (names[specifier] ?? []).filter((name) => name !== "__esModule").sort();
}

function loadNames(loading: Loading): Record<string, string[]> {
  const load = loading === "import" ? "await import" : "require";
  const kind = loading === "import" ? "module" : "commonjs";
  const entries = specifiers.map((name) => `"${name}": Object.keys(${load}("${name}"))`);
  const code = `console.log(JSON.stringify({ ${entries.join(", ")} }))`;
  return JSON.parse(run(process.execPath, [`--input-type=${kind}`, "-e", code], consumer));
}

function useEveryName(specifier: string, index: number): string {
  const names = namesOf("import", specifier);
  const renamed = names.map((name) => `${name} as ${name}${index}`).join(", ");
  const used = names.map((name) => `${name}${index}`).join(", ");
  return `import { ${renamed} } from "${specifier}";\nexport const used${index}: unknown[] = [${used}];\n`;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(value, null, 2));
}
