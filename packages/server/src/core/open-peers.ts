// The stores of the regions that are neither the own one nor home, nor its standby. Only rules with `across: merged` exchange counts with
// them, and such a rule may come at any time, so each is opened when it is first asked.

import { resilient, type Store } from "sluice";
import { redisStore } from "sluice/redis";
import { loadModule } from "../base/files/load-module.js";
import type { Config, RedisStoreConfig } from "../config/config.js";
import type { OpenStoreOptions } from "./open-store.js";

/** Calls go to other regions, which are far away. */
const TIMEOUT_MS = 1_000;

/** Stores of other regions by name, and their end. */
export interface OpenPeers {
  readonly stores: Readonly<Record<string, Store>>;
  close(): Promise<void>;
}

/** The stores of the other regions; none without regions. */
export function openPeers(
  { regions, store }: Pick<Config, "regions" | "store">,
  options: OpenStoreOptions,
): OpenPeers {
  if (regions === undefined || store.kind !== "redis") {
    return { stores: {}, close: async () => {} };
  }
  const { self, home, standby } = regions;
  const isOpened = (name: string) => name === self || name === home || name === standby;
  const names = Object.keys(regions.stores).filter((name) => !isOpened(name));
  const lazy = names.map((name) => {
    const { url } = regions.stores[name];
    return [name, new LazyStore(() => openPeer({ ...store, url }, options))] as const;
  });
  return {
    stores: Object.fromEntries(lazy),
    close: async () => void (await Promise.all(lazy.map(([, each]) => each.end()))),
  };
}

interface OpenPeer {
  readonly store: Store;
  end(): Promise<void>;
}

function openPeer(
  { url, keyPrefix, keySecret }: RedisStoreConfig,
  { telemetry, clock }: OpenStoreOptions,
): OpenPeer {
  const { Redis } = loadModule<typeof import("ioredis")>("ioredis");
  const client = new Redis(url, { lazyConnect: true });
  const remote = redisStore(client, {
    ...(keyPrefix === undefined ? {} : { prefix: keyPrefix }),
    ...(keySecret === undefined ? {} : { keySecret }),
    onWarning: (message) => telemetry.log.warn(message),
  });
  // Its lag is a metric; no decision depends on it.
  const store = resilient(remote, { timeoutMs: TIMEOUT_MS, clock, onEvent: () => {} });
  const end = async () => {
    await store.close();
    client.disconnect();
  };
  return { store, end };
}

/** A store that is opened by the first call. */
class LazyStore implements Store {
  /** The one behind it is. */
  readonly isGuarded = true;
  readonly #open: () => OpenPeer;
  #opened: OpenPeer | undefined;

  constructor(open: () => OpenPeer) {
    this.#open = open;
  }

  decide(...args: Parameters<Store["decide"]>) {
    return this.#store.decide(...args);
  }

  peek(...args: Parameters<Store["peek"]>) {
    return this.#store.peek(...args);
  }

  debit(...args: Parameters<Store["debit"]>) {
    return this.#store.debit(...args);
  }

  settle(...args: Parameters<Store["settle"]>) {
    return this.#store.settle(...args);
  }

  refund(...args: Parameters<Store["refund"]>) {
    return this.#store.refund(...args);
  }

  block(...args: Parameters<Store["block"]>) {
    return this.#store.block(...args);
  }

  unblock(...args: Parameters<Store["unblock"]>) {
    return this.#store.unblock(...args);
  }

  reset(...args: Parameters<Store["reset"]>) {
    return this.#store.reset(...args);
  }

  /** Its owner ends it. */
  close(): void {}

  async end(): Promise<void> {
    await this.#opened?.end();
  }

  get #store(): Store {
    this.#opened ??= this.#open();
    return this.#opened.store;
  }
}
