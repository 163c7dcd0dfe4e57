// `sluice init`: a configuration and rules to start with, written where there are none.

import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { CommandError, EXIT } from "./exit.js";
import type { Finish } from "./program.js";
import { STARTER_FILES } from "./starter-files.js";
import { type Terminal, writeLine } from "./terminal.js";

/** Adds the verb. */
export function addInitCommand(program: Command, terminal: Terminal, finish: Finish): void {
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
Files that are there are never overwritten: it writes both files or none.

Examples:
  $ sluice init
  $ sluice init gateway`;

async function writeStarters(folder: string, terminal: Terminal): Promise<void> {
  const files = STARTER_FILES.map(({ name, text }) => ({ path: join(folder, name), text }));
  const there = files.filter(({ path }) => existsSync(path)).map(({ path }) => path);
  if (there.length > 0) throw cannot(`${there.join(" and ")} exists already; nothing was written`);
  try {
    await mkdir(folder, { recursive: true });
    for (const { path, text } of files) await writeFile(path, text, { flag: "wx" });
  } catch (error) {
    throw cannot((error as Error).message);
  }
  const [{ path: config }] = files;
  const flag = config === STARTER_FILES[0].name ? "" : ` --config ${config}`;
  for (const { path } of files) writeLine(terminal, `wrote ${path}`);
  writeLine(terminal, `Name your API in ${config} under upstreams, then: sluice serve${flag}`);
}

function cannot(message: string): CommandError {
  return new CommandError(EXIT.no, message);
}
