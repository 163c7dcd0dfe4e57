// Problem bodies (RFC 9457) of refused requests. The parts that do not change are
// written once: a flood of refusals must stay cheap.

import { formatDuration } from "../../base/durations.js";
import type { RefusalReason } from "../../rules/policy/policy-request/policy-decision.js";
import type { Retry } from "./retry-after.js";

/** One way of being refused. */
export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** A stable word for programs. */
  readonly code: string;
  /** The opening of the body, up to the parts that differ. */
  readonly head: string;
  /** The first sentence for people. */
  readonly sentence: string;
}

/** How the registered types of problems begin. */
export const TYPES = "https://iana.org/assignments/http-problem-types#";

/** By why the request was refused. */
export const PROBLEMS: Readonly<Record<RefusalReason, ProblemKind>> = {
  limit: toKind({
    type: `${TYPES}quota-exceeded`,
    status: 429,
    title: "Too Many Requests",
    code: "RATE_LIMIT_EXCEEDED",
    sentence: "The rate limit is exceeded",
  }),
  blocked: toKind({
    type: `${TYPES}quota-exceeded`,
    status: 429,
    title: "Too Many Requests",
    code: "RATE_LIMIT_EXCEEDED",
    sentence: "Requests of this client are blocked",
  }),
  store: toKind({
    type: `${TYPES}temporary-reduced-capacity`,
    status: 503,
    title: "Service Unavailable",
    code: "RATE_LIMIT_UNAVAILABLE",
    sentence: "The rate limit cannot be checked at the moment",
  }),
  identity: toKind({
    type: "about:blank",
    status: 403,
    title: "Forbidden",
    code: "IDENTITY_MISSING",
    sentence: "The request has no identity that this rule can count by",
  }),
  "unknown-api-key": toKind({
    type: "about:blank",
    status: 401,
    title: "Unauthorized",
    code: "API_KEY_UNKNOWN",
    sentence: "The API key is unknown, has expired or was revoked",
  }),
  // 401, not 503: for all that is known the key is invalid, and only requests with such a key are refused.
  "unchecked-api-key": toKind({
    type: "about:blank",
    status: 401,
    title: "Unauthorized",
    code: "API_KEY_UNCHECKED",
    sentence: "The API key could not be verified",
  }),
  denied: toKind({
    type: "about:blank",
    status: 503,
    title: "Service Unavailable",
    code: "REQUESTS_DENIED",
    sentence: "Requests of this kind are not accepted at the moment",
  }),
};

/** Writes the parts of a problem that do not change. */
export function toKind(problem: Omit<ProblemKind, "head"> & { type: string }): ProblemKind {
  const { type, status, title, code, sentence } = problem;
  const opening = JSON.stringify({ type, title, status, code });
  return { status, title, code, sentence, head: `${opening.slice(0, -1)},"detail":"` };
}

/** The whole body. Names are rule ids and numbers, which JSON takes as they are. */
export function toProblem(
  kind: ProblemKind,
  names: readonly string[],
  retry: Retry,
  missing?: string,
): string {
  const policies = names.length === 0 ? "" : `"${names.join('","')}"`;
  const said = toDetail(kind, retry, missing);
  // Only what is missing has names that JSON may have to escape.
  const detail = missing === undefined ? said : JSON.stringify(said).slice(1, -1);
  const ms = retry.seconds === undefined ? "null" : retry.shownMs;
  return `${kind.head}${detail}","violated-policies":[${policies}],"retryAfterMs":${ms}}`;
}

/**
 * What happened and what to do, for people.
 *
 * @param missing - What the request is missing, as a sentence without its full stop; undefined if the response should not say it.
 */
export function toDetail(
  kind: ProblemKind,
  { decidedMs, seconds }: Retry,
  missing?: string,
): string {
  if (kind === PROBLEMS["unknown-api-key"]) return `${kind.sentence}.`;
  if (kind === PROBLEMS.identity) return `${missing ?? kind.sentence}.`;
  if (kind === PROBLEMS.denied) return `${kind.sentence}.`;
  if (decidedMs === undefined) return `${kind.sentence}. Try again when a request has ended.`;
  if (seconds === undefined) return `${kind.sentence}, and waiting does not help.`;
  return `${kind.sentence}. Try again in ${inWords(seconds)}.`;
}

// The refusals of a flood mostly state the same wait, so the latest one is kept in words.
let latestSeconds = 1;
let latestWords = formatDuration(1_000);

function inWords(seconds: number): string {
  if (seconds !== latestSeconds) {
    latestWords = formatDuration(seconds * 1_000);
    latestSeconds = seconds;
  }
  return latestWords;
}
