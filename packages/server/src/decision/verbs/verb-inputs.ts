// What each verb accepts: shapes that check bodies and describe them. A request has facts, to be decided under the rules,
// or a limit and a key of its own; its fields say which of the two it is.

import { type Facts, toJsonSchema } from "sluice/rules";
import {
  anyString,
  anything,
  flag,
  isRecord,
  type JsonSchema,
  objectInPlace,
  optional,
  orNull,
  required,
  type Shape,
  wholeNumber,
} from "sluice/shapes";
import { show } from "../../base/errors.js";
import { type ApiKeyReading, toFactsShape } from "./facts-input.js";

/** The most requests in one batch. */
export const BATCH_MAX = 1_000;

const UNITS_MAX = Number.MAX_SAFE_INTEGER;
const KEY_LENGTH_MAX = 65_536;
const NAME_LENGTH_MAX = 128;
const ID_LENGTH_MAX = 64;

/** A request under the rules. */
export interface FactsRequest {
  readonly facts: Facts;
  readonly cost?: number | undefined;
  readonly results?: boolean | undefined;
}

/** A request under a limit of its own. */
export interface LimitRequest {
  readonly limit: unknown;
  readonly key: string;
  readonly name?: string | undefined;
  readonly cost?: number | undefined;
}

/** A key of a rule. */
export interface RuleRequest {
  readonly rule: string;
  readonly key: string;
}

/** Several requests in one call; each is checked on its own. */
export interface BatchRequest {
  readonly requests: readonly unknown[];
}

/** Whether it is about facts. */
export function isFactsRequest(request: object): request is FactsRequest {
  return "facts" in request;
}

/** Whether it is about a key of a rule. */
export function isRuleRequest(request: object): request is RuleRequest {
  return "rule" in request;
}

/** Whether it is a batch. */
export function isBatch(request: object): request is BatchRequest {
  return "requests" in request;
}

const units = wholeNumber({ min: 0, max: UNITS_MAX });
const anyKey = anyString(KEY_LENGTH_MAX);
const cost = optional(units, "Units; default 1, or what the rules say.");
const ownLimit = {
  limit: required(anything({ $ref: "#/components/schemas/limits" })),
  name: optional(
    anyString(NAME_LENGTH_MAX),
    "Limits of one name share their counters, and take over what was used if the numbers change. " +
      "Default: limits without a name are counted apart by their numbers.",
  ),
  key: required(anyKey, "Who is counted: `user:42`."),
};
const ruleAndKey = {
  rule: required(anyString(NAME_LENGTH_MAX), "The id of a rule."),
  key: required(anyKey, "As the rule counts it: `user:42`, `ip:203.0.113.10`."),
};
const forMs = required<number | null>(
  orNull(wholeNumber({ min: 1, max: UNITS_MAX })),
  "For how many milliseconds; null: until it is unblocked.",
);
const grant = optional(units, "Units; default 1.");
const id = required(anyString(ID_LENGTH_MAX), "As `reserve` or `acquire` answered.");

/** The shapes of all bodies. */
export type Inputs = ReturnType<typeof toInputs>;

/**
 * Makes the shapes.
 *
 * @param apiKeys - How API keys in facts are read.
 */
export function toInputs(apiKeys: ApiKeyReading) {
  const facts = required(toFactsShape(apiKeys));
  const results = optional(flag, "Whether the answer says what each rule said. Default false.");
  const byLimit = objectInPlace({ ...ownLimit, cost }) satisfies Shape<LimitRequest>;
  const request = eitherOf<FactsRequest, LimitRequest>(
    ["facts", objectInPlace({ facts, cost, results })],
    ["limit", byLimit],
  );
  return {
    request,
    requestOrBatch: eitherOf<BatchRequest, FactsRequest | LimitRequest>(
      ["requests", batchOf(request)],
      ["facts or limit", request],
    ),
    reserve: request,
    acquire: byLimit,
    settle: objectInPlace({
      id,
      cost: required(units, "What it really cost."),
    }),
    held: objectInPlace({ id }),
    refund: eitherOf<RuleRequest & { cost?: number | undefined }, LimitRequest>(
      ["rule", objectInPlace({ ...ruleAndKey, cost: grant })],
      ["limit", objectInPlace({ ...ownLimit, cost: grant })],
    ),
    block: eitherOf<
      RuleRequest & { forMs: number | null },
      LimitRequest & { forMs: number | null }
    >(
      ["rule", objectInPlace({ ...ruleAndKey, forMs })],
      ["limit", objectInPlace({ ...ownLimit, forMs })],
    ),
    target: eitherOf<RuleRequest, LimitRequest>(
      ["rule", objectInPlace(ruleAndKey)],
      ["limit", objectInPlace(ownLimit)],
    ),
    explain: objectInPlace({
      facts,
      cost,
      all: optional(flag, "Whether rules that don't match are listed too. Default false."),
    }),
  };
}

/** What `limits` refers to, as the library describes it. */
export function toLimitSchemas(): Readonly<Record<string, JsonSchema>> {
  const { $defs } = toJsonSchema() as { $defs: Readonly<Record<string, JsonSchema>> };
  const moved = JSON.stringify($defs.limit).replaceAll("#/$defs/", "#/components/schemas/");
  const limit = { $ref: "#/components/schemas/limit" };
  return {
    limit: JSON.parse(moved) as JsonSchema,
    limits: { anyOf: [limit, { type: "array", items: limit, minItems: 1, maxItems: 8 }] },
  };
}

/** One of two objects, distinguished by a field that the first has and the second has not. */
function eitherOf<A extends object, B extends object>(
  [first, a]: readonly [string, Shape<A>],
  [second, b]: readonly [string, Shape<B>],
): Shape<A | B> {
  const [other, another = other] = second.split(" or ");
  return {
    what: "an object",
    schema: { anyOf: [a.schema, b.schema] },
    read: (value, spot) => {
      if (!isRecord(value)) return spot.refuse("an object", value);
      if (value[first] !== undefined) return a.read(value, spot);
      if (value[other] !== undefined || value[another] !== undefined) return b.read(value, spot);
      return spot.say(`needs ${first} or ${second}, got ${seenFields(value)}`);
    },
    formOf: (value) => (isRecord(value) && value[first] !== undefined ? a : b),
  };
}

/** The requests are described here, and each is checked when its turn comes: an invalid one fails alone. */
function batchOf(request: Shape<unknown>): Shape<BatchRequest> {
  const list: Shape<readonly unknown[]> = {
    what: `a list of 1 to ${BATCH_MAX} requests`,
    schema: { type: "array", items: request.schema, minItems: 1, maxItems: BATCH_MAX },
    read: (value, spot) => {
      if (!Array.isArray(value)) return spot.refuse(list.what, value);
      if (value.length >= 1 && value.length <= BATCH_MAX) return value;
      return spot.say(`must be ${list.what}, got ${value.length}`);
    },
  };
  return objectInPlace({ requests: required(list) });
}

function seenFields(value: object): string {
  const names = Object.keys(value);
  return names.length === 0 ? "an empty object" : show(names.slice(0, 8).join(", "));
}
