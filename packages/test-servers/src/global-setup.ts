// Runs once before all tests: without a Redis server the run stops here, with the line that
// says how to get one. And once after them: what test processes left behind goes.

import { chmodSync } from "node:fs";
import { makeFolder, removeFolder } from "./folder.js";
import { chooseTemporaryFolder } from "./memory-folder.js";
import { ensureRedisServer } from "./programs/find-server.js";

/** Not SLUICE_…: services that tests start read their settings from there, and refuse others. */
const MADE = "TESTS_FOLDER";

/** What the test runner calls. Returns what it calls at the end. */
export function setup(): () => void {
  // Every project of the configuration calls it. The first call is for all: nested folders would make paths of sockets
  // longer than systems allow.
  if (process.env[MADE] !== undefined) return () => {};
  ensureRedisServer();
  process.env.TMPDIR = chooseTemporaryFolder();
  // Temporary folders of all test processes are made in this one: a process that is killed removes none.
  const folder = makeFolder("tests");
  // Other users may pass through it: PostgreSQL runs as one if the tests run as root.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  process.env[MADE] = folder;
  return () => removeFolder(folder);
}
