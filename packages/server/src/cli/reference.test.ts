import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { FakeTerminal, sluice } from "../../test/cli/fake-terminal.js";
import { createProgram } from "./program.js";

const page = readFileSync(
  join(import.meta.dirname, "../../../../docs/reference/command.md"),
  "utf8",
);
const verbs = verbsOf(await createProgram({ terminal: new FakeTerminal(), finish: () => {} }), []);

/** Every verb that does something, by its words. */
function verbsOf(
  command: Command,
  words: readonly string[],
): { words: string[]; command: Command }[] {
  if (command.commands.length === 0) return [{ words: [...words], command }];
  return command.commands.flatMap((verb) => verbsOf(verb, [...words, verb.name()]));
}

describe("docs/reference/command.md", () => {
  it.each(verbs)("has a heading that names $words", ({ words }) => {
    const headings = page.split("\n").filter((line) => line.startsWith("## sluice "));
    const last = words.at(-1) as string;
    const parents = words.slice(0, -1);
    const fits = (heading: string) => {
      const named = heading.replace("## sluice ", "").split(/, | and | /);
      return parents.every((word) => named.includes(word)) && named.includes(last);
    };
    expect(headings.filter(fits)).toHaveLength(1);
  });

  it("has every option, and no option that is not there", () => {
    const there = new Set(verbs.flatMap(({ command }) => command.options.map(({ long }) => long)));
    const said = new Set(
      [...page.matchAll(/`[^`\n]*`/g)].flatMap(([code]) => code.match(/--[a-z-]+/g) ?? []),
    );
    said.delete("--help");
    expect([...there].filter((name) => !said.has(name as string))).toEqual([]);
    expect([...said].filter((name) => !there.has(name))).toEqual([]);
  });
});

describe("sluice --help", () => {
  it.each(verbs)("of $words says what it does, with an example that parses", async ({ words }) => {
    const { code, out } = await sluice([...words, "--help"]);
    expect(code).toBe(0);
    expect(out).not.toContain("default: [");
    const examples = [...out.matchAll(/^ {2}\$ .*?(?=sluice )(sluice .*)$/gm)].map(
      (match) => match[1],
    );
    expect(examples).not.toEqual([]);
    for (const example of examples) {
      expect(example).toMatch(new RegExp(`^sluice ${words.join(" ")}\\b`));
      const flags = example.match(/--[a-z-]+/g) ?? [];
      const known = verbs.find((verb) => verb.words === words)?.command.options;
      for (const flag of flags) expect(known?.map(({ long }) => long)).toContain(flag);
    }
  });
});
