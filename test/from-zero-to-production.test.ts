import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { run } from "./run.js";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/guides/from-zero-to-production.md"), "utf8");
const files = [...page.matchAll(/^```yaml\n(# (\S+)\n[\s\S]*?)^```/gm)].map((block, index) => ({
  number: index + 1,
  name: block[2] as string,
  text: block[1] as string,
}));
const rules = files.filter(({ name }) => name.startsWith("rules"));

mkdirSync(join(root, ".build"), { recursive: true });
const work = mkdtempSync(join(root, ".build/from-zero-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

const sluice = (...args: string[]) =>
  run(process.execPath, [join(root, "packages/server/bin/sluice.js"), ...args], work);

describe("From zero to production", () => {
  it.each(rules)("$name (block $number) is a rule file without problems", ({ name, text }) => {
    writeFileSync(join(work, name), text);
    expect(sluice("rules", "validate", name)).toContain(`${name}: ok`);
  });

  it.each(files.filter(({ name }) => name === "sluice.yaml"))(
    "$name (block $number) passes serve --check with the first rule file",
    ({ name, text }) => {
      writeFileSync(join(work, name), text);
      writeFileSync(join(work, "rules.yaml"), rules[0]?.text ?? "");
      expect(sluice("serve", "--check")).toBe(
        "sluice.yaml: ok (gateway, 1 upstream, admin, 2 rules)\n",
      );
    },
  );

  it("shows the difference between the last two rule files as the command prints it", () => {
    const [before, after] = rules.slice(-2) as [(typeof rules)[0], (typeof rules)[0]];
    writeFileSync(join(work, before.name), before.text);
    writeFileSync(join(work, after.name), after.text);
    const shown = /^```text\n(~[\s\S]*?)^```/m.exec(page)?.[1];
    expect(shown).toBe(difference(before.name, after.name));
  });
});

// Exit code 1 says that the files differ, which run() reports as an error.
function difference(before: string, after: string): string {
  try {
    return sluice("rules", "diff", before, after);
  } catch (failure) {
    return (failure as Error).message.split("\n").slice(1).join("\n");
  }
}
