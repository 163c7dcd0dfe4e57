// The options of a memory store, with their defaults and bounds.

import { asOptions, whole } from "../../options.js";

/** Options of `memoryStore`. Everything is bounded; memory is set aside when first needed. */
export interface MemoryStoreOptions {
  /**
   * The most keys kept for limits of similar recovery time (under a minute, up to an hour,
   * longer) and state size; default 1,000,000, about 20 bytes each for buckets and windows.
   */
  keysMax?: number;
  /** The most entries of all sliding logs together; default twice `keysMax`. */
  logEntriesMax?: number;
  /** The most permits of all concurrency limits together; default `keysMax`. */
  permitsMax?: number;
  /** The most blocked keys; default 100,000. */
  blocksMax?: number;
  /**
   * The most reservations and permits out at once; beyond it the oldest brings nothing back.
   * Default 100,000, at some 150 bytes each.
   */
  receiptsMax?: number;
  /** The most admitted requests that are remembered by their requestId; default 10,000. */
  requestsMax?: number;
  /** How long they are remembered; default 60,000. */
  idempotencyMs?: number;
  /** A fixed seed of the hash, for runs that must repeat. Default: random, as it should be. */
  seed?: { low: number; high: number };
}

/** All options, filled in. */
export type MemoryStoreBounds = Required<MemoryStoreOptions>;

const SITE = { name: "memoryStore", code: "SLUICE_OPTION_INVALID" } as const;
// 2^31 words address a table of about 400 million of the smallest slots.
const KEYS_MAX = 100_000_000;
const IDEMPOTENCY_MS_MAX = 86_400_000;

/** Validates options and fills in defaults. */
export function toBounds(options: MemoryStoreOptions): MemoryStoreBounds {
  const given = asOptions(SITE, options);
  const count = (field: string, value: unknown) =>
    whole(SITE, field, value, { min: 1, max: 2 * KEYS_MAX });
  const keysMax = whole(SITE, "keysMax", given.keysMax ?? 1_000_000, { min: 1, max: KEYS_MAX });
  return {
    keysMax,
    logEntriesMax: count("logEntriesMax", given.logEntriesMax ?? 2 * keysMax),
    permitsMax: count("permitsMax", given.permitsMax ?? keysMax),
    blocksMax: count("blocksMax", given.blocksMax ?? 100_000),
    receiptsMax: count("receiptsMax", given.receiptsMax ?? 100_000),
    requestsMax: count("requestsMax", given.requestsMax ?? 10_000),
    idempotencyMs: whole(SITE, "idempotencyMs", given.idempotencyMs ?? 60_000, {
      min: 1,
      max: IDEMPOTENCY_MS_MAX,
    }),
    seed: given.seed === undefined ? randomSeed() : toSeed(given.seed),
  };
}

function randomSeed(): { low: number; high: number } {
  const [low, high] = crypto.getRandomValues(new Int32Array(2));
  return { low, high };
}

function toSeed(seed: unknown): { low: number; high: number } {
  const given = asOptions({ ...SITE, name: "memoryStore.seed" }, seed);
  const bounds = { min: -(2 ** 31), max: 2 ** 32 - 1 };
  return {
    low: whole(SITE, "seed.low", given.low, bounds),
    high: whole(SITE, "seed.high", given.high, bounds),
  };
}
