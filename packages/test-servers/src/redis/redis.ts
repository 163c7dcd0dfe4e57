// A single Redis or Valkey server, the one that most tests and benchmarks use.

import { ensureRedisServer } from "../programs/find-server.js";
import { type RedisConfig, RedisProcess } from "./redis-process.js";

/** Options of `startRedis`. */
export interface RedisOptions {
  /**
   * More lines of configuration: `{ maxmemory: "10mb", "maxmemory-policy": "noeviction" }`.
   * Default: none. They win over the defaults, which switch persistence off.
   */
  readonly args?: RedisConfig;
  /** Path or name of the server program. Default: redis-server, installed if it is missing. */
  readonly binary?: string;
}

/**
 * Starts one server on a free loopback port, in a temporary folder, without persistence, and
 * returns when it answers. The caller ends it with `stop()`; if not, it ends with this process.
 */
export function startRedis(options: RedisOptions = {}): Promise<RedisProcess> {
  return RedisProcess.start({
    binary: options.binary ?? ensureRedisServer(),
    config: { ...withoutPersistence, ...options.args },
  });
}

/** Configuration of a server that keeps nothing on disk. */
export const withoutPersistence: RedisConfig = { save: "", appendonly: "no" };
