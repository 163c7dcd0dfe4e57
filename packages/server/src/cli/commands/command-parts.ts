// What every file of verbs is given to add them.

import type { Finish } from "../exit.js";
import type { Terminal } from "../terminal/terminal.js";

/** What verbs are added with. */
export interface CommandParts {
  readonly terminal: Terminal;
  readonly finish: Finish;
}
