// The options of a memory store, with their defaults and bounds.

import { readOptions } from "../../base/shapes/code-options.js";
import { object, optional, required, wholeNumber, withDefault } from "../../base/shapes/shapes.js";

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
const KEYS = wholeNumber({ min: 1, max: KEYS_MAX });
const ENTRIES = wholeNumber({ min: 1, max: 2 * KEYS_MAX });
const OBJECTS = wholeNumber({ min: 1, max: OBJECTS_MAX });
const SEED = wholeNumber({ min: -(2 ** 31), max: 2 ** 32 - 1 });
const OPTIONS = object({
  keysMax: withDefault(KEYS, 1_000_000),
  logEntriesMax: optional(ENTRIES),
  permitsMax: optional(ENTRIES),
  blocksMax: withDefault(KEYS, 100_000),
  receiptsMax: withDefault(OBJECTS, 100_000),
  requestsMax: withDefault(OBJECTS, 10_000),
  idempotencyMs: withDefault(wholeNumber({ min: 1, max: IDEMPOTENCY_MS_MAX }), 60_000),
  seed: optional(object({ low: required(SEED), high: required(SEED) })),
} satisfies Record<keyof MemoryStoreOptions, unknown>);

/** Validates options and fills in defaults. */
export function toBounds(options: MemoryStoreOptions): MemoryStoreBounds {
  const given = readOptions(SITE, OPTIONS, options);
  const { keysMax } = given;
  return {
    keysMax,
    logEntriesMax: given.logEntriesMax ?? 2 * keysMax,
    permitsMax: given.permitsMax ?? keysMax,
    blocksMax: given.blocksMax,
    receiptsMax: given.receiptsMax,
    requestsMax: given.requestsMax,
    idempotencyMs: given.idempotencyMs,
    seed: given.seed ?? randomSeed(),
  };
}

function randomSeed(): { low: number; high: number } {
  const [low, high] = crypto.getRandomValues(new Int32Array(2));
  return { low, high };
}
