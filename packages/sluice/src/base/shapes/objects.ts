// Objects with known fields: what each is for, whether it is required, and its default. An unknown field is a
// problem, since a misspelt one would silently be the default.

import { type Field, type Fields, isRecord, type JsonSchema, type Shape } from "./shape.js";
import type { Spot } from "./spot.js";

/** What an object with these fields is read as. */
export type ReadFields<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

/** The shape of an object, whose fields can be looked at. */
export interface ObjectShape<F extends Fields> extends Shape<ReadFields<F>> {
  readonly fields: F;
  /** Reads one field of an object that is read field by field. */
  readField(name: keyof F & string, value: Record<string, unknown>, spot: Spot): unknown;
}

/** A field that has to be there. */
export function required<T>(shape: Shape<T>, about = ""): Field<T> {
  return { shape, about, isRequired: true, byDefault: undefined } as Field<T>;
}

/** A field that may be left out, and is undefined then. */
export function optional<T>(shape: Shape<T>, about = ""): Field<T | undefined> {
  return { shape, about, isRequired: false, byDefault: undefined } as Field<T | undefined>;
}

/** A field that may be left out, and what it is then. */
export function withDefault<T>(shape: Shape<T>, byDefault: unknown, about = ""): Field<T> {
  return { shape, about, isRequired: false, byDefault } as Field<T>;
}

/** What is known of an object besides its fields. */
export interface ObjectOptions {
  /** Default: `an object with` the names of its fields. */
  readonly what?: string;
  /** What the schema says of the fields together; the code that reads the object checks the same. */
  readonly schema?: JsonSchema;
  /** Whether other fields may be there too; they are not read. Default false. */
  readonly isOpen?: boolean;
  /** Former names of fields, and what they are called now: errors suggest it. Default: none. */
  readonly renamed?: ReadonlyMap<string, string>;
}

/** An object with these fields, read as another object that has all of them. */
export function object<F extends Fields>(fields: F, options: ObjectOptions = {}): ObjectShape<F> {
  const names = Object.keys(fields);
  const { what = `an object with ${names.join(", ")}`, isOpen = false, renamed } = options;
  const readDefault = toDefaults(fields);
  const readField = (name: string, value: Record<string, unknown>, spot: Spot) => {
    const { shape, isRequired } = fields[name];
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given !== undefined) return shape.read(given, spot.at(name));
    return isRequired ? spot.sayMissing(name, shape.what) : readDefault(name, spot);
  };
  return {
    what,
    fields,
    readField,
    get schema() {
      return toSchema(fields, options);
    },
    read: (value, spot) => {
      if (!isRecord(value)) return spot.refuse(what, value);
      const problemCount = spot.problemCount;
      for (const name of isOpen ? [] : Object.keys(value)) {
        if (!Object.hasOwn(fields, name)) spot.sayUnknown(name, names, renamed?.get(name));
      }
      const read: Record<string, unknown> = {};
      for (const name of names) read[name] = readField(name, value, spot);
      return spot.problemCount > problemCount ? undefined : (read as ReadFields<F>);
    },
  };
}

/** What an object of {@link objectInPlace} is: fields that were left out are not there. */
export type FieldsInPlace<F extends Fields> = {
  readonly [K in keyof F as undefined extends FieldValue<F[K]> ? never : K]: FieldValue<F[K]>;
} & {
  readonly [K in keyof F as undefined extends FieldValue<F[K]> ? K : never]?: FieldValue<F[K]>;
};

type FieldValue<F> = F extends Field<infer T> ? T : never;

/**
 * The same for an object that nothing else holds, such as one that JSON.parse made: it is changed where a field is
 * read as another value, and otherwise returned as it is, so that reading it allocates nothing.
 */
export function objectInPlace<F extends Fields>(
  fields: F,
  options: ObjectOptions = {},
): Shape<FieldsInPlace<F>> & { readonly fields: F } {
  const names = Object.keys(fields);
  const { what = "an object", isOpen = false } = options;
  // A map: a lookup by a name such as `constructor` finds nothing.
  const shapes = new Map<string, Shape<unknown>>(names.map((name) => [name, fields[name].shape]));
  const needed = names.filter((name) => fields[name].isRequired);
  return {
    what,
    fields,
    get schema() {
      return toSchema(fields, options);
    },
    read: (value, spot) => {
      if (!isRecord(value)) return spot.refuse(what, value);
      const problemCount = spot.problemCount;
      for (const name in value) {
        const shape = shapes.get(name);
        const given = value[name];
        if (shape === undefined) {
          if (!isOpen) spot.sayUnknown(name, names);
        } else if (given !== undefined) {
          const read = shape.read(given, spot.at(name));
          if (read !== given) value[name] = read;
        }
      }
      for (let i = 0; i < needed.length; i++) {
        const name = needed[i];
        if (value[name] === undefined) spot.sayMissing(name, fields[name].shape.what);
      }
      return spot.problemCount > problemCount ? undefined : (value as FieldsInPlace<F>);
    },
  };
}

/** Defaults are read once, like any value, and shared: what is read is never changed. */
function toDefaults(fields: Fields): (name: string, spot: Spot) => unknown {
  const defaults = new Map<string, unknown>();
  return (name, spot) => {
    const { shape, byDefault } = fields[name];
    if (byDefault !== undefined && !defaults.has(name)) {
      defaults.set(name, shape.read(byDefault, spot.at(name)));
    }
    return defaults.get(name);
  };
}

function toSchema(fields: Fields, { schema = {}, isOpen = false }: ObjectOptions): JsonSchema {
  const names = Object.keys(fields);
  const needed = names.filter((name) => fields[name].isRequired);
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, toProperty(fields[name])])),
    ...(needed.length === 0 ? {} : { required: needed }),
    ...(isOpen ? {} : { additionalProperties: false }),
    ...schema,
  };
}

function toProperty({ shape, about, byDefault }: Field<unknown>): JsonSchema {
  return {
    ...shape.schema,
    ...(about === "" ? {} : { description: about }),
    ...(byDefault === undefined ? {} : { default: byDefault }),
  };
}
