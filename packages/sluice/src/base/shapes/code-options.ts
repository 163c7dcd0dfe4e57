// Options that code passes to a function, read by shapes. Code gets the first problem as an error, which names the
// function and says what was seen: `memoryStore: keysMax must be a whole number from 1 to 100000000, got 0`.

import { SluiceError, type SluiceErrorCode, show } from "../errors.js";
import { optional } from "./objects.js";
import { anything, type Field, isRecord, type Shape } from "./shape.js";
import { type Mismatch, type Path, Reading, Spot } from "./spot.js";

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
    refuse(this.#site, `${toText(path)} ${problem}`);
  }

  override refuse(path: Path, refusal: Mismatch): void {
    if (path.length > 0) super.refuse(path, refusal);
    else refuse(this.#site, `needs an object of options, got ${show(refusal.seen)}`);
  }

  override reportUnknown(path: Path, hint: string): never {
    const around = path.length > 1 ? `${toText(path.slice(0, -1))}: ` : "";
    refuse(this.#site, `${around}unknown option ${show(path.at(-1))}${hint}`);
  }
}

/** `limits[0].name` */
function toText([first, ...rest]: Path): string {
  return rest.reduce<string>(
    (text, step) => (typeof step === "number" ? `${text}[${step}]` : `${text}.${step}`),
    `${first}`,
  );
}

/**
 * The options as an object whose values are still unknown, for functions that read them with every call. Refuses what is
 * not an object, and names that are not `known`. Allocates nothing for good ones.
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

/** The options of a verb, if they are an object at all; their fields are checked one by one. */
export function asGiven<T>(options: T): T {
  if (typeof options === "object" && options !== null) return options;
  const seen = `options must be an object such as { cost: 5 }, got ${show(options)}`;
  throw new SluiceError("SLUICE_OPTION_INVALID", seen);
}

/** Options of these names whose values another shape reads: here they may be anything. */
export function passedOn<K extends string>(
  names: readonly K[],
): Readonly<Record<K, Field<NonNullable<unknown> | null | undefined>>> {
  const field = optional(anything());
  return Object.fromEntries(names.map((name) => [name, field])) as Record<K, typeof field>;
}

/** Any function: what it takes and returns can't be checked before it is called. */
// biome-ignore lint/suspicious/noExplicitAny: the type of the option says which function.
export const anyFunction: Shape<any> = {
  what: "a function",
  schema: {},
  read: (value, spot) =>
    typeof value === "function" ? value : spot.refuse(anyFunction.what, value),
};

/** A function, or what another shape reads. */
// biome-ignore lint/suspicious/noExplicitAny: the type of the option says which function.
export function orFunction<T>(shape: Shape<T>): Shape<T | any> {
  return {
    what: `${shape.what}, or a function`,
    get schema() {
      return shape.schema;
    },
    read: (value, spot) => (typeof value === "function" ? value : shape.read(value, spot)),
  };
}

/** Any string. */
export const plainString: Shape<string> = {
  what: "a string",
  schema: { type: "string" },
  read: (value, spot) => (typeof value === "string" ? value : spot.refuse(plainString.what, value)),
};

/** A string that is not empty. */
export const nonEmptyString: Shape<string> = {
  what: "a non-empty string",
  schema: { type: "string", minLength: 1 },
  read: (value, spot) =>
    typeof value === "string" && value !== "" ? value : spot.refuse(nonEmptyString.what, value),
};

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
