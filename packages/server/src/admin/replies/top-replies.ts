// What `GET /v1/top` answers, as a shape.

import { choice, finiteNumber, optional, orNull, required } from "sluice/shapes";
import { WATCHED_FIGURES } from "../../telemetry/tally/anomaly-watch.js";
import { many, open, text } from "./reply-shapes.js";

const topKey = open({
  rule: required(text),
  key: required(text),
  perSecond: required(finiteNumber),
});

const shedCounts = open({
  critical: required(finiteNumber),
  high: required(finiteNumber),
  normal: required(finiteNumber),
  low: required(finiteNumber),
});

const upstreamLoad = open({
  upstream: required(text),
  route: required(orNull(text), "The path of the route; null for the upstream itself."),
  limit: required(orNull(finiteNumber), "The adaptive limit now; null if there is none."),
  inFlight: required(orNull(finiteNumber)),
  latencyMs: required(orNull(finiteNumber), "The mean of the latest requests."),
  shed: required(orNull(shedCounts), "Requests that the limit shed, by priority."),
  breaker: required(orNull(choice(["closed", "open", "half-open"]))),
  breakerShed: required(orNull(shedCounts), "Requests shed while the circuit breaker was open."),
});

const topAnomaly = open({
  figure: required(choice(WATCHED_FIGURES)),
  rule: required(orNull(text), "The rule that it is about; null for all requests."),
  beganAgoMs: required(finiteNumber, "How long ago it was noticed."),
  endedAgoMs: required(orNull(finiteNumber), "How long ago it was over; null while it lasts."),
  value: required(finiteNumber, "The highest: a share from 0 to 1, or a count for ten seconds."),
  mean: required(finiteNumber, "What was usual before."),
  distance: required(finiteNumber, "How far values usually were from the mean."),
});

/** How busy a service is. */
export const top = open({
  version: required(text),
  seconds: required(finiteNumber),
  rules: required(
    many(
      open({
        rule: required(text),
        keyType: required(text),
        endpoint: required(text),
        allowedPerSecond: required(finiteNumber),
        blockedPerSecond: required(finiteNumber),
        shadowBlockedPerSecond: required(finiteNumber),
        allowed: required(finiteNumber),
        blocked: required(finiteNumber),
      }),
    ),
  ),
  hottest: required(many(topKey)),
  mostRefused: required(many(topKey)),
  upstreams: optional(many(upstreamLoad), "Those with adaptive limits or circuit breakers."),
  anomalies: optional(
    many(topAnomaly),
    "The latest of each figure and rule, the newest first; at most five.",
  ),
});
