// What another region's store has counted of one process and key. The process charges it together with the region's own
// counter, and learns from each answer what it has.

import type { Limit } from "../../../limits/limits.js";
import { windowEndMs } from "./merge-windows.js";

/**
 * What a register has besides the units that it counts. A refund that arrives late may ask for more than it has; a
 * counter stops at zero, and then would no longer agree with the region's own.
 */
export const BASE_UNITS = 2 ** 40;
/** What another region's store has counted of this process, as far as is known. */
export interface Register {
  /** The window that it counts in; NaN before the first answer. */
  endMs: number;
  /** Units that it had when it answered last. */
  knownUnits: number;
  /** Whether it has its base; see {@link BASE_UNITS}. */
  hasBase: boolean;
  /** When it was read last, by our clock. */
  readAtMs: number;
  /** Whether a call had no answer, so that it may have more. */
  isUnsure: boolean;
  /** Whether a call is under way, so that it may soon have another number of units. */
  isAwaited: boolean;
  /** What was to be in it after the latest call, what was announced ahead included. */
  sentUnits: number;
  /** Units announced ahead of admitting them. */
  aheadUnits: number;
  /** Of a limit without windows: units that earlier registers counted. */
  doneUnits: number;
}

/** What was sent of a key. */
export interface SentUnits {
  readonly key: {
    readonly counter: { readonly limit: Limit };
    readonly key: string;
    readonly hasWindows: boolean;
  };
  /** Units announced ahead of admitting them. */
  readonly aheadUnits: number;
  /** What had to be charged, or below zero refunded. */
  readonly deltaUnits: number;
}

/** A register before the first answer. */
export function newRegister(): Register {
  return {
    endMs: Number.NaN,
    knownUnits: 0,
    hasBase: false,
    readAtMs: Number.NEGATIVE_INFINITY,
    isUnsure: false,
    isAwaited: false,
    sentUnits: 0,
    aheadUnits: 0,
    doneUnits: 0,
  };
}

/** The answer to what was sent: the register has so many units, at a time of its store's clock. */
export function learnRegister(
  register: Register,
  { key, aheadUnits, deltaUnits }: SentUnits,
  { used, atMs }: { readonly used: number; readonly atMs: number },
): void {
  const endMs = windowEndMs(key.counter.limit, key.key, atMs);
  const isProbe = register.isUnsure;
  if (!key.hasWindows && !Number.isNaN(register.endMs) && endMs > register.endMs) {
    // It counts in a new window of its own. What may have arrived in the one before is not sent again.
    register.doneUnits += isProbe ? register.sentUnits : register.knownUnits;
  }
  register.endMs = endMs;
  // A call that arrived twice may have brought the base twice.
  const bases = Math.round(used / BASE_UNITS);
  register.hasBase = bases > 0;
  register.knownUnits = used - bases * BASE_UNITS;
  register.isUnsure = false;
  register.isAwaited = false;
  if (!isProbe || deltaUnits !== 0) register.aheadUnits = aheadUnits;
}
