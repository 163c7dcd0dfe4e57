// Limits as a rule file writes them: the name of a constructor with its options, or `100/minute` for short; in code
// also a limit that a constructor made. The constructors check the numbers, and what they refuse is reported with its
// place in the file.

import { UNITS_MAX, WINDOW_MS_MAX } from "../../../algorithms/numbers.js";
import { errorCatalogue, SluiceError } from "../../../base/errors.js";
import { nearestName } from "../../../base/nearest-name.js";
import { duration } from "../../../base/shapes/duration.js";
import {
  anyNumber,
  anyString,
  as,
  choice,
  constant,
  either,
  type Fields,
  flag,
  isRecord,
  type JsonSchema,
  type ObjectShape,
  object,
  oneOrMany,
  optional,
  positiveNumber,
  required,
  type Shape,
  type Spot,
  stringFor,
  wholeNumber,
  withDefault,
} from "../../../base/shapes/shapes.js";
import {
  concurrency,
  fixedWindow,
  isLimit,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../../limits/limits.js";
import { parseRate, RATE_PATTERN, toMeantRate } from "../../../limits/rate.js";
import { SKETCH_BOUNDS, SKETCH_UNITS_MAX, sketch } from "../../../limits/sketch.js";
import { ruleReadingOf } from "../rule-reading.js";

/** The most limits that one rule may have at a time. */
const LIMITS_MAX = 8;

const units = wholeNumber({ min: 1, max: UNITS_MAX });
const windowMs = duration({ min: 1, max: WINDOW_MS_MAX });
const limitUnits = required(units, "The most units in a window or period.");

/** The options of each constructor. */
const OPTIONS = {
  tokenBucket: object(
    {
      capacity: required(units, "The most tokens, and so the largest burst."),
      refillPerSecond: optional(positiveNumber, "Tokens that are refilled each second."),
      refill: optional(
        object({
          amount: required(units, "So many tokens come back …"),
          everyMs: required(windowMs, "… in so much time."),
        }),
        "The same as a whole amount in a time, which is exact for any rate.",
      ),
    },
    { schema: { oneOf: [{ required: ["refillPerSecond"] }, { required: ["refill"] }] } },
  ),
  leakyBucket: object({
    ratePerSecond: required(positiveNumber, "How many requests leave in a second."),
    queueSize: required(wholeNumber({ min: 0, max: UNITS_MAX - 1 }), "How many requests may wait."),
    mode: withDefault(
      choice(["shape", "meter"]),
      "shape",
      "Whether waiting requests are delayed, or pass immediately.",
    ),
  }),
  fixedWindow: object({
    limit: limitUnits,
    windowMs: required(windowMs, "How long a window is."),
    align: withDefault(
      choice(["epoch", "key", "first"]),
      "epoch",
      "Where windows start: together for all keys, shifted for each key, or with a key's first request.",
    ),
  }),
  slidingWindowCounter: object({
    limit: limitUnits,
    windowMs: required(windowMs, "How long a window is."),
  }),
  slidingWindowLog: object({
    limit: limitUnits,
    windowMs: required(windowMs, "How long a window is."),
  }),
  concurrency: object({
    limit: required(units, "The most concurrent requests."),
    permitMs: required(windowMs, "How long a permit lasts if it is not released."),
  }),
  quota: object({
    limit: limitUnits,
    period: required(choice(["day", "week", "month"]), "How long it lasts, by the calendar."),
    timeZone: optional(
      anyString(64),
      "Whose calendar: the IANA name of a time zone. Default: that of the tenant if the rule counts by tenant, otherwise UTC.",
    ),
    anchor: optional(
      either("a number or a local date", [
        { fits: (value) => typeof value === "number", shape: anyNumber({ min: 0, max: 31 }) },
        {
          fits: (value) => typeof value === "string",
          shape: anyString(19) as Shape<number | string>,
        },
      ]),
      "Where a period begins: the day of the month, the weekday (1 is Monday) or the hour; or a local date that has them.",
    ),
    prorate: withDefault(
      flag,
      false,
      "Whether another limit in mid-period counts for the rest of the period only. For durable rules.",
    ),
  }),
  sketch: object({
    limit: required(
      wholeNumber({ min: 1, max: SKETCH_UNITS_MAX }),
      "The most units in a window or period.",
    ),
    windowMs: required(windowMs, "How long a window is."),
    errorShare: withDefault(
      anyNumber(SKETCH_BOUNDS.errorShare),
      SKETCH_BOUNDS.errorShare.default,
      "How much a key may be over-counted, as a share of the units of all keys in the window.",
    ),
    confidence: withDefault(
      anyNumber(SKETCH_BOUNDS.confidence),
      SKETCH_BOUNDS.confidence.default,
      "How likely a key stays within that error.",
    ),
    exactKeysMax: withDefault(
      wholeNumber(SKETCH_BOUNDS.exactKeysMax),
      SKETCH_BOUNDS.exactKeysMax.default,
      "How many keys near their limit have exact counters.",
    ),
  }),
} as const satisfies Record<Limit["algorithm"], ObjectShape<Fields>>;

type Algorithm = keyof typeof OPTIONS;

const MAKE: { readonly [A in Algorithm]: (options: never) => Limit } = {
  tokenBucket,
  leakyBucket,
  fixedWindow,
  slidingWindowCounter,
  slidingWindowLog,
  concurrency,
  quota,
  sketch,
};

const ALGORITHMS = Object.keys(OPTIONS) as Algorithm[];
const ABOUT: Readonly<Record<Algorithm, string>> = {
  tokenBucket: "A burst, and the rate at which it refills.",
  leakyBucket: "A queue that leaves at a constant rate.",
  fixedWindow: "At most this many in each window.",
  slidingWindowCounter: "At most this many in any window, estimated from two counters.",
  slidingWindowLog: "At most this many in any window, exactly.",
  concurrency: "The most concurrent requests.",
  quota: "At most this many in a day, week or month.",
  sketch: "At most this many in each window, for any number of keys in memory of a fixed size.",
};

/** A limit by the name of its algorithm: exactly one of these fields. */
export const limitByName: ObjectShape<Fields> = object(
  Object.fromEntries(
    ALGORITHMS.map((name) => [name, optional(OPTIONS[name] as Shape<unknown>, ABOUT[name])]),
  ),
  { schema: { minProperties: 1, maxProperties: 1 } },
);

/** Instead of limits: none. */
const UNLIMITED = "unlimited";
const RATE = "a rate such as 100/minute or 100/5m";
const rate: Shape<Limit> = stringFor({
  what: RATE,
  pattern: RATE_PATTERN,
  lengthMax: 40,
  toMeant: (given) => toMeantRate(given) ?? nearestName(given, [UNLIMITED]),
  toValue: parseRate,
});

const ONE_OF = `exactly one of ${ALGORITHMS.join(", ")}`;
const made: Shape<Limit> = {
  what: ONE_OF,
  schema: limitByName.schema,
  read: (value, spot) => {
    const found = limitByName.read(value, spot);
    if (found === undefined) return undefined;
    const names = ALGORITHMS.filter((name) => found[name] !== undefined);
    if (names.length !== 1) {
      return spot.refuse(ONE_OF, value);
    }
    return make(names[0], found[names[0]], spot.in(names[0]));
  },
};

function make(name: Algorithm, options: unknown, spot: Spot): Limit | undefined {
  try {
    return MAKE[name](options as never);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    return reportRefusal(error, OPTIONS[name].fields, spot);
  }
}

const SUMMARY_LENGTH = `${errorCatalogue.SLUICE_LIMIT_INVALID.summary}: `.length;

/** The text of a constructor, `tokenBucket: capacity must be …`, at the field that it is about. */
function reportRefusal({ message }: SluiceError, fields: Fields, spot: Spot): undefined {
  const seen = message.slice(SUMMARY_LENGTH).replace(/^\w+(: |\.)/, "");
  const [, field, rest] = /^(\w+) (.*)$/s.exec(seen) ?? [];
  if (field !== undefined && Object.hasOwn(fields, field)) return spot.in(field).say(rest);
  return spot.say(field === "needs" ? seen : `is invalid: ${seen}`);
}

const LIMIT = `${RATE}, or an object with one of ${ALGORITHMS.join(", ")}`;
const written = either(LIMIT, [
  { fits: (value) => typeof value === "string", shape: rate },
  { fits: isRecord, shape: made },
]);

/** One limit. */
export const limit: Shape<Limit> = {
  what: LIMIT,
  schema: { $ref: "#/$defs/limit" },
  read: (value, spot) => {
    if (isLimit(value)) return value;
    const read = written.read(value, spot);
    return read === undefined ? undefined : ruleReadingOf(spot).share(read);
  },
};

/** What `limit.schema` refers to. */
export const limitDefinition: JsonSchema = written.schema;

const several: Shape<readonly Limit[]> = either(`${LIMIT}, or unlimited`, [
  {
    fits: (value) => value === UNLIMITED,
    shape: as(constant(UNLIMITED), () => []),
  },
  { fits: () => true, shape: oneOrMany(limit, { countMax: LIMITS_MAX }) },
]);

/** One limit or several, all of which hold; or `unlimited`, which stands for no limit. */
export const limits: Shape<readonly Limit[]> = {
  what: several.what,
  schema: { $ref: "#/$defs/limits" },
  read: several.read,
};

/** What `limits.schema` refers to. */
export const limitsDefinition: JsonSchema = several.schema;
