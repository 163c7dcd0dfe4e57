// The options of a memory store, with their defaults and bounds.

import { asOptions, orDefault, whole } from "../../base/shapes/code-options.js";

/** Options of `memoryStore`. Everything is bounded; memory is set aside for the limits in use. */
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
   * The most reservations and permits outstanding at the same time; beyond it the oldest brings nothing back.
   * Default 100,000, at some 500 bytes each.
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
const KEYS_MAX = 100_000_000;
/** Receipts and request ids are kept in Maps, which end at some 16 million. */
const OBJECTS_MAX = 10_000_000;
const IDEMPOTENCY_MS_MAX = 86_400_000;
const KNOWN = [
  "keysMax",
  "logEntriesMax",
  "permitsMax",
  "blocksMax",
  "receiptsMax",
  "requestsMax",
  "idempotencyMs",
  "seed",
] as const satisfies readonly (keyof MemoryStoreOptions)[];

/** Validates options and fills in defaults. */
export function toBounds(options: MemoryStoreOptions): MemoryStoreBounds {
  const given = asOptions(SITE, options, KNOWN);
  const count = (field: (typeof KNOWN)[number], byDefault: number, max: number) =>
    whole(SITE, field, orDefault(given[field], byDefault), { min: 1, max });
  const keysMax = count("keysMax", 1_000_000, KEYS_MAX);
  return {
    keysMax,
    logEntriesMax: count("logEntriesMax", 2 * keysMax, 2 * KEYS_MAX),
    permitsMax: count("permitsMax", keysMax, 2 * KEYS_MAX),
    blocksMax: count("blocksMax", 100_000, KEYS_MAX),
    receiptsMax: count("receiptsMax", 100_000, OBJECTS_MAX),
    requestsMax: count("requestsMax", 10_000, OBJECTS_MAX),
    idempotencyMs: count("idempotencyMs", 60_000, IDEMPOTENCY_MS_MAX),
    seed: given.seed === undefined ? randomSeed() : toSeed(given.seed),
  };
}

function randomSeed(): { low: number; high: number } {
  const [low, high] = crypto.getRandomValues(new Int32Array(2));
  return { low, high };
}

function toSeed(seed: unknown): { low: number; high: number } {
  const given = asOptions({ ...SITE, name: "memoryStore.seed" }, seed, ["low", "high"]);
  const bounds = { min: -(2 ** 31), max: 2 ** 32 - 1 };
  return {
    low: whole(SITE, "seed.low", given.low, bounds),
    high: whole(SITE, "seed.high", given.high, bounds),
  };
}
