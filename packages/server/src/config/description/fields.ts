// Sections, lists and maps of the configuration: those of `sluice/shapes`, with the bounds and the wording of
// configuration files.

import {
  type Fields,
  listOf as listOfItems,
  type ObjectShape,
  object,
  recordOf,
  type Shape,
} from "sluice/shapes";

export { optional, required, withDefault } from "sluice/shapes";

/**
 * Fields under one name. Others are a problem: one that is misspelt would silently be a default.
 *
 * @param renamed - Former names, which a file may still use, and the names of now.
 */
export function section<F extends Fields>(
  fields: F,
  renamed: ReadonlyMap<string, string> = new Map(),
): ObjectShape<F> {
  return object(fields, { what: "a map of values", renamed });
}

/** A list with this many entries. */
export function listOf<T>(
  entry: Shape<T>,
  { min, max }: { min: number; max: number },
): Shape<readonly T[]> {
  return listOfItems(entry, { countMin: min, countMax: max });
}

/** The names that a map may have. Shorter than any file system or metric minds. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** The most entries of a map. */
const ENTRIES_MAX = 1_000;

const entryName: Shape<string> = {
  what: "1 to 64 letters, digits, _ or -",
  schema: { type: "string", pattern: NAME.source },
  read: (value, spot) =>
    NAME.test(value as string)
      ? (value as string)
      : spot.say(`can't be a name: it must have ${entryName.what}`),
};

/** Entries by names of the file's own choice. */
export function mapOf<T>(entry: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return recordOf(entryName, entry, { countMin: 0, countMax: ENTRIES_MAX });
}
