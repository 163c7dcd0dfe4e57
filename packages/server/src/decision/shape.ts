// Descriptions of input: each reads a value that JSON.parse made, and says the same as a JSON Schema, so that
// the OpenAPI document and the validation can't differ. Reading copies nothing that need not be changed: a
// batch of a thousand requests is read in the time of a few lookups each.

import { show } from "../base/errors.js";
import { InputError } from "./input-error.js";

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One kind of value. */
export interface Shape<T> {
  readonly schema: JsonSchema;
  /** Returns the value, changed if it has to be. @throws InputError */
  read(value: unknown): T;
  /**
   * The shape of a field of an object that is `value`; undefined if it has none of that name. Absent: fields
   * are not read each by itself.
   */
  fieldOf?(name: string, value: unknown): Shape<unknown> | undefined;
}

/** A text. Default bounds: 1 to 65,536 characters. */
export function text(
  bounds: { lengthMin?: number; lengthMax?: number; description?: string } = {},
): Shape<string> {
  const { lengthMin = 1, lengthMax = 65_536, description } = bounds;
  const what = `must be a text of ${lengthMin} to ${lengthMax} characters`;
  return {
    schema: { type: "string", minLength: lengthMin, maxLength: lengthMax, ...said(description) },
    read: (value) => {
      if (typeof value !== "string") throw new InputError(`${what}, got ${show(value)}`);
      const { length } = value;
      if (length >= lengthMin && length <= lengthMax) return value;
      throw new InputError(`${what}, got ${length} characters`);
    },
  };
}

/** A whole number. */
export function whole(bounds: { min: number; max: number; description?: string }): Shape<number> {
  const { min, max, description } = bounds;
  return {
    schema: { type: "integer", minimum: min, maximum: max, ...said(description) },
    read: (value) => {
      const isWhole = typeof value === "number" && Number.isSafeInteger(value);
      if (isWhole && value >= min && value <= max) return value;
      throw new InputError(`must be a whole number from ${min} to ${max}, got ${show(value)}`);
    },
  };
}

/** True or false. */
export function flag(description: string): Shape<boolean> {
  return {
    schema: { type: "boolean", description },
    read: (value) => {
      if (typeof value === "boolean") return value;
      throw new InputError(`must be true or false, got ${show(value)}`);
    },
  };
}

/** A text or a number. */
export const textOrNumber: Shape<string | number> = {
  schema: { type: ["string", "number"], maxLength: 65_536 },
  read: (value) => {
    if (typeof value === "number") return value;
    if (typeof value === "string" && value.length <= 65_536) return value;
    throw new InputError(`must be a text or a number, got ${show(value)}`);
  },
};

/** Anything that JSON can say; others look at it. `schema` says what they take. */
export function anything(schema: JsonSchema): Shape<unknown> {
  return { schema, read: (value) => value };
}

/** The same, or null. */
export function orNull<T>(shape: Shape<T>, description: string): Shape<T | null> {
  return {
    schema: { anyOf: [shape.schema, { type: "null" }], description },
    read: (value) => (value === null ? null : shape.read(value)),
  };
}

/** Names and values. Its copy has no prototype: a name such as `constructor` is like any other. */
export function record<T>(
  values: Shape<T>,
  options: { countMax: number; isLowerCase?: boolean; description: string },
): Shape<Readonly<Record<string, T>>> {
  const { countMax, isLowerCase = false, description } = options;
  return {
    schema: {
      type: "object",
      additionalProperties: values.schema,
      maxProperties: countMax,
      description,
    },
    read: (value) => {
      const given = asRecord(value);
      const read: Record<string, T> = Object.create(null);
      let count = 0;
      for (const name of Object.keys(given)) {
        count += 1;
        if (count > countMax) throw new InputError(`must have at most ${countMax} fields`);
        read[isLowerCase ? name.toLowerCase() : name] = readField(values, given[name], name);
      }
      return read;
    },
  };
}

/** A list. */
export function list<T>(items: Shape<T>, options: { countMax: number }): Shape<readonly T[]> {
  const { countMax } = options;
  return {
    schema: { type: "array", items: items.schema, minItems: 1, maxItems: countMax },
    read: (value) => {
      const what = `must be a list of 1 to ${countMax}`;
      if (!Array.isArray(value)) throw new InputError(`${what}, got ${show(value)}`);
      if (value.length < 1 || value.length > countMax) {
        throw new InputError(`${what}, got ${value.length}`);
      }
      return value.map((item, i) => readField(items, item, i));
    },
  };
}

/** One field of an object. */
export interface Field<T> {
  readonly shape: Shape<T>;
  readonly isRequired: boolean;
}

/** A field that has to be there. */
export function required<T>(shape: Shape<T>): Field<T> & { isRequired: true } {
  return { shape, isRequired: true };
}

/** A field that may be left out. */
export function optional<T>(shape: Shape<T>): Field<T> & { isRequired: false } {
  return { shape, isRequired: false };
}

type Fields = Readonly<Record<string, Field<unknown>>>;

/** What an object with these fields is. */
export type ObjectOf<F extends Fields> = {
  readonly [N in keyof F as F[N]["isRequired"] extends true ? N : never]: ValueOf<F[N]>;
} & {
  readonly [N in keyof F as F[N]["isRequired"] extends true ? never : N]?:
    | ValueOf<F[N]>
    | undefined;
};

type ValueOf<F> = F extends Field<infer T> ? T : never;

/** An object with just these fields: any other is an error. It is read in place. */
export function object<F extends Fields>(fields: F, description?: string): Shape<ObjectOf<F>> {
  const known = new Map<string, Field<unknown>>(Object.entries(fields));
  const needed = [...known].filter(([, { isRequired }]) => isRequired).map(([name]) => name);
  const properties = Object.fromEntries(
    [...known].map(([name, { shape }]) => [name, shape.schema]),
  );
  return {
    schema: {
      type: "object",
      properties,
      ...(needed.length === 0 ? {} : { required: needed }),
      additionalProperties: false,
      ...said(description),
    },
    read: (value) => {
      const given = asRecord(value);
      for (const name in given) {
        const field = known.get(name);
        if (field === undefined) throw unknownField(name, known);
        const read = readField(field.shape, given[name], name);
        if (read !== given[name]) given[name] = read;
      }
      for (let i = 0; i < needed.length; i++) {
        if (given[needed[i]] === undefined) throw new InputError("is missing").within(needed[i]);
      }
      return given as ObjectOf<F>;
    },
    fieldOf: (name) => known.get(name)?.shape,
  };
}

function readField<T>(shape: Shape<T>, value: unknown, step: string | number): T {
  try {
    return shape.read(value);
  } catch (error) {
    throw error instanceof InputError ? error.within(step) : error;
  }
}

/** Whether it is an object of names and values. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asRecord(value: unknown): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new InputError(`must be an object, got ${show(value)}`);
}

function unknownField(name: string, known: ReadonlyMap<string, unknown>): InputError {
  return new InputError(`is unknown; known: ${[...known.keys()].join(", ")}`).within(name);
}

function said(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description };
}
