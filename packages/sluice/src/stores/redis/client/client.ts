// The one place that knows Redis clients. A store takes the client that its user made, ioredis or node-redis, single,
// Sentinel or Cluster, and needs little of it: to run a script, and to know whether it is connected. A client that
// sends a command again after a lost connection could charge twice; of an ioredis client that does, the store uses a
// duplicate that does not.

import { show } from "../../../base/errors.js";
import { type OptionSite, refuse } from "../../../base/shapes/code-options.js";
import { ioredisPort } from "./ioredis.js";
import { nodeRedisPort } from "./node-redis.js";
import type { RedisPort } from "./redis-port.js";

/** An ioredis `Redis` or `Cluster`. */
export interface IoredisClient {
  readonly status: string;
  evalsha(...args: never[]): unknown;
}

/** A client, cluster or Sentinel of node-redis. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  evalSha(...args: never[]): unknown;
}

/** What a Redis store can work with. */
export type RedisClient = IoredisClient | NodeRedisClient;

const SITE: OptionSite = { name: "redisStore", code: "SLUICE_OPTION_INVALID" };

/** The port of a client, or an error that says what was seen. */
export function toPort(client: unknown): RedisPort {
  const given = (client ?? {}) as Record<string, unknown>;
  if (typeof given.evalsha === "function" && typeof given.duplicate === "function") {
    return ioredisPort(client);
  }
  if (typeof given.evalSha === "function" && typeof given.isOpen === "boolean") {
    return nodeRedisPort(client);
  }
  refuse(SITE, `needs a client of ioredis or node-redis, got ${show(client)}`);
}
