// What bin/sluice.js loads: the command, in this process. Everything it does is in program.ts, which tests
// run without one.

import { EXIT } from "./exit.js";
import { runCommand } from "./program.js";
import { processTerminal } from "./terminal/terminal.js";

// Until the command ends: a process that runs out of work before has not done what it was asked to.
process.exitCode = EXIT.unreachable;

// An exit code is set and the process left to end by itself, so that nothing printed is lost.
void runCommand(process.argv.slice(2), processTerminal()).then((code) => {
  process.exitCode = code;
  // A worker that could not start has to be seen to be gone: the channel to its primary keeps it alive.
  if (process.connected) process.disconnect();
});
