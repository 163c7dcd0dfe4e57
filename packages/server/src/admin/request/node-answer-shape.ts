// The shape of what a follower answers to a question: checked like any input, and bounded in every part.

import {
  anyName,
  anyNumber,
  anyString,
  anything,
  choice,
  either,
  finiteNumber,
  flag,
  listOf,
  objectInPlace,
  optional,
  orNull,
  recordOf,
  required,
  type Shape,
  wholeNumber,
} from "sluice/shapes";
import {
  COUNTERS_MAX,
  LATEST_COUNT_MAX,
  type NodeAnswer,
  SINCE_COUNT_MAX,
} from "../../control/feed/node-question.js";
import { sampledDecision } from "../replies/reply-schemas.js";

const ID_LENGTH_MAX = 64;
const STRING_LENGTH_MAX = 16_384;
const NAMES = { countMin: 0, countMax: 1_000 };
const HOT_MAX = 1_000;
const HASH_MAX = 2 ** 32;

const string = anyString(STRING_LENGTH_MAX, 0);
const time = anyNumber({ min: 0, max: Number.MAX_SAFE_INTEGER });
const strings = recordOf(anyName, string, NAMES);
const scalar: Shape<string | number> = either("a string or a number", [
  { fits: (value) => typeof value === "number", shape: finiteNumber as Shape<string | number> },
  { fits: () => true, shape: string },
]);

const facts = objectInPlace({
  method: required(string),
  path: required(string),
  host: optional(string),
  ip: optional(string),
  user: optional(string),
  apiKey: optional(string, "Its hash."),
  tenant: optional(string),
  tier: optional(string),
  plan: optional(string),
  headers: optional(strings),
  cookies: optional(strings),
  body: optional(recordOf(anyName, anything(), NAMES)),
  attributes: optional(recordOf(anyName, scalar, NAMES)),
});

const since = objectInPlace({
  fromMs: required(time, "From when on they are whole."),
  keys: required(
    objectInPlace({
      seed: required(wholeNumber({ min: 0, max: HASH_MAX })),
      share: required(anyNumber({ min: 0, max: 1 })),
      hot: required(
        listOf(wholeNumber({ min: 0, max: HASH_MAX }), { countMin: 0, countMax: HOT_MAX }),
      ),
    }),
    "Which keys have all of their decisions among the samples.",
  ),
  samples: required(
    listOf(
      objectInPlace({
        atMs: required(time),
        outcome: required(choice(["allowed", "delayed", "blocked"])),
        facts: required(orNull(facts), "In clear, as far as rules read them."),
      }),
      { countMin: 0, countMax: SINCE_COUNT_MAX },
    ),
    "The oldest first.",
  ),
});

const standing = objectInPlace({
  allowed: required(flag),
  rule: required(orNull(string)),
  counters: required(
    listOf(
      objectInPlace({
        rule: required(string),
        key: required(string),
        limit: required(finiteNumber),
        remaining: required(finiteNumber),
        resetMs: required(orNull(finiteNumber)),
        wouldPass: required(flag),
        blockedMs: required(orNull(finiteNumber)),
      }),
      { countMin: 0, countMax: COUNTERS_MAX },
    ),
  ),
});

/** What a follower answers. */
export const nodeAnswer = objectInPlace({
  id: required(anyString(ID_LENGTH_MAX), "Of the question."),
  nowMs: required(time, "Its clock, by which the times in the answer go."),
  store: required(
    objectInPlace({ kind: required(anyString(32)), id: required(anyString(ID_LENGTH_MAX)) }),
    "Where it counts: nodes with one id count together.",
  ),
  since: optional(since, "Its samples, for a preview."),
  latest: optional(
    listOf(sampledDecision, { countMin: 0, countMax: LATEST_COUNT_MAX }),
    "The newest of them.",
  ),
  standing: optional(standing, "How a request stands in its counters."),
}) as unknown as Shape<NodeAnswer>;
