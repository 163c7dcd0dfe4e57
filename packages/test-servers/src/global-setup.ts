// Runs once before all tests: without a Redis server the run stops here, with the line that
// says how to get one.

import { ensureRedisServer } from "./find-server.js";

/** What the test runner calls. */
export function setup(): void {
  ensureRedisServer();
}
