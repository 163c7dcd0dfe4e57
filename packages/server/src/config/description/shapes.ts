// The kinds of values that a configuration is made of: shapes of the kit that also take numbers and booleans as
// strings, since that is what the environment has, and any value as a variable, `${NAME}`.

import {
  type Bounds,
  type DurationUnit,
  type Fields,
  nearestName,
  type Shape,
  UNITS_MS,
} from "sluice/shapes";

/** A kind of value. */
export interface ConfigShape<T> extends Shape<T> {
  /** What it is, in a few words, for the reference. */
  readonly type: string;
  /** The words that it may be, if there is a list of them. */
  readonly words: readonly string[];
  /** Never shown in a message. */
  readonly isSecret: boolean;
  /** A URL: of one that can't be used, the scheme is shown, whatever else is secret. */
  readonly isUrl: boolean;
  /** What can be set in it alone, for a value that may be a map. */
  readonly parts: Fields | undefined;
  /** The value; undefined for what can't be used. */
  readonly toValue: (given: unknown) => T | undefined;
}

/** What a kind of value is made of. */
export interface ConfigShapeOptions<T> {
  /** Completes "must be". */
  readonly what: string;
  /** Default: what it must be. */
  readonly type?: string;
  /** Default: none. */
  readonly words?: readonly string[];
  /** Default false. */
  readonly isSecret?: boolean;
  /** Default false. */
  readonly isUrl?: boolean;
  /** Default: none. */
  readonly parts?: Fields;
  /** Its forms that are not strings, as JSON Schema. */
  readonly forms?: readonly object[];
  /** Its form as a string. Default: only a variable, `${NAME}`, which is one anyway. */
  readonly pattern?: RegExp;
  /** The value; undefined for what can't be used. */
  readonly read: (value: unknown) => T | undefined;
}

/** Describes one kind of value. */
export function shape<T>(options: ConfigShapeOptions<T>): ConfigShape<T> {
  const { what, type = what, words = [], forms = [], pattern } = options;
  const { isSecret = false, isUrl = false } = options;
  // Editors can't look into variables.
  const source = pattern === undefined ? "\\$\\{" : `${pattern.source}|\\$\\{`;
  const text = { type: "string", pattern: source };
  const toValue = options.read;
  return {
    what,
    type,
    words,
    isSecret,
    isUrl,
    parts: options.parts,
    schema: forms.length === 0 ? text : { anyOf: [...forms, text] },
    toValue,
    read: (value, spot) =>
      toValue(value) ??
      spot.refuse(what, value, typeof value === "string" ? nearestName(value, words) : undefined),
  };
}

const DIGITS = /^\d{1,16}$/;

/** A whole number. */
export function whole({ min, max }: Bounds): ConfigShape<number> {
  return shape({
    what: min === max ? `${min}` : `a whole number from ${min} to ${max}`,
    forms: [{ type: "integer", minimum: min, maximum: max }],
    pattern: DIGITS,
    read: (value) => {
      const number = typeof value === "string" && DIGITS.test(value) ? Number(value) : value;
      return Number.isInteger(number) ? within(number, { min, max }) : undefined;
    },
  });
}

const DECIMAL = /^\d{1,16}(\.\d{1,16})?$/;

/** A number that may have a fraction. */
export function fraction({ min, max }: Bounds): ConfigShape<number> {
  return shape({
    what: `a number from ${min} to ${max}`,
    forms: [{ type: "number", minimum: min, maximum: max }],
    pattern: DECIMAL,
    read: (value) => {
      const isText = typeof value === "string" && DECIMAL.test(value);
      return within(isText ? Number(value) : value, { min, max });
    },
  });
}

function within(value: unknown, { min, max }: Bounds): number | undefined {
  return typeof value === "number" && value >= min && value <= max ? value : undefined;
}

// More digits than any duration within bounds has.
const DURATION = /^(\d{1,12})(ms|s|m|h|)$/;

/** A duration in milliseconds: a whole number of them, or a string such as `250ms`, `10s` or `5m`. */
export function duration({ min, max }: Bounds): ConfigShape<number> {
  return shape({
    what: `milliseconds from ${min} to ${max}, or a string such as 250ms, 10s or 5m`,
    type: `[duration](#durations) from ${min} to ${max}`,
    forms: [{ type: "integer", minimum: min, maximum: max }],
    pattern: DURATION,
    read: (value) => {
      const [, digits, unit] = (typeof value === "string" && DURATION.exec(value)) || [];
      const ms =
        digits === undefined ? value : Number(digits) * UNITS_MS[(unit || "ms") as DurationUnit];
      return Number.isInteger(ms) ? within(ms, { min, max }) : undefined;
    },
  });
}

const FLAG = /^(true|false)$/;

/** True or false. */
export function flag(): ConfigShape<boolean> {
  return shape({
    what: "true or false",
    forms: [{ type: "boolean" }],
    pattern: FLAG,
    read: toBoolean,
  });
}

function toBoolean(value: unknown): boolean | undefined {
  if (value === true || value === "true") return true;
  return value === false || value === "false" ? false : undefined;
}

/** One of some words. */
export function oneOf<const T extends string>(words: readonly T[]): ConfigShape<T> {
  return shape({
    what: `one of ${words.join(", ")}`,
    words,
    forms: [{ enum: words }],
    read: (value) => words.find((word) => word === value),
  });
}

/** One of some words, or true or false. */
export function flagOr<const T extends string>(words: readonly T[]): ConfigShape<T | boolean> {
  return shape<T | boolean>({
    what: `true, false, ${words.join(" or ")}`,
    words,
    forms: [{ enum: [true, false, ...words] }],
    pattern: FLAG,
    read: (value) => toBoolean(value) ?? words.find((word) => word === value),
  });
}

/** Such a value, or false. */
export function orFalse(
  shown: ConfigShape<string>,
  { what, pattern }: { readonly what: string; readonly pattern: RegExp },
): ConfigShape<string | false> {
  return shape<string | false>({
    what: `${what}, or false`,
    forms: [{ const: false }],
    pattern: new RegExp(`${pattern.source}|^false$`),
    read: (value) => (toBoolean(value) === false ? false : shown.toValue(value)),
  });
}
