// Durations: whole milliseconds, or a text such as `500ms`, `10s`, `5m`, `1h` or `7d`.

import type { Shape } from "./shape.js";

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The units that a rate may be per, `100/minute`, besides any duration. */
const WORDS_MS: Readonly<Record<string, number>> = {
  second: UNITS_MS.s,
  minute: UNITS_MS.m,
  hour: UNITS_MS.h,
  day: UNITS_MS.d,
};

// More digits than any duration within bounds has.
const DURATION_PATTERN = "^[0-9]{1,15}(ms|s|m|h|d)$";
/** What {@link toRatePer} reads, for editors. */
export const RATE_PATTERN = "^[0-9]{1,16}/(second|minute|hour|day|[0-9]{1,15}(ms|s|m|h|d))$";

/** A duration within bounds, in milliseconds. */
export function duration({ min, max }: { min: number; max: number }): Shape<number> {
  const what = `a whole number of milliseconds from ${min} to ${max} or a text such as 500ms, 10s, 5m, 1h or 7d`;
  const schema = {
    anyOf: [
      { type: "integer", minimum: min, maximum: max },
      { type: "string", pattern: DURATION_PATTERN },
    ],
  };
  return {
    schema,
    read: (value, spot) => {
      const ms = typeof value === "string" ? toMs(value) : value;
      const fits = Number.isInteger(ms) && (ms as number) >= min && (ms as number) <= max;
      return fits ? (ms as number) : spot.refuse(what, value);
    },
  };
}

/** A rate such as `100/minute` or `100/5m`; undefined if it is none. */
export function toRatePer(text: string): { limit: number; windowMs: number } | undefined {
  if (!new RegExp(RATE_PATTERN).test(text)) return undefined;
  const [limit, per] = text.split("/");
  const windowMs = WORDS_MS[per] ?? toMs(per);
  return windowMs === undefined ? undefined : { limit: Number(limit), windowMs };
}

function toMs(text: string): number | undefined {
  if (!new RegExp(DURATION_PATTERN).test(text)) return undefined;
  const digits = /^[0-9]+/.exec(text)?.[0] ?? "";
  return Number(digits) * UNITS_MS[text.slice(digits.length)];
}
