// What may be sent again, and what came of an attempt: answered, refused or failed.

import type { HeaderSource } from "../headers/header-source.js";

/** Methods that may be repeated: doing it twice is the same as once (RFC 9110, 9.2.2). */
const IDEMPOTENT = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"]);

/** Whether a request may be repeated by its method alone. `method` is in upper case. */
export function isIdempotent(method: string): boolean {
  return IDEMPOTENT.has(method);
}

/**
 * What came of an attempt. `refused`: the server is alive and wants fewer requests. `failed`: it does not work, or can't be
 * reached. `answered`: everything else, errors of the caller included.
 */
export type AttemptOutcome = "answered" | "refused" | "failed";

/** The outcome of an attempt by its response. */
export function outcomeOf(status: number, headers: HeaderSource): AttemptOutcome {
  if (status < 400) return "answered";
  if (status === 429 || status === 503) return "refused";
  if (status === 500 || status === 502 || status === 504) return "failed";
  // GitHub refuses with 403.
  const isRefused =
    status === 403 &&
    (headers.get("x-ratelimit-remaining") === "0" || Boolean(headers.get("retry-after")));
  return isRefused ? "refused" : "answered";
}

/** Whether a response may be better the next time. Stripe, OpenAI and others say so themselves. */
export function isRetriedResponse(
  status: number,
  outcome: AttemptOutcome,
  headers: HeaderSource,
): boolean {
  if (status < 400) return false;
  const advice = headers.get("stripe-should-retry") ?? headers.get("x-should-retry");
  // Stripe says so of a 409, whose other request may soon be done.
  if (advice === "true") return true;
  return advice !== "false" && (outcome !== "answered" || status === 408);
}

/** Failures of a connection that another attempt may not have. */
const TRANSIENT_CODES = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "EAI_AGAIN",
  "ENOTFOUND",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** What Chrome, Firefox and Safari say of a connection that failed. They say no more than that. */
const BROWSER_MESSAGES = /^(?:Failed to fetch|NetworkError when attempting|Load failed)/;

/**
 * Whether an error of fetch, or of undici, is about the connection. A redirect loop, an invalid header or a response that is
 * not HTTP is the same the next time.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error) ?? codeOf(error.cause);
  if (code !== undefined) return TRANSIENT_CODES.has(code);
  return error.cause === undefined && BROWSER_MESSAGES.test(error.message);
}

function codeOf(error: unknown): string | undefined {
  const { code, errors } = Object(error) as { code?: unknown; errors?: unknown };
  if (typeof code === "string") return code;
  // Node tries several addresses of a host, and reports all of them together.
  return Array.isArray(errors) ? codeOf(errors[0]) : undefined;
}
