// The store of a service, by its configuration: in this process, or in Redis behind a guard, so that every
// decision is answered in time whatever becomes of the network.

import { type Clock, memoryStore, resilient, type Store } from "sluice";
import { redisStore } from "sluice/redis";
import { loadModule } from "../base/files/load-module.js";
import type { RedisStoreConfig, StoreConfig } from "../config/config.js";
import type { StoreName } from "../telemetry/reported.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { RedisReach } from "./redis-reach.js";

/** A store, and how long it has been unavailable. */
export interface OpenStore {
  readonly store: Store;
  /** Since when its answers don't come, in milliseconds of the clock; undefined if they do. */
  awaySinceMs(): number | undefined;
  /** `memory`, `redis at 127.0.0.1:6379`: nothing of an address that may be secret. */
  readonly name: string;
  /** What is wrong with the store, in one line; undefined if nothing is. */
  problem(): string | undefined;
  /** Resolves when it is known whether the store can be reached, within a second or so. */
  readonly known: Promise<void>;
  /** Closes the store and its connections. */
  close(): Promise<void>;
}

/** What a store is opened with. */
export interface OpenStoreOptions {
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** As metrics and the log name it. Default: the store of the service. */
  readonly as?: StoreName;
}

/** Opens the store that is configured. A Redis that is not there yet is not an error: the guard answers. */
export function openStore(config: StoreConfig, options: OpenStoreOptions): OpenStore {
  return config.kind === "memory" ? openMemory(config, options) : openRedis(config, options);
}

function openMemory(
  { keysMax }: { readonly keysMax: number },
  { telemetry }: OpenStoreOptions,
): OpenStore {
  const store = telemetry.measured(memoryStore({ keysMax }));
  return { ...ALWAYS_THERE, name: "memory", store, close: async () => store.close() };
}

/** The availability of a store that can't be unavailable. */
export const ALWAYS_THERE = {
  awaySinceMs: () => undefined,
  problem: () => undefined,
  known: Promise.resolve(),
} as const;

/** Opens a Redis, by its configuration. */
export function openRedis(
  config: RedisStoreConfig,
  { telemetry, clock, as = "store" }: OpenStoreOptions,
): OpenStore {
  // Never connected itself: the store works on a duplicate that sends nothing twice and queues nothing.
  const { Redis } = loadModule<typeof import("ioredis")>("ioredis");
  const client = new Redis(config.url, { lazyConnect: true });
  const { keyPrefix, keySecret, timeoutMs, onStoreFailure } = config;
  const remote = redisStore(client, {
    ...(keyPrefix === undefined ? {} : { prefix: keyPrefix }),
    ...(keySecret === undefined ? {} : { keySecret }),
    onWarning: (message) => telemetry.log.warn(message),
  });
  const store = resilient(telemetry.measured(remote, as), {
    timeoutMs,
    onStoreFailure,
    clock,
    onEvent: (event) => telemetry.fallbackEvent(event, as),
  });
  telemetry.watch(store);
  const reach = new RedisReach(config, telemetry);
  return {
    store,
    name: reach.name,
    problem: () => reach.problem,
    known: reach.firstAnswer,
    awaySinceMs: () => store.stats.sinceMs,
    close: async () => {
      await store.close();
      reach.close();
      client.disconnect();
    },
  };
}
