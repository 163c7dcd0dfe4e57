// The `sluice` command: puts its subcommands together and turns their outcome into an exit code. Each subcommand is
// added by its own file.

import { Command, CommanderError } from "commander";
import { readVersion } from "../base/version.js";
import { addAskCommands } from "./commands/ask-commands.js";
import { addControlCommands } from "./commands/control/control-commands.js";
import { addDemoCommand } from "./commands/demo-command.js";
import { addEscalationsCommand } from "./commands/escalations-command.js";
import { addInitCommand } from "./commands/init-command.js";
import { addKeyCommands } from "./commands/key-commands.js";
import { addLedgerCommands } from "./commands/ledger/ledger-commands.js";
import { addQuotaCommands } from "./commands/ledger/quota-commands.js";
import { addReplayCommand } from "./commands/logs/replay-command.js";
import { addSuggestCommand } from "./commands/logs/suggest-command.js";
import { addRegionCommands } from "./commands/region-commands.js";
import { addRulesCommands } from "./commands/rules-commands.js";
import { addServeCommand } from "./commands/serve-command.js";
import { addReloadCommand } from "./commands/switch-commands.js";
import { addTopCommand } from "./commands/top-command.js";
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
  const program = createProgram(terminal, (finished) => {
    code = finished;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    return toExitCode(error, terminal);
  }
}

/** The command with all of its verbs. */
export function createProgram(terminal: Terminal, finish: Finish): Command {
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
  addServeCommand(program, terminal, finish);
  addInitCommand(program, terminal, finish);
  addDemoCommand(program, terminal, finish);
  addAskCommands(program, terminal, finish);
  addKeyCommands(program, terminal, finish);
  addEscalationsCommand(program, terminal, finish);
  addTopCommand(program, terminal, finish);
  addRulesCommands(program, terminal, finish);
  addReplayCommand(program, terminal, finish);
  addSuggestCommand(program, terminal, finish);
  addReloadCommand(program, terminal, finish);
  addControlCommands(program, { terminal, finish });
  addRegionCommands(program, { terminal, finish });
  addQuotaCommands(program, { terminal, finish });
  addLedgerCommands(program, { terminal, finish });
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
