// What each file needs to add its verbs.

import type { Finish } from "../exit.js";
import type { Terminal } from "../terminal/terminal.js";

/** The terminal, and what takes the exit code of a verb that succeeded. */
export interface CommandParts {
  readonly terminal: Terminal;
  readonly finish: Finish;
}
