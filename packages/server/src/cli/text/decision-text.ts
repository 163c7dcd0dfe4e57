// Decisions in words: what `sluice check` and `peek` print.

import { formatDuration } from "sluice/shapes";
import { type Colours, safe } from "./colours.js";
import { formatBlocked } from "./duration.js";

const KEY_LENGTH_MAX = 200;

/** A decision as a service sends it; Infinity is null. */
export interface DecisionReply {
  readonly allowed: boolean;
  readonly rule?: string | null | undefined;
  readonly reason?: string | null | undefined;
  readonly limit?: number | null | undefined;
  readonly remaining?: number | null | undefined;
  readonly retryAfterMs?: number | null | undefined;
  readonly resetMs?: number | null | undefined;
  readonly delayMs?: number | null | undefined;
  readonly source?: string | undefined;
  /** How long the key is blocked, and which it is, if that is why the request is refused. */
  readonly blockedMs?: number | null | undefined;
  readonly key?: string | undefined;
}

/** `allowed  login: 4 of 5 left, all back in 48 seconds`. */
export function formatDecision(decision: DecisionReply, colours: Colours): string {
  const { allowed, rule } = decision;
  const word = allowed ? colours.good("allowed") : colours.bad("refused");
  if (rule === undefined || rule === null) return `${word}  ${sayWithoutRule(decision)}`;
  const parts = allowed ? sayAllowed(decision) : sayRefused(decision);
  return `${word}  ${safe(rule)}: ${parts.join(", ")}`;
}

function sayWithoutRule(decision: DecisionReply): string {
  if (decision.reason === "blocked") return sayBlock(decision, "the caller");
  return decision.reason === "denied"
    ? "an operator switched everything to deny"
    : "no rule counts it";
}

function sayAllowed({ limit, remaining, resetMs, delayMs, source }: DecisionReply): string[] {
  return [
    ...sayLeft(remaining, limit),
    ...(resetMs ? [`all back in ${formatDuration(resetMs)}`] : []),
    ...(delayMs ? [`waits ${formatDuration(delayMs)}`] : []),
    ...saySource(source),
  ];
}

function sayRefused(decision: DecisionReply): string[] {
  const { reason, limit, remaining, retryAfterMs, source } = decision;
  if (reason === "identity") return ["the request has no value for the rule's key"];
  if (reason === "blocked") return [sayBlock(decision)];
  if (reason === "denied") return ["an operator switched the rule to deny"];
  if (reason === "store") return ["the store does not answer"];
  if (reason === "unknown-api-key") return ["the API key is unknown"];
  if (reason === "unchecked-api-key") return ["the API key could not be verified"];
  const retry =
    typeof retryAfterMs === "number" && Number.isFinite(retryAfterMs)
      ? `again in ${formatDuration(retryAfterMs)}`
      : "costs more than can ever be left";
  return [...sayLeft(remaining, limit), retry, ...saySource(source)];
}

function sayBlock({ key, blockedMs = null }: DecisionReply, who = "the key"): string {
  return `${key === undefined ? who : safe(key, KEY_LENGTH_MAX)} is blocked ${formatBlocked(blockedMs)}`;
}

function sayLeft(remaining: number | null | undefined, limit: number | null | undefined): string[] {
  if (typeof remaining !== "number" || typeof limit !== "number") return [];
  return [`${remaining} of ${limit} left`];
}

/** Where it was decided, if that is not where it usually is. */
function saySource(source: string | undefined): string[] {
  return source === "fallback" ? ["decided without the store"] : [];
}
