#!/usr/bin/env node
// The `sluice` command. Everything it does is in program.ts, which tests run without a process.

import { runCommand } from "./program.js";
import { processTerminal } from "./terminal.js";

// An exit code is set and the process left to end by itself, so that nothing printed is lost.
void runCommand(process.argv.slice(2), processTerminal()).then((code) => {
  process.exitCode = code;
});
