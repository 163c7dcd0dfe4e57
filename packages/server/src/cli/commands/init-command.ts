// `sluice init`: writes a configuration and rules to start with.

import { lstatSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { CommandError, EXIT } from "../exit.js";
import { type Terminal, writeLine } from "../terminal/terminal.js";
import type { CommandParts } from "./command-parts.js";
import { STARTER_FILES } from "./starter-files.js";

/** Adds the verb. */
export function addInitCommand(program: Command, { terminal, finish }: CommandParts): void {
  program
    .command("init")
    .description("write a commented sluice.yaml and rules.yaml to start with")
    .argument("[folder]", "where", ".")
    .addHelpText("after", HELP)
    .action(async (folder: string) => {
      await writeStarters(folder, terminal);
      finish(EXIT.ok);
    });
}

const HELP = `
Existing files are never overwritten: it writes both files or none.

Examples:
  $ sluice init
  $ sluice init gateway`;

async function writeStarters(folder: string, terminal: Terminal): Promise<void> {
  const files = STARTER_FILES.map(({ name, text }) => ({ path: join(folder, name), text }));
  const there = files.filter(({ path }) => isThere(path)).map(({ path }) => path);
  if (there.length > 0) {
    const exist = there.length === 1 ? "exists" : "exist";
    throw cannot(`${there.join(" and ")} already ${exist}; nothing was written`);
  }
  const written: string[] = [];
  try {
    await mkdir(folder, { recursive: true });
    for (const { path, text } of files) {
      await writeFile(path, text, { flag: "wx" });
      written.push(path);
    }
  } catch (error) {
    await Promise.all(written.map((path) => rm(path, { force: true })));
    throw cannot((error as Error).message);
  }
  const [{ path: config }] = files;
  const flag = config === STARTER_FILES[0].name ? "" : ` --config ${config}`;
  for (const { path } of files) writeLine(terminal, `wrote ${path}`);
  writeLine(terminal, `Name your API in ${config} under upstreams, then: sluice serve${flag}`);
}

/** Whether there is anything of that name, be it a link to nothing. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function cannot(message: string): CommandError {
  return new CommandError(EXIT.no, message);
}
