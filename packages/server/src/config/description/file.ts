// The description of the whole file: every section, in the order in which a reader meets them.

import type { ReadFields } from "sluice/shapes";
import { challengeSection } from "./challenge.js";
import { controlSection } from "./control.js";
import { listOf, mapOf, optional, required, section, withDefault } from "./fields.js";
import { identitySection } from "./identity.js";
import { ledgerSection } from "./ledger.js";
import {
  adminSection,
  decisionSection,
  envoySection,
  gatewaySection,
  serverSection,
} from "./listeners.js";
import { listsSection } from "./lists.js";
import { regionsSection } from "./regions.js";
import { duration, flag, flagOr, fraction, oneOf, shape, whole } from "./shapes.js";
import { anyText, filePath, redisUrl, secret, text } from "./strings.js";
import { routeSection, upstreamSection } from "./upstreams.js";

const HOUR_MS = 3_600_000;

const storeSection = section({
  kind: withDefault(
    oneOf(["memory", "redis"]),
    "memory",
    "Counters in this service, or in Redis or Valkey.",
  ),
  keysMax: optional(
    whole({ min: 1_024, max: 16_777_216 }),
    "Counters of the memory store; default 1,000,000. Only with kind memory.",
  ),
  url: optional(
    redisUrl(),
    "The address of Redis. Required with kind redis, and allowed only there; with regions it is that of the own region.",
  ),
  keyPrefix: optional(
    text({ what: "1 to 100 letters, digits or _ - . :", pattern: /^[\w.:-]{1,100}$/ }),
    "The prefix of all keys; default sluice. Only with kind redis.",
  ),
  timeoutMs: optional(
    duration({ min: 1, max: 60_000 }),
    "How long Redis may take for a decision; default 50. Only with kind redis.",
  ),
  onStoreFailure: withDefault(
    oneOf(["local", "open", "closed", "throw"]),
    "local",
    "What happens when the store does not answer, unless a limit sets it: each process enforces a share of the limit, requests pass, are refused, or get a 503.",
  ),
  failReadiness: optional(
    flag(),
    "Whether readiness fails once Redis has been unavailable for five minutes; default false. Only with kind redis.",
  ),
});

const responsesSection = section({
  headers: withDefault(
    oneOf(["draft-11", "draft-8", "draft-7", "draft-6", "none"]),
    "draft-11",
    "The form of the RateLimit headers.",
  ),
  legacyHeaders: withDefault(
    flagOr(["epoch", "delta"]),
    true,
    "X-RateLimit-Limit, -Remaining and -Reset: true or epoch with the reset in seconds since 1970, delta with those until then.",
  ),
  body: withDefault(
    oneOf(["problem", "text", "minimal"]),
    "problem",
    "The body of a refusal: application/problem+json, a line of text, or none.",
  ),
  retryAfterJitterMs: withDefault(
    duration({ min: 0, max: HOUR_MS }),
    0,
    "The most that is randomly added to the wait in a refusal.",
  ),
  delayedMax: withDefault(
    whole({ min: 0, max: 1_000_000 }),
    1_000,
    "How many requests may wait at a time where rules delay.",
  ),
  partitionKey: optional(
    section({ secret: required(secret(16), "The secret of the hash.") }),
    "Adds to the RateLimit headers a hash of the key, which shows which of a rule's counters they are about.",
  ),
});

const telemetrySection = section({
  logLevel: withDefault(
    oneOf(["fatal", "error", "warn", "info", "debug", "trace", "silent"]),
    "info",
    "The lowest level that is logged.",
  ),
  decisionLogShare: withDefault(
    fraction({ min: 0, max: 1 }),
    0.001,
    "The share of admitted requests that are logged. Refusals are always logged.",
  ),
  region: withDefault(
    text({ what: "1 to 64 letters, digits or _ - .", pattern: /^[\w.-]{1,64}$/ }),
    "local",
    "A label of all metrics and log lines. With regions, by default the own region.",
  ),
  topKeysMax: withDefault(whole({ min: 1, max: 1_000 }), 20, "Keys in each top list."),
});

const rulesShape = shape<Readonly<Record<string, unknown>>>({
  what: "rules: { file: rules.yaml }, or version and rules as a file of rules has them",
  type: "[rules](#rules)",
  forms: [
    {
      type: "object",
      properties: { file: { type: "string", description: "A file of rules, which is watched." } },
      required: ["file"],
      additionalProperties: false,
    },
    { type: "object", required: ["version", "rules"] },
  ],
  read: (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined,
  parts: { file: required(filePath(), "A file of rules, which is watched.") },
});

/** The whole file. */
export const fileSection = section({
  $schema: optional(anyText("a string"), "For editors of JSON."),
  version: withDefault(whole({ min: 1, max: 1 }), 1, "The version of this format."),
  server: withDefault(serverSection, {}, "The process."),
  gateway: optional(gatewaySection, "The reverse proxy; if omitted, that listener is closed."),
  decision: optional(
    decisionSection,
    "The decision API and forward-auth; if omitted, that listener is closed.",
  ),
  envoy: optional(envoySection, "Envoy's rate limit service; if omitted, that listener is closed."),
  admin: withDefault(adminSection, {}, "Metrics, health, and the API of the command. Always open."),
  upstreams: withDefault(mapOf(upstreamSection), {}, "Where the gateway sends requests, by name."),
  routes: withDefault(
    listOf(routeSection, { min: 0, max: 1_000 }),
    [],
    "Which requests go to which upstream; the first route that matches is used.",
  ),
  store: withDefault(storeSection, {}, "Where counters are kept."),
  regions: optional(
    regionsSection,
    "The regions that share limits, each with its Redis; if omitted, there is one region.",
  ),
  identity: withDefault(identitySection, {}, "How callers are identified."),
  responses: withDefault(responsesSection, {}, "The format of responses, at every HTTP listener."),
  challenge: optional(
    challengeSection,
    "How the gateway challenges callers under rules with onExceed: challenge; if omitted, such rules are an error.",
  ),
  rules: optional(
    rulesShape,
    "The rules: from a file that is watched, or written here. Required by gateway and decision, unless there is control.",
  ),
  lists: optional(
    listsSection,
    "Files of addresses that are refused, or that no rule counts; if omitted, there are none.",
  ),
  control: optional(
    controlSection,
    "The control plane, from which rules, plans, API keys and the rest come; if omitted, everything comes from files.",
  ),
  ledger: optional(
    ledgerSection,
    "The ledger, in which durable rules keep their quotas; if omitted, it is in the database of control, if there is one.",
  ),
  telemetry: withDefault(telemetrySection, {}, "Logs, metrics and traces."),
});

/** What a file says, read and filled in. */
export type FileValues = ReadFields<typeof fileSection.fields>;
