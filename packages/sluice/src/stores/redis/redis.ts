/**
 * A store in Redis or Valkey, for limits that many processes share.
 *
 * @module
 */

export type { IoredisClient, NodeRedisClient, RedisClient } from "./client/client.js";
export type { RedisStoreOptions } from "./redis-options.js";
export { type RedisStore, redisStore } from "./redis-store.js";
