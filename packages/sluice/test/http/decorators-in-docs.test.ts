import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

// Code in the docs is compiled with the settings of this repository, which has no decorators; blocks
// that need them are marked as `typescript` and compiled as applications of NestJS are.
const root = join(import.meta.dirname, "../../../..");
const guides = join(root, "docs/guides");
const blocks = readdirSync(guides).flatMap((page) =>
  [...readFileSync(join(guides, page), "utf8").matchAll(/^```typescript\n([\s\S]*?)^```/gm)].map(
    ([, code], index) => ({ name: `${page}, block ${index + 1}`, code }),
  ),
);

// Inside the workspace, so that the code finds "sluice" by its name.
mkdirSync(join(root, ".build"), { recursive: true });
const work = mkdtempSync(join(root, ".build/decorators-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe("code with decorators in the guides", () => {
  it("is there", () => {
    expect(blocks.length).toBeGreaterThan(0);
  });

  it.each(blocks)("$name compiles", ({ code }) => {
    const folder = mkdtempSync(join(work, "block-"));
    writeFileSync(join(folder, "block.mts"), code);
    const settings = {
      extends: join(root, "tsconfig.base.json"),
      compilerOptions: { experimentalDecorators: true, emitDecoratorMetadata: true, noEmit: true },
      files: ["block.mts"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
    const { status, stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], {
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });
});
