// Checks what callers pass with each request, once, at the edge. An invalid value is an error that says what was
// seen, thrown before any state changes.

import type { TimeOptions } from "../base/clock.js";
import { SluiceError, show } from "../base/errors.js";
import { nameHint } from "../base/nearest-name.js";
import { asGiven } from "../base/shapes/code-options.js";

/** Keys are hashed, not kept; the bound keeps hashing a hostile one cheap. */
const KEY_LENGTH_MAX = 65_536;
const REQUEST_ID_LENGTH_MAX = 256;

export function toKey(key: unknown): string {
  if (typeof key === "string" && key.length > 0 && key.length <= KEY_LENGTH_MAX) return key;
  refuseKey(key);
}

// A function of its own: what runs for each request must be short, or V8 does not inline it.
function refuseKey(key: unknown): never {
  const seen = typeof key === "string" && key.length > 0 ? `${key.length} characters` : show(key);
  throw new SluiceError("SLUICE_KEY_INVALID", `got ${seen}`);
}

/** Options of a request, and its time. */
const REQUEST_OPTIONS: readonly string[] = ["cost", "requestId", "caller", "nowMs"];
const TIME_OPTIONS: readonly string[] = ["nowMs"];

/** The options of a verb. Unknown names are errors: a misspelt `cost` would otherwise silently be 1. */
export function asRequest<T extends object>(options: T): T {
  return asNamed(options, REQUEST_OPTIONS);
}

/** The options of a verb that takes nothing but the time. */
export function asTimed(options: TimeOptions | undefined): TimeOptions | undefined {
  return options === undefined ? undefined : asNamed(options, TIME_OPTIONS);
}

function asNamed<T extends object>(options: T, known: readonly string[]): T {
  const given = asGiven(options);
  // Not Object.keys, which makes an array for each request.
  for (const name in given) if (!known.includes(name)) refuseName(name, known);
  return given;
}

function refuseName(name: string, known: readonly string[]): never {
  const seen = `unknown option ${show(name)}${nameHint(name, known)}`;
  throw new SluiceError("SLUICE_OPTION_INVALID", seen);
}

/** The caller, if many callers share the key. It is an identity like a key, with the same bounds. */
export function toCaller(caller: unknown): string | undefined {
  if (caller === undefined) return undefined;
  const isText = typeof caller === "string" && caller.length > 0;
  if (isText && caller.length <= KEY_LENGTH_MAX) return caller;
  const seen = isText ? `${caller.length} characters` : show(caller);
  throw new SluiceError("SLUICE_KEY_INVALID", `got ${seen} as caller`);
}

/** A cost is whole: fractions, negatives and strings are how other limiters mint quota. */
export function toCost(cost: unknown): number {
  if (typeof cost === "number" && cost >= 0 && Number.isSafeInteger(cost)) return cost;
  throw new SluiceError("SLUICE_COST_INVALID", `got ${show(cost)}`);
}

/** A whole number of milliseconds from 1, or Infinity. */
export function toDurationMs(durationMs: unknown): number {
  if (durationMs === Number.POSITIVE_INFINITY) return durationMs;
  if (typeof durationMs === "number" && durationMs >= 1 && Number.isSafeInteger(durationMs)) {
    return durationMs;
  }
  throw new SluiceError("SLUICE_DURATION_INVALID", `got ${show(durationMs)}`);
}

export function toRequestId(requestId: unknown): string | undefined {
  if (requestId === undefined) return undefined;
  const fits =
    typeof requestId === "string" &&
    requestId.length > 0 &&
    requestId.length <= REQUEST_ID_LENGTH_MAX;
  if (fits) return requestId;
  throw new SluiceError("SLUICE_REQUEST_ID_INVALID", `got ${show(requestId)}`);
}
