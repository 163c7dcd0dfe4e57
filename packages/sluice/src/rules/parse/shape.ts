// Shapes: descriptions of values in a file of rules. One description serves twice: it reads a value,
// telling what is wrong with it, and it is the JSON Schema by which editors help to write it.

import { nearestName } from "../../base/nearest-name.js";
import type { Spot } from "./spot.js";

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** A description of values that are read as `T`. */
export interface Shape<T> {
  readonly schema: JsonSchema;
  /** The value, or undefined if it does not fit; then a problem was told. */
  read(value: unknown, spot: Spot): T | undefined;
}

/** `true` or `false`. */
export const flag: Shape<boolean> = {
  schema: { type: "boolean" },
  read: (value, spot) => (typeof value === "boolean" ? value : spot.refuse("true or false", value)),
};

/** A whole number, bounds included. */
export function wholeNumber({ min, max }: { min: number; max: number }): Shape<number> {
  return {
    schema: { type: "integer", minimum: min, maximum: max },
    read: (value, spot) =>
      Number.isInteger(value) && (value as number) >= min && (value as number) <= max
        ? (value as number)
        : spot.refuse(`a whole number from ${min} to ${max}`, value),
  };
}

/** Any number within bounds, both included. */
export function anyNumber({ min, max }: { min: number; max: number }): Shape<number> {
  return {
    schema: { type: "number", minimum: min, maximum: max },
    read: (value, spot) =>
      typeof value === "number" && value >= min && value <= max
        ? value
        : spot.refuse(`a number from ${min} to ${max}`, value),
  };
}

/** A finite number above zero. */
export const positiveNumber: Shape<number> = {
  schema: { type: "number", exclusiveMinimum: 0 },
  read: (value, spot) =>
    typeof value === "number" && value > 0 && value < Number.POSITIVE_INFINITY
      ? value
      : spot.refuse("a positive number", value),
};

/** One of some words. */
export function choice<const W extends string>(words: readonly W[]): Shape<W> {
  const what = words.length === 1 ? `"${words[0]}"` : `one of ${words.join(", ")}`;
  return {
    schema: { enum: words },
    read: (value, spot) =>
      words.find((word) => word === value) ??
      spot.refuse(what, value, typeof value === "string" ? nearestName(value, words) : undefined),
  };
}

/** What a text has to be. */
export interface TextOptions<T> {
  /** What it is, for errors: `a host name such as api.example.com`. */
  readonly what: string;
  /** A regular expression for editors. It may take what `toValue` refuses, never the reverse. */
  readonly pattern?: string;
  readonly lengthMax: number;
  /** The value that the text stands for; undefined if it stands for none. */
  readonly toValue: (text: string) => T | undefined;
  /** What was probably meant by a text that stands for nothing. Default: that is not known. */
  readonly toMeant?: (text: string) => string | undefined;
}

/** A text that stands for a value. */
export function text<T>(options: TextOptions<T>): Shape<T> {
  const { what, pattern, lengthMax, toValue, toMeant } = options;
  const bounds = { type: "string", minLength: 1, maxLength: lengthMax };
  return {
    schema: pattern === undefined ? bounds : { ...bounds, pattern },
    read: (value, spot) => {
      const fits = typeof value === "string" && value.length > 0 && value.length <= lengthMax;
      const read = fits ? toValue(value) : undefined;
      return read ?? spot.refuse(what, value, fits ? toMeant?.(value) : undefined);
    },
  };
}

/** Any text of 1 to `lengthMax` characters. */
export function anyText(lengthMax: number): Shape<string> {
  const what = `a text of 1 to ${lengthMax} characters`;
  return text({ what, lengthMax, toValue: (value) => value });
}

/** A list, from one item. */
export function listOf<T>(
  item: Shape<T>,
  { countMax, countMin = 1 }: { countMax: number; countMin?: number },
): Shape<readonly T[]> {
  const bounds = { minItems: countMin, maxItems: countMax };
  return {
    schema: { type: "array", items: item.schema, ...bounds },
    read: (value, spot) => {
      if (!Array.isArray(value)) return spot.refuse("a list", value);
      if (value.length < countMin || value.length > countMax) {
        return spot.say(`must have ${countMin} to ${countMax} items, got ${value.length}`);
      }
      // Array.from: a list made in code may have holes, which map would pass over.
      const items = Array.from(value, (each, i) => item.read(each, spot.in(i)));
      return items.includes(undefined) ? undefined : (items as T[]);
    },
  };
}

/** One item, or a list of several. */
export function oneOrMany<T>(
  item: Shape<T>,
  { countMax }: { countMax: number },
): Shape<readonly T[]> {
  const list = listOf(item, { countMax });
  return {
    schema: { anyOf: [item.schema, list.schema] },
    read: (value, spot) => {
      if (Array.isArray(value)) return list.read(value, spot);
      const only = item.read(value, spot);
      return only === undefined ? undefined : [only];
    },
  };
}

/** Names and their values. Names are the file's own, each read by `name`. */
export function mapOf<T>(
  name: Shape<string>,
  item: Shape<T>,
  { countMax }: { countMax: number },
): Shape<ReadonlyMap<string, T>> {
  return {
    schema: {
      type: "object",
      propertyNames: name.schema,
      additionalProperties: item.schema,
      minProperties: 1,
      maxProperties: countMax,
    },
    read: (value, spot) => {
      if (!isRecord(value)) return spot.refuse("names and their values", value);
      const entries = Object.entries(value).filter(([, given]) => given !== undefined);
      if (entries.length === 0 || entries.length > countMax) {
        return spot.say(`must have 1 to ${countMax} entries, got ${entries.length}`);
      }
      const problemCount = spot.problemCount;
      const found = new Map<string, T>();
      for (const [key, given] of entries) {
        const at = spot.in(key);
        const known = name.read(key, at);
        const value = item.read(given, at);
        if (known === undefined || value === undefined) continue;
        if (found.has(known)) at.say(`is there twice, as ${known}`);
        found.set(known, value);
      }
      return spot.problemCount > problemCount ? undefined : found;
    },
  };
}

/** One of several forms, told apart by a look at the value. */
export interface Form<T> {
  readonly fits: (value: unknown) => boolean;
  readonly shape: Shape<T>;
}

/** A value in one of several forms. */
export function either<T>(what: string, forms: readonly Form<T>[]): Shape<T> {
  return {
    schema: { anyOf: forms.map(({ shape }) => shape.schema) },
    read: (value, spot) => {
      const form = forms.find(({ fits }) => fits(value));
      return form === undefined ? spot.refuse(what, value) : form.shape.read(value, spot);
    },
  };
}

/** The same shape, read as something else. `toValue` tells what is wrong and returns undefined. */
export function as<T, U>(
  shape: Shape<T>,
  toValue: (value: T, spot: Spot) => U | undefined,
): Shape<U> {
  return {
    schema: shape.schema,
    read: (value, spot) => {
      const read = shape.read(value, spot);
      return read === undefined ? undefined : toValue(read, spot);
    },
  };
}

/** Whether it has fields: an object that is no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
