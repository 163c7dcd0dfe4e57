// Options that code passes to a function, read by shapes. Code gets the first problem as an error, which names the
// function and says what was seen: `memoryStore: keysMax must be a whole number from 1 to 100000000, got 0`.

import { SluiceError, type SluiceErrorCode, show } from "../errors.js";
import { choice, flag, isRecord, type Shape, wholeNumber } from "./shape.js";
import { type Path, Reading, type Refusal, Spot } from "./spot.js";

/** Where an option was seen: the function that it was passed to, and the code of the error. */
export interface OptionSite {
  readonly name: string;
  readonly code: SluiceErrorCode;
}

/** Throws the site's error. */
export function refuse(site: OptionSite, what: string): never {
  throw new SluiceError(site.code, `${site.name}: ${what}`);
}

/** The options of a function, by their shape. Refuses what is not an object, unknown names and values. */
export function readOptions<T>(site: OptionSite, shape: Shape<T>, options: unknown): T {
  return shape.read(options, new Spot(new OptionReading(site))) as T;
}

/** One option, by its shape. */
export function readOption<T>(site: OptionSite, field: string, shape: Shape<T>, value: unknown): T {
  return shape.read(value, new Spot(new OptionReading(site)).in(field)) as T;
}

/** A reading that throws the first problem. */
class OptionReading extends Reading {
  readonly #site: OptionSite;
  readonly problemCount = 0;

  constructor(site: OptionSite) {
    super();
    this.#site = site;
  }

  report(path: Path, problem: string): never {
    this.#throw(path.slice(0, -1), `${path.at(-1)} ${problem}`);
  }

  override refuse(path: Path, refusal: Refusal): void {
    if (path.length > 0) super.refuse(path, refusal);
    else this.#throw([], `needs an object of options, got ${show(refusal.seen)}`);
  }

  override reportUnknown(path: Path, hint: string): never {
    this.#throw(path.slice(0, -1), `unknown option ${show(path.at(-1))}${hint}`);
  }

  #throw(around: Path, what: string): never {
    const { name, code } = this.#site;
    refuse({ name: [name, ...around].join("."), code }, what);
  }
}

/**
 * The options as an object whose values are still unknown, for functions that read them one by one. Refuses what is not
 * an object, and names that are not `known`. Allocates nothing for good ones: `wait` reads its options with every call.
 */
export function asOptions<K extends string>(
  site: OptionSite,
  options: unknown,
  known: readonly K[],
): Partial<Record<K, unknown>> {
  if (!isRecord(options)) refuse(site, `needs an object of options, got ${show(options)}`);
  for (const name of Object.keys(options)) {
    if (!known.includes(name as K)) new Spot(new OptionReading(site)).sayUnknown(name, known);
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
  return readOption(site, field, wholeNumber(bounds), value);
}

/** One of some words. */
export function oneOf<T extends string>(
  site: OptionSite,
  field: string,
  value: unknown,
  choices: readonly T[],
): T {
  return readOption(site, field, choice(choices), value);
}

/** Any function: what it takes and returns can't be checked before it is called. */
// biome-ignore lint/suspicious/noExplicitAny: the type of the option says which function.
export const anyFunction: Shape<any> = {
  what: "a function",
  schema: {},
  read: (value, spot) =>
    typeof value === "function" ? value : spot.refuse(anyFunction.what, value),
};

/** A function, or undefined if it was left out. */
export function functionOf<T>(site: OptionSite, field: string, value: T): T | undefined {
  return value === undefined ? undefined : readOption(site, field, anyFunction, value);
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
    if (options[name] !== undefined) readOption(site, name, flag, options[name]);
  }
}

/** A string that is not empty. */
export const nonEmptyString: Shape<string> = {
  what: "a non-empty string",
  schema: { type: "string", minLength: 1 },
  read: (value, spot) =>
    typeof value === "string" && value !== "" ? value : spot.refuse(nonEmptyString.what, value),
};

/** A string that is not empty, or undefined if it was left out. */
export function stringOf(site: OptionSite, field: string, value: unknown): string | undefined {
  return value === undefined ? undefined : readOption(site, field, nonEmptyString, value);
}

const SECRET_LENGTH_MIN = 16;

/** A secret of at least 16 characters. It is never shown, only how long it is. */
export const secretString: Shape<string> = {
  what: `a string of at least ${SECRET_LENGTH_MIN} characters`,
  schema: { type: "string", minLength: SECRET_LENGTH_MIN },
  read: (value, spot) => {
    if (typeof value === "string" && value.length >= SECRET_LENGTH_MIN) return value;
    const seen = typeof value === "string" ? `${value.length} characters` : typeof value;
    return spot.say(`must be ${secretString.what}, got ${seen}`);
  },
};

/** The same as one option. */
export function secretOf(site: OptionSite, field: string, value: unknown): string {
  return readOption(site, field, secretString, value);
}

/** The names of all options of `T`. The compiler checks that none is missing and none is unknown. */
export function namesOf<T extends object>(
  names: { readonly [K in keyof T]-?: true },
): readonly (keyof T & string)[] {
  return Object.keys(names) as (keyof T & string)[];
}
