// The kinds of values that a configuration is made of. Each is a zod schema that reads a value as it is
// written, says what it must be if it can't, and tells editors the same as JSON Schema. Numbers and booleans
// may come as texts, since that is what the environment has.

import { z } from "zod";

/** What is known of a kind of value besides how it is read. */
export interface ShapeInfo {
  /** Never shown in a message. */
  readonly isSecret?: boolean;
  /** What can be set in it alone, for a value that may be a map. */
  readonly fields?: Readonly<Record<string, z.core.$ZodType>>;
}

const infos = new WeakMap<z.core.$ZodType, ShapeInfo>();

/** What is known of a kind of value. Its schema may have been given a description since, which copies it. */
export function infoOf(schema: z.core.$ZodType): ShapeInfo {
  return infos.get(schema) ?? (schema._zod.parent ? infoOf(schema._zod.parent) : {});
}

/** A value in a text, which editors can't look into. */
const FROM_ENVIRONMENT = { type: "string", pattern: "\\$\\{" };

/** Describes one kind of value. `read` answers undefined for what it can't use. */
export function shape<T>(options: {
  /** Completes "must be". */
  readonly what: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly read: (value: unknown) => T | undefined;
  readonly info?: ShapeInfo;
}): z.ZodType<T> {
  const { what, schema, read, info = {} } = options;
  const leaf = z
    .unknown()
    .transform((value, context): T => {
      const read_ = read(value);
      if (read_ !== undefined) return read_;
      context.issues.push({ code: "custom", message: `must be ${what}`, input: value });
      return z.NEVER;
    })
    .meta(schema.type === "string" ? schema : { anyOf: [schema, FROM_ENVIRONMENT] });
  infos.set(leaf, info);
  return leaf as unknown as z.ZodType<T>;
}

/** Bounds of a number, both included. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** A whole number. */
export function whole({ min, max }: Bounds): z.ZodType<number> {
  return shape({
    what: `a whole number from ${min} to ${max}`,
    schema: { type: "integer", minimum: min, maximum: max },
    read: (value) => within(/^\d{1,16}$/, value, { min, max }, Number.isInteger),
  });
}

/** A number that may have a fraction. */
export function share({ min, max }: Bounds): z.ZodType<number> {
  return shape({
    what: `a number from ${min} to ${max}`,
    schema: { type: "number", minimum: min, maximum: max },
    read: (value) => within(/^\d{1,16}(\.\d{1,16})?$/, value, { min, max }, Number.isFinite),
  });
}

function within(
  digits: RegExp,
  value: unknown,
  { min, max }: Bounds,
  isGood: (value: unknown) => boolean,
): number | undefined {
  const number = typeof value === "string" && digits.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !isGood(number)) return undefined;
  return number >= min && number <= max ? number : undefined;
}

const UNITS_MS: Readonly<Record<string, number>> = {
  "": 1,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
// More digits than any duration within bounds has.
const DURATION = /^(\d{1,12})(ms|s|m|h|)$/;

/** A duration in milliseconds: a whole number of them, or a text such as `250ms`, `10s` or `5m`. */
export function duration({ min, max }: Bounds): z.ZodType<number> {
  return shape({
    what: `milliseconds from ${min} to ${max}, or a text such as 250ms, 10s or 5m`,
    schema: {
      anyOf: [
        { type: "integer", minimum: min, maximum: max },
        { type: "string", pattern: DURATION.source },
      ],
    },
    read: (value) => {
      const [, digits, unit] = (typeof value === "string" && DURATION.exec(value)) || [];
      const ms = digits === undefined ? value : Number(digits) * UNITS_MS[unit];
      return Number.isInteger(ms) && (ms as number) >= min && (ms as number) <= max
        ? (ms as number)
        : undefined;
    },
  });
}

/** True or false. */
export function flag(): z.ZodType<boolean> {
  return shape({
    what: "true or false",
    schema: { type: "boolean" },
    read: toBoolean,
  });
}

function toBoolean(value: unknown): boolean | undefined {
  if (value === true || value === "true") return true;
  return value === false || value === "false" ? false : undefined;
}

/** One of some words. */
export function oneOf<const T extends string>(words: readonly T[]): z.ZodType<T> {
  return shape({
    what: `one of ${words.join(", ")}`,
    schema: { enum: words },
    read: (value) => words.find((word) => word === value),
  });
}

/** One of some words, or true or false. */
export function flagOr<const T extends string>(words: readonly T[]): z.ZodType<T | boolean> {
  return shape<T | boolean>({
    what: `true, false, ${words.join(" or ")}`,
    schema: { enum: [true, false, ...words] },
    read: (value) => toBoolean(value) ?? words.find((word) => word === value),
  });
}
