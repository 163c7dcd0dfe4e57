// Checks of the options that users pass in. Untrusted values are read once, here; an invalid value is an error
// that names the option and says what was seen.

import { SluiceError, type SluiceErrorCode, show } from "./errors.js";
import { nameHint } from "./nearest-name.js";

/** Where an option was seen: the function that it was passed to, and the code of the error. */
export interface OptionSite {
  readonly name: string;
  readonly code: SluiceErrorCode;
}

/** Throws the site's error. */
export function refuse(site: OptionSite, what: string): never {
  throw new SluiceError(site.code, `${site.name}: ${what}`);
}

/**
 * The options as an object whose values are still unknown. Refuses anything but an object, and
 * names that are not `known`: a misspelt option would otherwise silently be the default.
 */
export function asOptions<K extends string>(
  site: OptionSite,
  options: unknown,
  known: readonly K[],
): Partial<Record<K, unknown>> {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    refuse(site, `needs an object of options, got ${show(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (!(known as readonly string[]).includes(name)) {
      refuse(site, `unknown option ${show(name)}${nameHint(name, known)}`);
    }
  }
  return options as Partial<Record<K, unknown>>;
}

/** A value, or its default if it was left out. Only `undefined` counts as left out, not `null`. */
export function orDefault(value: unknown, byDefault: unknown): unknown {
  return value === undefined ? byDefault : value;
}

/** The options of a verb, if they are an object at all; their fields are checked one by one. */
export function asGiven<T>(options: T): T {
  if (typeof options === "object" && options !== null) return options;
  const seen = `options must be an object such as { cost: 5 }, got ${show(options)}`;
  throw new SluiceError("SLUICE_OPTION_INVALID", seen);
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

/** A function, or undefined if it was left out. */
export function functionOf<T>(site: OptionSite, field: string, value: T): T | undefined {
  if (value === undefined || typeof value === "function") return value;
  refuse(site, `${field} must be a function, got ${show(value)}`);
}

/** Refuses options of these names that are neither functions nor left out. */
export function checkFunctions<K extends string>(
  site: OptionSite,
  options: { readonly [Name in K]?: unknown },
  names: readonly K[],
): void {
  for (const name of names) functionOf(site, name, options[name]);
}

/** Refuses options of these names that are neither true, false nor left out: `"false"` would be true. */
export function checkBooleans<K extends string>(
  site: OptionSite,
  options: { readonly [Name in K]?: unknown },
  names: readonly K[],
): void {
  for (const name of names) {
    const value = options[name];
    if (value === undefined || typeof value === "boolean") continue;
    refuse(site, `${name} must be true or false, got ${show(value)}`);
  }
}

/** A string that is not empty, or undefined if it was left out. */
export function stringOf(site: OptionSite, field: string, value: unknown): string | undefined {
  if (value === undefined || (typeof value === "string" && value !== "")) return value;
  refuse(site, `${field} must be a non-empty string, got ${show(value)}`);
}

const SECRET_LENGTH_MIN = 16;

/** A secret of at least 16 characters. It is never shown, only how long it is. */
export function secretOf(site: OptionSite, field: string, value: unknown): string {
  if (typeof value === "string" && value.length >= SECRET_LENGTH_MIN) return value;
  const seen = typeof value === "string" ? `${value.length} characters` : typeof value;
  refuse(
    site,
    `${field} must be a string of at least ${SECRET_LENGTH_MIN} characters, got ${seen}`,
  );
}

/** The names of all options of `T`. The compiler checks that none is missing and none is unknown. */
export function namesOf<T extends object>(
  names: { readonly [K in keyof T]-?: true },
): readonly (keyof T & string)[] {
  return Object.keys(names) as (keyof T & string)[];
}
