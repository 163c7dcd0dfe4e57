// Shapes of values that hold any number of others: lists, and maps whose names are the user's own.

import { isRecord, type JsonSchema, type Shape } from "./shape.js";
import type { Spot } from "./spot.js";

/** How many items there may be, both included. */
export interface CountBounds {
  /** Default 1. */
  readonly countMin?: number;
  readonly countMax: number;
}

/** How many entries a map may have, both included, and what it is for errors. */
export interface MapOptions extends CountBounds {
  /** Default: `an object of names and their values`. */
  readonly what?: string;
}

/** A list. */
export function listOf<T>(
  item: Shape<T>,
  { countMax, countMin = 1 }: CountBounds,
): Shape<readonly T[]> & { readonly items: Shape<T> } {
  const what = `a list of ${countMin} to ${countMax} items`;
  const bounds = { minItems: countMin, maxItems: countMax };
  return {
    what,
    get schema() {
      return { type: "array", items: item.schema, ...bounds };
    },
    items: item,
    read: (value, spot) => {
      if (!Array.isArray(value)) return spot.refuse(what, value);
      if (value.length < countMin || value.length > countMax) {
        return spot.say(`must be ${what}, got ${value.length}`);
      }
      // Array.from: a list made in code may have holes, which map would pass over.
      const items = Array.from(value, (each, i) => item.read(each, spot.at(i)));
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
    what: `${item.what}, or ${list.what}`,
    get schema() {
      return { anyOf: [item.schema, list.schema] };
    },
    read: (value, spot) => {
      if (Array.isArray(value)) return list.read(value, spot);
      const only = item.read(value, spot);
      return only === undefined ? undefined : [only];
    },
  };
}

/** Names and their values, as a map. Names are the user's own, each read by `name`. */
export function mapOf<T>(
  name: Shape<string>,
  item: Shape<T>,
  bounds: MapOptions,
): Shape<ReadonlyMap<string, T>> & { readonly values: Shape<T> } {
  const { what = NAMES } = bounds;
  return {
    what,
    get schema() {
      return mapSchema(name.schema, item.schema, bounds);
    },
    values: item,
    read: (value, spot) => {
      if (!isRecord(value)) return spot.refuse(what, value);
      const problemCount = spot.problemCount;
      const found = new Map<string, T>();
      const names = Object.keys(value).filter((key) => value[key] !== undefined);
      if (!isCount(names.length, bounds, spot)) return undefined;
      for (const key of names) {
        const at = spot.at(key);
        const known = name.read(key, at);
        const read = item.read(value[key], at);
        if (known === undefined || read === undefined) continue;
        if (found.has(known)) at.say(`occurs twice, as ${known}`);
        found.set(known, read);
      }
      return spot.problemCount > problemCount ? undefined : found;
    },
  };
}

/** The same as an object without a prototype: a name such as `constructor` is like any other. */
export function recordOf<T>(
  name: Shape<string>,
  item: Shape<T>,
  bounds: MapOptions,
): Shape<Readonly<Record<string, T>>> & { readonly values: Shape<T> } {
  const { what = NAMES } = bounds;
  return {
    what,
    get schema() {
      return mapSchema(name.schema, item.schema, bounds);
    },
    values: item,
    read: (value, spot) => {
      if (!isRecord(value)) return spot.refuse(what, value);
      const problemCount = spot.problemCount;
      const found: Record<string, T> = Object.create(null);
      const names = Object.keys(value);
      if (!isCount(names.length, bounds, spot)) return undefined;
      for (let i = 0; i < names.length; i++) {
        const given = value[names[i]];
        const at = spot.at(names[i]);
        const known = name.read(names[i], at);
        const read = item.read(given, at);
        if (known !== undefined && read !== undefined) found[known] = read;
      }
      return spot.problemCount > problemCount ? undefined : found;
    },
  };
}

/** For {@link recordOf}: any name, as it is. */
export const anyName: Shape<string> = {
  what: "a name",
  schema: {},
  read: (value) => value as string,
};

const NAMES = "an object of names and their values";

function isCount(count: number, { countMin = 1, countMax }: CountBounds, spot: Spot): boolean {
  if (count >= countMin && count <= countMax) return true;
  spot.say(`must have ${countMin} to ${countMax} entries, got ${count}`);
  return false;
}

function mapSchema(
  name: JsonSchema,
  item: JsonSchema,
  { countMin = 1, countMax }: CountBounds,
): JsonSchema {
  return {
    type: "object",
    ...(Object.keys(name).length === 0 ? {} : { propertyNames: name }),
    additionalProperties: item,
    ...(countMin === 0 ? {} : { minProperties: countMin }),
    maxProperties: countMax,
  };
}
