// Objects with known fields: what each is for, whether it has to be there, and what stands for one that
// is left out. A field that nobody knows is a problem, since a misspelt one would be a default in
// silence.

import { nameHint } from "../../base/nearest-name.js";
import { isRecord, type JsonSchema, type Shape } from "./shape.js";
import type { Spot } from "./spot.js";

/** One field of an object. `T` includes undefined where it may be left out. */
export interface Field<T> {
  readonly shape: Shape<NonNullable<T>>;
  /** A sentence for editors. */
  readonly about: string;
  readonly isRequired: boolean;
  /** What stands for it if it is left out, as a file would say it. */
  readonly byDefault: unknown;
}

/** Fields by name. */
// biome-ignore lint/suspicious/noExplicitAny: a table of fields of different types.
export type Fields = Readonly<Record<string, Field<any>>>;

/** What an object with these fields is read as. */
export type ReadFields<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

/** The shape of an object, whose fields can be looked at. */
export interface ObjectShape<F extends Fields> extends Shape<ReadFields<F>> {
  readonly fields: F;
}

/** A field that has to be there. */
export function required<T>(shape: Shape<T>, about: string): Field<T> {
  return { shape, about, isRequired: true, byDefault: undefined } as Field<T>;
}

/** A field that may be left out, and is undefined then. */
export function optional<T>(shape: Shape<T>, about: string): Field<T | undefined> {
  return { shape, about, isRequired: false, byDefault: undefined } as Field<T | undefined>;
}

/** A field that may be left out, and what it is then. */
export function withDefault<T>(shape: Shape<T>, byDefault: unknown, about: string): Field<T> {
  return { shape, about, isRequired: false, byDefault } as Field<T>;
}

/**
 * An object with these fields. `more` is what the schema says about them together; whoever reads the
 * object checks the same.
 */
export function object<F extends Fields>(fields: F, more: JsonSchema = {}): ObjectShape<F> {
  const names = Object.keys(fields);
  // Read once, like any value of a file, and shared: what is read is never changed.
  const defaults = new Map<string, unknown>();
  const readDefault = (name: string, spot: Spot) => {
    const { shape, byDefault } = fields[name];
    if (byDefault !== undefined && !defaults.has(name)) {
      defaults.set(name, shape.read(byDefault, spot));
    }
    return defaults.get(name);
  };
  const readField = (name: string, value: Record<string, unknown>, spot: Spot) => {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given !== undefined) return fields[name].shape.read(given, spot.in(name));
    return fields[name].isRequired ? spot.say(`needs ${name}`) : readDefault(name, spot);
  };
  return {
    fields,
    schema: {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, toProperty(fields[name])])),
      required: names.filter((name) => fields[name].isRequired),
      additionalProperties: false,
      ...more,
    },
    read: (value, spot) => {
      if (!isRecord(value)) return spot.refuse(`an object with ${names.join(", ")}`, value);
      const problemCount = spot.problemCount;
      for (const name of Object.keys(value)) {
        if (!Object.hasOwn(fields, name)) tellUnknown(spot, name, names);
      }
      const read: Record<string, unknown> = {};
      for (const name of names) read[name] = readField(name, value, spot);
      return spot.problemCount > problemCount ? undefined : (read as ReadFields<F>);
    },
  };
}

function toProperty({ shape, about, byDefault }: Field<unknown>): JsonSchema {
  const described = { ...shape.schema, description: about };
  return byDefault === undefined ? described : { ...described, default: byDefault };
}

function tellUnknown(spot: Spot, name: string, known: readonly string[]): void {
  spot.in(name).say(`is unknown${nameHint(name, known)}`);
}
