// Shapes that several kinds of entities share.

import {
  anyString,
  anything,
  as,
  optional,
  required,
  type Shape,
  stringFor,
  wholeNumber,
} from "sluice/shapes";

/** The end of the year 2100. Policies take no later end: one block with it would keep all others out of force. */
const TIME_MS_MAX = Date.UTC(2101, 0, 1) - 1;

const REASON_LENGTH_MAX = 1_000;

/** A time in Unix milliseconds. */
export const timeMs: Shape<number> = wholeNumber({ min: 0, max: TIME_MS_MAX });

/** Until when something holds. */
export const endsAtMs = optional(
  timeMs,
  "Until when it holds, in Unix milliseconds. Default: until it is removed.",
);

/** Why something was made. */
export const reason = required(anyString(REASON_LENGTH_MAX), "Why, for people.");

/** The id of a rule. */
export const ruleId: Shape<string> = stringFor({
  what: "the id of a rule",
  lengthMax: 256,
  toValue: (id) => (/^[\w.-]+$/.test(id) ? id : undefined),
});

/** A limit, a list of limits or `unlimited`, as in a rule file. Kept as written; whether it fits is checked with its rule. */
export const limitInput: Shape<NonNullable<unknown>> = as(
  anything({
    description: "A limit as in a rule file: `100/minute`, a list of limits, or `unlimited`.",
  }),
  (value, spot) => value ?? spot.refuse("a limit such as 100/minute", value),
);

/** An id that operators choose: of a plan, a tenant, an attribute. */
export const entityName: Shape<string> = stringFor({
  what: "a name of 1 to 100 letters, digits, _, -, . or @",
  pattern: "^[A-Za-z0-9_.@-]{1,100}$",
  lengthMax: 100,
  toValue: (name) => (/^[\w.@-]+$/.test(name) ? name : undefined),
});

/** Control characters, halves of characters, and marks that turn the direction of what stands around them. */
const UNSHOWN = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** A name for people: not blank, of at most this many characters, without control characters and marks of direction. */
export function nameForPeople(lengthMax: number): Shape<string> {
  return as(anyString(lengthMax), (name, spot) => {
    if (name.trim() === "") return spot.say("must be a name that is not blank");
    if (!UNSHOWN.test(name)) return name;
    return spot.say("must be a name without control characters and marks of direction");
  });
}

/** A name for people of up to 100 characters. */
export const displayName: Shape<string> = nameForPeople(100);
