// Finds the Redis and Valkey servers that tests start.

import { ensureProgram, findProgram, type Machine } from "./find-program.js";

export { findProgram, type Machine } from "./find-program.js";

/**
 * The path of redis-server. Where it is missing, it is installed (Debian as root, the system
 * service is not started); elsewhere this throws an error that says how to get it.
 */
export function ensureRedisServer(machine?: Machine): string {
  return ensureProgram("redis-server", "redis-server", machine);
}

/** The path of valkey-server, or undefined: Valkey is tested where it is installed. */
export function findValkeyServer(): string | undefined {
  return findProgram("valkey-server");
}
