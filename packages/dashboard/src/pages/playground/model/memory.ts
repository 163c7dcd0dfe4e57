// What a key needs in the memory store, as the store itself reports it.

import { createLimiter, memoryStore } from "sluice";
import { type Algorithm, toLimit } from "./algorithms.js";
import { DEFAULTS, type Settings } from "./settings.js";

/** The memory of one key. */
export interface KeyMemory {
  readonly bytes: number;
  /** Entries of a log, or permits, that it has room for; 0 if its size does not depend on the limit. */
  readonly entriesMax: number;
}

const SAMPLE = 1_000;
const measured = new Map<Algorithm, { readonly keyBytes: number; readonly entryBytes: number }>();

/** The most that a key needs under these settings. */
export function memoryOf(algorithm: Algorithm, { limit }: Settings): KeyMemory {
  const known = measured.get(algorithm) ?? measure(algorithm);
  measured.set(algorithm, known);
  const entriesMax = known.entryBytes === 0 ? 0 : limit;
  return { bytes: Math.round(known.keyBytes + entriesMax * known.entryBytes), entriesMax };
}

/** Two stores of the same size, one of them with room for more entries. */
function measure(algorithm: Algorithm) {
  const plain = bytesOf(algorithm, SAMPLE);
  const entryBytes = (bytesOf(algorithm, 2 * SAMPLE) - plain) / SAMPLE;
  return { keyBytes: (plain - SAMPLE * entryBytes) / SAMPLE, entryBytes };
}

function bytesOf(algorithm: Algorithm, entriesMax: number): number {
  const store = memoryStore({
    keysMax: SAMPLE,
    logEntriesMax: entriesMax,
    permitsMax: entriesMax,
    blocksMax: 1,
  });
  const limiter = createLimiter({ limit: toLimit(algorithm, DEFAULTS), store });
  // The first charge of a limit makes its table.
  if (algorithm === "concurrency") limiter.acquire("key");
  else limiter.check("key");
  const { bytes } = store.stats;
  limiter.close();
  return bytes;
}
