// The `sluice` command: puts its subcommands together and turns their outcome into an exit code. Each subcommand is
// added by its own file, which is loaded only if the arguments call for it.

import { Command, CommanderError } from "commander";
import { readVersion } from "../base/version.js";
import { type CommandGroup, commandGroups, groupsFor } from "./command-groups.js";
import type { CommandParts } from "./commands/command-parts.js";
import { CommandError, EXIT, type ExitCode, type Finish } from "./exit.js";
import type { Terminal } from "./terminal/terminal.js";

/**
 * Runs the command to its end and returns its exit code. Never rejects for what a user can do wrong: that is
 * one line where errors go.
 *
 * @param args - What comes after the name of the command.
 */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const finish: Finish = (finished) => {
    code = finished;
  };
  const program = await createProgram({ terminal, finish }, groupsFor(args));
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    return toExitCode(error, terminal);
  }
}

/** The command with its verbs. @param groups - Default: all. */
export async function createProgram(
  parts: CommandParts,
  groups: readonly CommandGroup[] = commandGroups,
): Promise<Command> {
  const { terminal } = parts;
  const program = new Command("sluice")
    .description("Sluice, a rate limiter: run the service, or query and control a running one")
    .version(readVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.writeError(text),
      getOutHelpWidth: () => terminal.size().columns,
      getErrHelpWidth: () => terminal.size().columns,
      getOutHasColors: () => terminal.hasColour,
      getErrHasColors: () => terminal.hasColour,
    })
    .showHelpAfterError("(run with --help for usage)")
    .addHelpText("after", HELP);
  for (const { load } of groups) {
    const add = await load();
    add(program, parts);
  }
  return program;
}

const HELP = `
Exit codes: 0 success; 1 refused, invalid or different; 2 the command was not understood;
3 the service could not be reached, or needs a token or one with another role.

Examples:
  $ sluice demo
  $ sluice serve --config sluice.yaml
  $ sluice check --method POST --path /login --ip 203.0.113.10
  $ sluice top`;

function toExitCode(error: unknown, terminal: Terminal): ExitCode {
  // Commander has printed what it has to say.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (!(error instanceof CommandError)) throw error;
  terminal.writeError(`sluice: ${error.message}\n`);
  return error.exitCode;
}
