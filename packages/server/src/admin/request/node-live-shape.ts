// The shape of what a follower reports of what it does: checked like any input, and bounded in every part.

import {
  anyNumber,
  anyString,
  flag,
  listOf,
  object,
  optional,
  orNull,
  required,
  type Shape,
  wholeNumber,
} from "sluice/shapes";
import {
  NODE_FIRST_REFUSALS_MAX,
  NODE_KEYS_MAX,
  NODE_NOTICE_LENGTH_MAX,
  NODE_NOTICES_MAX,
  NODE_RULES_MAX,
  NODE_STRING_LENGTH_MAX,
  type NodeLive,
  type PastSecond,
} from "../../telemetry/live/node-second.js";
import { LATENCY_BUCKETS_S } from "../../telemetry/metrics/latency.js";
import { HISTORY_SECONDS_MAX } from "../../telemetry/tally/second-history.js";

const SPAN_MS_MAX = 86_400_000;
/** Thirty years. */
const AGE_MS_MAX = 1e12;

const count = wholeNumber({ min: 0, max: 0xffff_ffff });
const amount = anyNumber({ min: 0, max: Number.MAX_SAFE_INTEGER });
const string = anyString(NODE_STRING_LENGTH_MAX, 0);
const outcomes = {
  allowed: required(count),
  delayed: required(count),
  blocked: required(count),
  shadowBlocked: required(count, "What rules in shadow mode would have refused."),
};

const refusal = object({
  ageMs: required(anyNumber({ min: -AGE_MS_MAX, max: AGE_MS_MAX }), "How long before the report."),
  rule: required(orNull(string)),
  key: required(orNull(string), "In clear."),
  reason: required(string),
  retryAfterMs: required(orNull(amount)),
  limit: required(orNull(amount)),
  request: required(orNull(string), "Method and path."),
  endpoint: required(string, "The patterns of paths of the rule."),
});

/** A list whose items have the same bounds. */
function many<T>(shape: Shape<T>, countMax: number): Shape<readonly T[]> {
  return listOf(shape, { countMin: 0, countMax });
}

/** What a follower reports of what it does. */
export const nodeLive: Shape<NodeLive> = object({
  ...outcomes,
  spanMs: required(wholeNumber({ min: 0, max: SPAN_MS_MAX }), "Since the report before; 0: none."),
  version: required(string, "Of the rules in force."),
  rulesInForce: required(count),
  latency: required(
    many(count, LATENCY_BUCKETS_S.length + 1),
    "Decisions by how long they took, in the buckets of the metric of decision times.",
  ),
  rules: required(
    many(
      object({
        rule: required(string),
        keyType: required(string),
        endpoint: required(string),
        ...outcomes,
      }),
      NODE_RULES_MAX,
    ),
  ),
  decisionsPerSecond: required(amount, "In the seconds that `hottest` covers."),
  hottest: required(
    many(
      object({
        rule: required(string),
        key: required(string, "In clear."),
        perSecond: required(amount),
      }),
      NODE_KEYS_MAX,
    ),
  ),
  refusals: required(many(refusal, NODE_FIRST_REFUSALS_MAX)),
  store: required(
    object({ kind: required(string), isFallback: required(flag), onFailure: required(string) }),
  ),
  notices: required(
    many(
      object({
        id: required(string),
        isSevere: required(flag),
        text: required(anyString(NODE_NOTICE_LENGTH_MAX, 0)),
      }),
      NODE_NOTICES_MAX,
    ),
  ),
  past: optional(
    many(
      listOf(count, { countMin: 5, countMax: 5 }) as unknown as Shape<PastSecond>,
      HISTORY_SECONDS_MAX,
    ),
    "The last minutes, if they were asked for: how many seconds ago, allowed, delayed, blocked, shadow-blocked.",
  ),
});
