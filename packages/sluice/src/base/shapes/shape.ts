// Shapes: descriptions of values that come from outside. One description serves three purposes: it reads a value and
// reports what is wrong with it, it yields the JSON Schema for editors and OpenAPI, and reference pages are checked
// against it. This file has the shapes of single values; lists.ts and objects.ts combine them.

import { nearestName } from "../nearest-name.js";
import { Reading, Spot } from "./spot.js";

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** A description of values that are read as `T`. */
export interface Shape<T> {
  /** What a value must be, completing "must be": `a whole number from 1 to 256`. */
  readonly what: string;
  readonly schema: JsonSchema;
  /** The value, or undefined if it is not usable; then a problem was reported. */
  read(value: unknown, spot: Spot): T | undefined;
  /** The fields, if it is an object. */
  readonly fields?: Fields;
  /** The shape of the items, if it is a list. */
  readonly items?: Shape<unknown>;
  /** The shape of the values, if it is a map. */
  readonly values?: Shape<unknown>;
  /** The form of a value, if the shape has several. */
  readonly formOf?: (value: unknown) => Shape<unknown> | undefined;
}

/** One field of an object. `T` includes undefined where it may be left out. */
export interface Field<T> {
  readonly shape: Shape<NonNullable<T>>;
  /** A sentence for editors and reference pages. */
  readonly about: string;
  readonly isRequired: boolean;
  /** Its default, as a file would write it. */
  readonly byDefault: unknown;
}

/** Fields by name. */
// biome-ignore lint/suspicious/noExplicitAny: a table of fields of different types.
export type Fields = Readonly<Record<string, Field<any>>>;

/** What a shape reads. */
export type ReadAs<S> = S extends Shape<infer T> ? T : never;

/** Bounds of a number, both included. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** `true` or `false`. */
export const flag: Shape<boolean> = {
  what: "true or false",
  schema: { type: "boolean" },
  read: (value, spot) => (typeof value === "boolean" ? value : spot.refuse(flag.what, value)),
};

/** A whole number. */
export function wholeNumber({ min, max }: Bounds): Shape<number> {
  const what = `a whole number from ${min} to ${max}`;
  return {
    what,
    schema: { type: "integer", minimum: min, maximum: max },
    read: (value, spot) =>
      typeof value === "number" && Number.isInteger(value) && value >= min && value <= max
        ? value
        : spot.refuse(what, value),
  };
}

/** Any number within bounds. */
export function anyNumber({ min, max }: Bounds): Shape<number> {
  const what = `a number from ${min} to ${max}`;
  return {
    what,
    schema: { type: "number", minimum: min, maximum: max },
    read: (value, spot) =>
      typeof value === "number" && value >= min && value <= max ? value : spot.refuse(what, value),
  };
}

/** Any finite number. */
export const finiteNumber: Shape<number> = {
  what: "a number",
  schema: { type: "number" },
  read: (value, spot) =>
    Number.isFinite(value) ? (value as number) : spot.refuse(finiteNumber.what, value),
};

/** A finite number above zero. */
export const positiveNumber: Shape<number> = {
  what: "a positive number",
  schema: { type: "number", exclusiveMinimum: 0 },
  read: (value, spot) =>
    typeof value === "number" && value > 0 && value < Number.POSITIVE_INFINITY
      ? value
      : spot.refuse(positiveNumber.what, value),
};

/** One of some words. */
export function choice<const W extends string>(words: readonly W[]): Shape<W> {
  const what = words.length === 1 ? `"${words[0]}"` : `one of ${words.join(", ")}`;
  return {
    what,
    schema: { enum: words },
    read: (value, spot) =>
      words.find((word) => word === value) ??
      spot.refuse(what, value, typeof value === "string" ? nearestName(value, words) : undefined),
  };
}

/** Exactly this value. */
export function constant<const C extends string | number | boolean>(only: C): Shape<C> {
  const what = JSON.stringify(only);
  return {
    what,
    schema: { const: only },
    read: (value, spot) => (value === only ? only : spot.refuse(what, value)),
  };
}

/** Any value at all; others look at it. `schema` says what they take. */
export function anything(schema: JsonSchema = {}): Shape<NonNullable<unknown> | null> {
  return { what: "a value", schema, read: (value) => value as NonNullable<unknown> | null };
}

/** What a string has to be. */
export interface StringOptions<T> {
  /** What it is, for errors: `a host name such as api.example.com`. */
  readonly what: string;
  /** A regular expression for editors. It may take what `toValue` refuses, never the reverse. */
  readonly pattern?: string;
  readonly lengthMax: number;
  /** The value that the string stands for; undefined if it stands for none. */
  readonly toValue: (given: string) => T | undefined;
  /** What was probably meant by a string that stands for nothing. Default: that is not known. */
  readonly toMeant?: (given: string) => string | undefined;
}

/** A string that stands for a value. */
export function stringFor<T>(options: StringOptions<T>): Shape<T> {
  const { what, pattern, lengthMax, toValue, toMeant } = options;
  const bounds = { type: "string", minLength: 1, maxLength: lengthMax };
  return {
    what,
    schema: pattern === undefined ? bounds : { ...bounds, pattern },
    read: (value, spot) => {
      const isInBounds = typeof value === "string" && value.length > 0 && value.length <= lengthMax;
      const read = isInBounds ? toValue(value) : undefined;
      return read ?? spot.refuse(what, value, isInBounds ? toMeant?.(value) : undefined);
    },
  };
}

/** Any string of `lengthMin` (default 1) to `lengthMax` characters. One of another length is not shown. */
export function anyString(lengthMax: number, lengthMin = 1): Shape<string> {
  const what = `a string of ${lengthMin} to ${lengthMax} characters`;
  return {
    what,
    schema: { type: "string", minLength: lengthMin, maxLength: lengthMax },
    read: (value, spot) => {
      if (typeof value !== "string") return spot.refuse(what, value);
      const { length } = value;
      if (length >= lengthMin && length <= lengthMax) return value;
      return spot.say(`must be ${what}, got ${length} characters`);
    },
  };
}

/** The same, or null. */
export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return {
    what: `${shape.what}, or null`,
    get schema() {
      return { anyOf: [shape.schema, { type: "null" }] };
    },
    read: (value, spot) => (value === null ? null : shape.read(value, spot)),
  };
}

/** One of several forms, distinguished by a look at the value. */
export interface Form<T> {
  readonly fits: (value: unknown) => boolean;
  readonly shape: Shape<T>;
}

/** A value in one of several forms. */
export function either<T>(what: string, forms: readonly Form<T>[]): Shape<T> {
  const formOf = (value: unknown) => forms.find(({ fits }) => fits(value))?.shape;
  return {
    what,
    get schema() {
      return { anyOf: forms.map(({ shape }) => shape.schema) };
    },
    read: (value, spot) => {
      const form = formOf(value);
      return form === undefined ? spot.refuse(what, value) : form.read(value, spot);
    },
    formOf,
  };
}

/** The same shape, read as something else. `toValue` reports what is wrong and returns undefined. */
export function as<T, U>(
  shape: Shape<T>,
  toValue: (value: T, spot: Spot) => U | undefined,
): Shape<U> {
  return {
    what: shape.what,
    get schema() {
      return shape.schema;
    },
    read: (value, spot) => {
      const read = shape.read(value, spot);
      return read === undefined ? undefined : toValue(read, spot);
    },
  };
}

/** What a shape reads of a value; undefined, without a word, if it is not usable. */
export function readQuietly<T>(shape: Shape<T>, value: unknown): T | undefined {
  return shape.read(value, new Spot(new QuietReading()));
}

class QuietReading extends Reading {
  problemCount = 0;

  report(): void {
    this.problemCount += 1;
  }
}

/** Whether it has fields: an object that is not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
