// `escalate` of a rule or limiter: how often a caller has to be refused before it is blocked, and for how long each time.

import type { EscalationTerms } from "../../algorithms/escalation.js";
import { parseDuration } from "../../base/durations.js";
import { duration } from "../../base/shapes/duration.js";
import {
  as,
  either,
  isRecord,
  listOf,
  object,
  required,
  type Shape,
  stringFor,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";

/** When callers that keep being refused are blocked, and for how long, as it is written. */
export interface EscalateOptions {
  /** How many refusals of one key, within how long from the first of them on: `"20 refusals in 1m"`. */
  after: string | { refusals: number; in: string | number };
  /** How long the first block lasts, the second and so on, from a second to 365 days; the last one repeats. */
  blocks: readonly (string | number)[];
  /** How long after the end of a block the key starts again with the first one; default `"1d"`. */
  forget?: string | number;
}

const REFUSALS = { min: 1, max: 1_000_000 };
const DAY_MS = 86_400_000;
/** A report takes up to a second, so a shorter window would count by chance. */
const WINDOW_MS = { min: 1_000, max: DAY_MS };
const BLOCK_MS = { min: 1_000, max: 365 * DAY_MS };
const LEVELS_MAX = 16;

interface After {
  readonly refusals: number;
  readonly windowMs: number;
}

const PHRASE = "^[0-9]{1,7} refusals? in [0-9]{1,15}(ms|s|m|h|d)$";
const EXAMPLE = "20 refusals in 1m";

const phrase: Shape<After> = stringFor({
  what: `a phrase such as "${EXAMPLE}", of 1 to 1000000 refusals in 1s to 1d`,
  pattern: PHRASE,
  lengthMax: 40,
  toValue: toAfter,
});

function toAfter(text: string): After | undefined {
  const [, count, window] = /^(\d{1,7}) refusals? in (\w+)$/.exec(text) ?? [];
  if (count === undefined) return undefined;
  const refusals = Number(count);
  const windowMs = parseDuration(window) ?? 0;
  const fits = isWithin(refusals, REFUSALS) && isWithin(windowMs, WINDOW_MS);
  return fits ? { refusals, windowMs } : undefined;
}

function isWithin(value: number, { min, max }: { min: number; max: number }): boolean {
  return value >= min && value <= max;
}

/** The form of `after` that is an object. */
export const afterFields = object({
  refusals: required(wholeNumber(REFUSALS), "How many refusals of one key."),
  in: required(duration(WINDOW_MS), "Within how long, from the first of them on."),
});

const after: Shape<After> = either(`a phrase such as "${EXAMPLE}" or an object`, [
  { fits: (value) => typeof value === "string", shape: phrase },
  {
    fits: isRecord,
    shape: as(afterFields, ({ refusals, in: windowMs }) => ({ refusals, windowMs })),
  },
]);

/** `escalate`. */
export const escalateFields = object({
  after: required(after, `When a caller is blocked: \`${EXAMPLE}\`.`),
  blocks: required(
    listOf(duration(BLOCK_MS), { countMax: LEVELS_MAX }),
    "How long, the first time, the second time and so on; the last one repeats.",
  ),
  forget: withDefault(
    duration(BLOCK_MS),
    "1d",
    "How long after the end of a block the caller starts again with the first one.",
  ),
});

/** When callers that keep being refused are blocked, and for how long. */
export const escalate: Shape<EscalationTerms> = as(
  escalateFields,
  ({ after: { refusals, windowMs }, blocks, forget }, spot): EscalationTerms | undefined => {
    const shorter = blocks.findIndex((ms, i) => i > 0 && ms < blocks[i - 1]);
    if (shorter > 0) {
      return spot.in("blocks").in(shorter).say("is shorter than the block before it");
    }
    return { refusals, windowMs, blocksMs: blocks, forgetMs: forget };
  },
);
