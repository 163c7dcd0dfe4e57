// The bodies of the verbs that decide and that act on counters.

import {
  anyName,
  anyString,
  anything,
  as,
  either,
  finiteNumber,
  flag,
  listOf,
  objectInPlace,
  optional,
  orNull,
  type ReadAs,
  recordOf,
  required,
  type Shape,
  wholeNumber,
} from "sluice/shapes";
import { BODY_BYTES_MAX } from "../../request/request-input.js";

const UNITS_MAX = Number.MAX_SAFE_INTEGER;
const ENTRIES = { countMin: 0, countMax: BODY_BYTES_MAX };

const string = anyString(16_384, 0);
const units = wholeNumber({ min: 0, max: UNITS_MAX });
const cost = optional(units, "Units; default: what the rules say.");

const headerValue: Shape<string | readonly string[]> = either("a string or a list of strings", [
  { fits: Array.isArray, shape: listOf(string, { countMin: 0, countMax: BODY_BYTES_MAX }) },
  { fits: () => true, shape: string as Shape<string | readonly string[]> },
]);

const attribute: Shape<string | number> = either("a string or a number", [
  { fits: (value) => typeof value === "number", shape: finiteNumber as Shape<string | number> },
  { fits: () => true, shape: string },
]);

// Listeners cut what surrounds a key off before they hash it.
const apiKey = as(string, (key, spot) => {
  const trimmed = key.trim();
  return trimmed === "" ? spot.say("must be a string that is not blank") : trimmed;
});

/** Facts, as the library has them, but for the API key: `apiKey` is the key itself, `apiKeyHash` its hash. */
export const facts = objectInPlace({
  method: optional(string, "Default GET."),
  path: optional(string, "Default `/`."),
  host: optional(string, "The host that was asked for."),
  ip: optional(string, "The client's address."),
  user: optional(string, "Who the user is."),
  apiKey: optional(apiKey, "The API key itself."),
  apiKeyHash: optional(string, "The hash of the API key, instead of the key."),
  apiKeyId: optional(
    string,
    "The id of an API key of the control plane, instead of the key; give its tenant beside it.",
  ),
  tenant: optional(string, "Which tenant the user belongs to."),
  tier: optional(string, "Which of a rule's tiers applies."),
  headers: optional(recordOf(anyName, headerValue, ENTRIES), "By name, in any case."),
  cookies: optional(recordOf(anyName, string, ENTRIES), "By name."),
  body: optional(recordOf(anyName, anything(), ENTRIES), "Top-level fields of the body."),
  attributes: optional(recordOf(anyName, attribute, ENTRIES), "Anything else, by name."),
});

const ruleId = required(anyString(256), "The id of a rule.");
const key = optional(anyString(16_384), "The key as the rule counts it: `user:42`.");
const someFacts = optional(facts, "A request, in place of the key that it is counted by.");

/** A key of a rule: as it is counted, or as the facts of a request make it. */
const target = {
  rule: ruleId,
  key,
  facts: someFacts,
  reason: optional(anyString(1_000), "Why, for the audit log."),
};

/** The same body, which says the key in exactly one of its two ways. */
function withOneKey<T extends { readonly key?: unknown; readonly facts?: unknown }>(
  shape: Shape<T>,
): Shape<T> {
  return as(shape, (body, spot) =>
    (body.key === undefined) === (body.facts === undefined)
      ? spot.say("needs either key or facts")
      : body,
  );
}

const decided = { facts: required(facts, "The request."), cost };

/** The bodies, by verb. */
export const inputs = {
  check: objectInPlace(decided),
  peek: objectInPlace(decided),
  explain: objectInPlace({
    ...decided,
    all: optional(flag, "Whether rules that don't match are listed too. Default false."),
    counters: optional(
      flag,
      "Whether rules that don't match but could count the caller are listed too, with their counters. Default false.",
    ),
  }),
  explainNodes: objectInPlace({ facts: required(facts, "The request.") }),
  reset: withOneKey(objectInPlace(target)),
  unblock: withOneKey(objectInPlace(target)),
  block: withOneKey(
    objectInPlace({
      ...target,
      forMs: required<number | null>(
        orNull(wholeNumber({ min: 1, max: UNITS_MAX })),
        "For how many milliseconds; null: until it is unblocked.",
      ),
    }),
  ),
  refund: withOneKey(objectInPlace({ ...target, cost: required(units, "Units.") })),
} as const;

/** A verb with a body. */
export type CounterVerb = Exclude<keyof typeof inputs, "explainNodes">;
/** What a verb is given. */
export type Input<V extends CounterVerb> = ReadAs<(typeof inputs)[V]>;
