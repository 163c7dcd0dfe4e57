// The constructor of sketches: limits that count any number of keys in memory of a fixed size, with an error that the
// user chooses. It derives the size of the sketch, so that a limit that would need too much memory is refused here.

import type { SketchLimit } from "../algorithms/limit.js";
import { WINDOW_MS_MAX } from "../algorithms/numbers.js";
import { sketchBytes, sketchSizeFor } from "../algorithms/sketch-size.js";
import { readOptions, refuse } from "../base/shapes/code-options.js";
import { anyNumber, object, required, wholeNumber, withDefault } from "../base/shapes/shapes.js";
import { made, type WindowOptions } from "./limits.js";

/** Options of {@link sketch}. */
export interface SketchOptions extends WindowOptions {
  /**
   * How much a key may be over-counted, as a share of the units that all keys used in the window: from 1e-9 to 0.1,
   * default 1e-5. With 1,000,000 units in a window, 1e-5 is 10 units.
   */
  errorShare?: number;
  /** How likely a key stays within that error: from 0.5 to 0.999999, default 0.99. */
  confidence?: number;
  /**
   * How many keys near their limit have exact counters of their own, at some 20 bytes each; default 10,000. 0 counts
   * every key in the sketch, and then nothing can be refunded or reset.
   */
  exactKeysMax?: number;
}

/** The most units of a sketch: a cell has 32 bits, and room for debt. */
export const SKETCH_UNITS_MAX: number = 2 ** 31;
/** Debt beyond this is not remembered. */
const USED_MAX = 2 ** 32 - 1;
const EXACT_KEYS_MAX = 10_000_000;
/** The most memory of one sketch, its exact counters apart. */
const BYTES_MAX = 2 ** 30;

/** The bounds and defaults of a sketch's own options, for code and rule files. */
export const SKETCH_BOUNDS = {
  errorShare: { min: 1e-9, max: 0.1, default: 1e-5 },
  confidence: { min: 0.5, max: 0.999_999, default: 0.99 },
  exactKeysMax: { min: 0, max: EXACT_KEYS_MAX, default: 10_000 },
} as const;

const { errorShare, confidence, exactKeysMax } = SKETCH_BOUNDS;

const SKETCH = object({
  limit: required(wholeNumber({ min: 1, max: SKETCH_UNITS_MAX })),
  windowMs: required(wholeNumber({ min: 1, max: WINDOW_MS_MAX })),
  errorShare: withDefault(anyNumber(errorShare), errorShare.default),
  confidence: withDefault(anyNumber(confidence), confidence.default),
  exactKeysMax: withDefault(wholeNumber(exactKeysMax), exactKeysMax.default),
} satisfies Record<keyof SketchOptions, unknown>);

const SITE = { name: "sketch", code: "SLUICE_LIMIT_INVALID" } as const;

/**
 * At most `limit` units in each window [k·w, (k+1)·w), for any number of keys in memory that is set aside once. A
 * Count-Min sketch counts: never less than a key used, and more than that by at most `errorShare` of all units of the
 * window, with the probability `confidence`. So it never admits too much, and may refuse a key early. Keys near their
 * limit have exact counters. It is counted in memory only: over a shared store it is an error.
 */
export function sketch(options: SketchOptions): SketchLimit {
  const given = readOptions(SITE, SKETCH, options);
  const size = sketchSizeFor(given);
  const bytes = sketchBytes(size);
  if (bytes > BYTES_MAX) {
    const seen = `errorShare ${given.errorShare} with confidence ${given.confidence}`;
    refuse(SITE, `needs ${toMb(bytes)} MB, more than ${toMb(BYTES_MAX)}, for ${seen}`);
  }
  return made({
    algorithm: "sketch",
    capacity: given.limit,
    windowMs: given.windowMs,
    align: "epoch",
    recoveryMs: given.windowMs,
    usedMax: USED_MAX,
    span: 0,
    errorShare: given.errorShare,
    confidence: given.confidence,
    exactKeysMax: given.exactKeysMax,
    ...size,
  });
}

function toMb(bytes: number): number {
  return Math.ceil(bytes / 1e6);
}
