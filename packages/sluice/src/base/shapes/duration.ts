// Durations as they are written in rules and options: whole milliseconds, or a string such as `500ms`, `10s`, `5m`, `1h` or `7d`.

import { DURATION_PATTERN, parseDuration, toMeantDuration } from "../durations.js";
import type { Shape } from "./shapes.js";

/** A duration within bounds, in milliseconds. */
export function duration({ min, max }: { min: number; max: number }): Shape<number> {
  const what = `a whole number of milliseconds from ${min} to ${max} or a string such as 500ms, 10s, 5m, 1h or 7d`;
  const schema = {
    anyOf: [
      { type: "integer", minimum: min, maximum: max },
      { type: "string", pattern: DURATION_PATTERN },
    ],
  };
  return {
    what,
    schema,
    read: (value, spot) => {
      const ms = typeof value === "string" ? parseDuration(value) : value;
      const fits = Number.isInteger(ms) && (ms as number) >= min && (ms as number) <= max;
      return fits ? (ms as number) : spot.refuse(what, value, toMeantDuration(value));
    },
  };
}
