// The fields of a rule as a file writes them: the one description that reads them, that the JSON Schema
// is made of, and that the reference page is checked against.

import { duration } from "../../../base/shapes/duration.js";
import {
  anyNumber,
  anyString,
  as,
  choice,
  either,
  flag,
  listOf,
  mapOf,
  object,
  oneOrMany,
  optional,
  required,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../../base/shapes/shapes.js";
import { escalate } from "../../../stores/escalation/escalate-shape.js";
import { POLICIES, TIMEOUT_BOUNDS } from "../../../stores/resilient/resilient-options.js";
import type { ResponseCondition } from "../../rule.js";
import { asn, country } from "./client-match.js";
import { cost, settle } from "./costs.js";
import { dimension } from "./dimension.js";
import { durable } from "./durable.js";
import { limits } from "./limit.js";
import { headerName, host, method, ownName, pathPattern, ruleId } from "./names.js";
import { requestPriority } from "./request-priority.js";
import { status } from "./status.js";

const PATTERNS_MAX = 100;
const DIMENSIONS_MAX = 8;
const NAMES_MAX = 64;
/** As many as there are. */
const COUNTRIES_MAX = 300;
const OVERRIDES_MAX = 10_000;
const EXEMPT_MAX = 10_000;
const KEY_LENGTH_MAX = 4_096;
const DELAY_MS_MAX = 60_000;
const SHARDS_MAX = 1_024;
const PRIORITY_MAX = 1_000_000;

const list = { countMax: PATTERNS_MAX };
const isString = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";

/** A value that is compared as a string; numbers are written without quotes. */
const value: Shape<string> = either("a string or a number", [
  { fits: isString, shape: anyString(1_024) },
  { fits: isNumber, shape: as(anyNumber({ min: -1e15, max: 1e15 }), String) },
]);

const WANTED = "true, a value or a list of values";
const wanted: Shape<readonly string[]> = either(WANTED, [
  {
    fits: (given) => typeof given === "boolean",
    shape: {
      what: WANTED,
      schema: { const: true },
      read: (given, spot) => (given === true ? [] : spot.refuse(WANTED, given)),
    },
  },
  { fits: () => true, shape: oneOrMany(value, list) },
]);

/** Which requests a rule is about. */
export const matchFields = object({
  path: optional(
    oneOrMany(pathPattern, list),
    "One pattern or several: `/users/:id`, `*` for one segment, a last `*` for everything below.",
  ),
  methods: optional(oneOrMany(method, list), "One or several. GET stands for HEAD too."),
  host: optional(oneOrMany(host, list), "One or several: `api.example.com`, `*.example.com`."),
  headers: optional(
    mapOf(headerName, wanted, { countMax: NAMES_MAX }),
    "By name: a value, a list of which one must match, or `true` if the header only has to be present.",
  ),
  attributes: optional(
    mapOf(ownName, wanted, { countMax: NAMES_MAX }),
    "The same for attributes; `user`, `tenant` and `tier` are the facts of that name, and `scope` is any scope of the API key.",
  ),
  ips: optional(
    listOf(anyString(64), { countMax: EXEMPT_MAX }),
    "Addresses and ranges, in one of which the client's address is: `203.0.113.0/24`.",
  ),
  asn: optional(
    oneOrMany(asn, list),
    "The number of the autonomous system that the address belongs to: one or several.",
  ),
  country: optional(
    oneOrMany(country, { countMax: COUNTRIES_MAX }),
    "The country that the address belongs to, by two letters: one or several.",
  ),
  fingerprint: optional(
    oneOrMany(anyString(256), list),
    "The fingerprint of the client's software that a trusted proxy reports, such as a JA4 hash: one or several.",
  ),
});

/** Who is never counted. */
export const exemptFields = object({
  ips: optional(
    listOf(anyString(64), { countMax: EXEMPT_MAX }),
    "Addresses and ranges: `203.0.113.7`, `2001:db8::/32`.",
  ),
  keys: optional(
    listOf(anyString(KEY_LENGTH_MAX), { countMax: EXEMPT_MAX }),
    "Keys as they are counted: `user:42`.",
  ),
});

/** Which responses count. */
export const whenFields = object(
  {
    status: optional(oneOrMany(status, list), "Only these statuses and classes count."),
    statusNot: optional(oneOrMany(status, list), "All others count."),
  },
  { schema: { minProperties: 1, maxProperties: 1 } },
);

const when: Shape<ResponseCondition> = as(whenFields, ({ status: only, statusNot }, spot) => {
  if ((only === undefined) === (statusNot === undefined)) {
    return spot.say("needs either status or statusNot");
  }
  return { statuses: only ?? statusNot ?? [], isCounted: only !== undefined };
});

/** A rule. */
export const ruleFields = object({
  id: required(ruleId, "Its name, unique: it names counters, headers and metrics."),
  enabled: withDefault(flag, true, "Whether it is in force."),
  match: withDefault(matchFields, {}, "Which requests it applies to; by default all."),
  key: withDefault(
    oneOrMany(dimension, { countMax: DIMENSIONS_MAX }),
    "ip",
    "What it counts by: one dimension, or several together.",
  ),
  onMissing: withDefault(
    choice(["ip", "skip", "refuse"]),
    "ip",
    "What happens to a request that has no value for part of the key: count by address, pass, be refused.",
  ),
  limit: required(limits, "One limit or several, decided all or nothing."),
  tiers: optional(
    mapOf(ownName, limits, { countMax: NAMES_MAX }),
    "Instead of `limit`, by the caller's tier. `unlimited` stands for no limit.",
  ),
  overrides: optional(
    mapOf(anyString(KEY_LENGTH_MAX), limits, { countMax: OVERRIDES_MAX }),
    "Instead of both, by key as it is counted: `user:42`.",
  ),
  cost: withDefault(cost, 1, "What a request costs."),
  settle: optional(settle, "Where the real cost comes from, once the response is known."),
  when: optional(when, "Which responses count; by default all."),
  onExceed: withDefault(
    choice(["reject", "delay", "shadow", "challenge"]),
    "reject",
    "What happens beyond the limit. `shadow` counts and reports, and lets pass. `challenge` refuses with a challenge, whose solution lifts the limit once.",
  ),
  passUnits: optional(
    wholeNumber({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    "How many units a solved challenge refunds; by default all that the key used. Only with `onExceed: challenge`.",
  ),
  delayMsMax: optional(
    duration({ min: 1, max: DELAY_MS_MAX }),
    "The longest wait. Required with `onExceed: delay`.",
  ),
  escalate: optional(
    escalate,
    "Blocks callers that keep being refused, for longer each time: `{ after: 20 refusals in 1m, blocks: [1m, 10m, 1h, 1d] }`.",
  ),
  rollout: withDefault(
    anyNumber({ min: 0, max: 100 }),
    100,
    "The percentage of keys that it applies to, always the same ones.",
  ),
  consistency: optional(
    choice(["strict", "leased", "eventual", "local"]),
    "Where it is decided: in the shared store, out of leases, or in this process. Default: strict; local if a limit is a sketch.",
  ),
  across: withDefault(
    choice(["each", "central", "split", "leased", "merged"]),
    "each",
    "How regions agree on it: each counts by itself, the home region decides, each has its share of the limit, each leases budget from the home region, or each merges the counts of the others.",
  ),
  durable: withDefault(
    durable,
    false,
    "Whether its quotas are kept in a ledger: charged once however often a request is retried, and kept over crashes.",
  ),
  onStoreFailure: optional(
    choice(POLICIES),
    "What decides when the store does not answer; for a durable rule and with `across: central` or `leased` by default `closed`.",
  ),
  timeoutMs: optional(
    duration(TIMEOUT_BOUNDS),
    "How long the store may take for a decision; for a durable rule and with `across: central` or `leased` by default a second.",
  ),
  priority: withDefault(
    wholeNumber({ min: -PRIORITY_MAX, max: PRIORITY_MAX }),
    0,
    "Rules with a higher priority come first, and win where two refuse alike.",
  ),
  requestPriority: optional(
    requestPriority,
    "How important its requests are when an upstream is overloaded: the least important are refused first.",
  ),
  expose: withDefault(flag, true, "Whether responses show it."),
  shards: withDefault(
    wholeNumber({ min: 1, max: SHARDS_MAX }),
    1,
    "How many counters share a limit that many callers use.",
  ),
  exempt: optional(exemptFields, "Callers that this rule does not count."),
  windowJitter: withDefault(
    flag,
    false,
    "Whether fixed windows start at a different time for each key.",
  ),
});
