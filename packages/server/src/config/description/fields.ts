// How values become fields: required, optional or with a default, each with its description, in sections,
// lists and maps. Defaults are written as a file would write them.

import { z } from "zod";

/** A field that has to be there. */
export function required<T extends z.ZodType>(shape: T, description: string): T {
  return shape.meta({ description }) as T;
}

/** A field that may be left out, and is then undefined. */
export function optional<T extends z.ZodType>(shape: T, description: string): z.ZodOptional<T> {
  return shape.optional().meta({ description });
}

/** A field that is this if it is left out. */
export function byDefault<T extends z.ZodType>(
  shape: T,
  value: unknown,
  description: string,
): z.ZodPrefault<T> {
  return shape.prefault(value as never).meta({ description }) as z.ZodPrefault<T>;
}

/** Fields under one name. Others are a problem: one that is misspelt would be a default in silence. */
export function section<const T extends z.core.$ZodLooseShape>(
  fields: T,
): z.ZodObject<T, z.core.$strict> {
  return z.strictObject(fields);
}

/** A list with so many entries. */
export function listOf<T extends z.ZodType>(
  entry: T,
  { min, max }: { min: number; max: number },
): z.ZodArray<T> {
  const error = `must be a list of ${min} to ${max} entries`;
  return z.array(entry, { error }).min(min, { error }).max(max, { error });
}

/** The names that a map may have. Shorter than any file system or metric minds. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** The most entries of a map. */
const ENTRIES_MAX = 1_000;

/** Entries by names of the file's own choice. */
export function mapOf<T extends z.ZodType>(entry: T): z.ZodRecord<z.ZodString, T> {
  const names = z.string().regex(NAME, { error: "1 to 64 letters, digits, _ or -" });
  return z.record(names, entry).refine((map) => Object.keys(map).length <= ENTRIES_MAX, {
    error: `must have at most ${ENTRIES_MAX} entries`,
  });
}
