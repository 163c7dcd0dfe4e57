import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { describe, expect, it } from "vitest";

const clone = makeFolder("bin");
cpSync(join(import.meta.dirname, "../../bin"), join(clone, "bin"), { recursive: true });
writeFileSync(join(clone, "package.json"), '{ "type": "module" }');

function run() {
  const args = [join(clone, "bin/sluice.js"), "--version"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, stdout, stderr };
}

describe("bin/sluice.js", () => {
  it("says in a line how to build a clone that is not built, and runs what was", () => {
    const stderr = "sluice: this clone is not built yet; build first: npm run build\n";
    expect(run()).toEqual({ status: 1, stdout: "", stderr });
    mkdirSync(join(clone, "dist/cli"), { recursive: true });
    writeFileSync(join(clone, "dist/cli/main.js"), "console.log(process.argv.at(-1));\n");
    expect(run()).toEqual({ status: 0, stdout: "--version\n", stderr: "" });
  });
});
