// Parsing of what users pass in. Untrusted values are read once, here; a value that can't be
// used is answered by an error that names the option and says what was seen.

import { SluiceError, type SluiceErrorCode, show } from "./errors.js";

/** Where an option was seen: the function it was given to, and which error tells of it. */
export interface OptionSite {
  readonly name: string;
  readonly code: SluiceErrorCode;
}

/** Throws the site's error. */
export function refuse(site: OptionSite, what: string): never {
  throw new SluiceError(site.code, `${site.name}: ${what}`);
}

/** The options as an object whose fields are still unknown; refuses anything but an object. */
export function asOptions(site: OptionSite, options: unknown): Record<string, unknown> {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    refuse(site, `needs an object of options, got ${show(options)}`);
  }
  return options as Record<string, unknown>;
}

/** The options of a verb, if they are an object at all; their fields are checked one by one. */
export function asGiven<T>(options: T): T {
  if (typeof options === "object" && options !== null) return options;
  throw new SluiceError("SLUICE_OPTION_INVALID", `needs an object, got ${show(options)}`);
}

/** A whole number within bounds, both included. */
export function whole(
  site: OptionSite,
  field: string,
  value: unknown,
  bounds: { min: number; max: number },
): number {
  const { min, max } = bounds;
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    refuse(site, `${field} must be a whole number from ${min} to ${max}, got ${show(value)}`);
  }
  return value;
}

/** One of some words. */
export function oneOf<T extends string>(
  site: OptionSite,
  field: string,
  value: unknown,
  choices: readonly T[],
): T {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) {
    refuse(site, `${field} must be one of ${choices.join(", ")}, got ${show(value)}`);
  }
  return found;
}
