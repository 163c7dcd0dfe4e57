// The response to a request that is refused: status, headers and body. It must never be stored by a
// cache, and never shows a value that the request was counted by.

import { drop } from "../../base/maybe-promise.js";
import type {
  PolicyDecision,
  RefusalReason,
} from "../../rules/policy/policy-request/policy-decision.js";
import type { HttpRequest } from "../identity/http-request.js";
import { nameOf } from "./limit-description.js";
import { PROBLEMS, toDetail, toProblem } from "./problem-body.js";
import type { HeaderFields } from "./response-headers.js";
import type { Retry } from "./retry-after.js";

/** A whole response, apart from the RateLimit headers. */
export interface WholeResponse {
  readonly status: number;
  readonly fields: HeaderFields;
  readonly body: string;
}

/** The response to a refused request. */
export interface Refusal extends WholeResponse {
  readonly reason: RefusalReason;
  /** How long the caller should wait, in milliseconds; Infinity if waiting does not help, or no time is known. */
  readonly retryAfterMs: number;
}

/** What a function that writes bodies gets. */
export interface RefusalContext<Raw = unknown> {
  readonly status: number;
  readonly reason: RefusalReason;
  /** The limits that refused, by the names that the RateLimit headers use; hidden rules left out. */
  readonly rules: readonly string[];
  /** Jitter included; Infinity if waiting does not help, or no time is known. */
  readonly retryAfterMs: number;
  readonly decision: PolicyDecision;
  /** The request of the framework. */
  readonly request: Raw;
}

/** A body, and its Content-Type. */
export interface WrittenBody {
  readonly type: string;
  readonly text: string;
}

/** How refusals are written. A function that throws is answered for by the problem body. */
export type RefusalBody<Raw = unknown> =
  | "problem"
  | "text"
  | "minimal"
  | ((context: RefusalContext<Raw>) => WrittenBody);

/** As functions in code are called: a framework may have more than its request. */
type WriteBody = (refusal: RefusalContext, context: unknown) => WrittenBody;

/** The request that is refused. */
type RefusedRequest = Pick<HttpRequest, "raw" | "context">;

/** A refusal, and what it was written from. */
interface Written {
  readonly refusal: Refusal;
  readonly rules: readonly string[];
  readonly decidedMs: number | undefined;
}

/** Writes refusals. */
export class RefusalWriter {
  readonly #body: RefusalBody;
  readonly #challenge: string;
  readonly #onError: (error: unknown) => void;
  // Of a flood, those within a millisecond are alike (bench service/reject).
  #latest: Written | undefined = undefined;

  /** @param options - `challenge`: the value of WWW-Authenticate with status 401. */
  constructor(
    body: RefusalBody,
    { challenge, onError }: { challenge: string; onError: (error: unknown) => void },
  ) {
    this.#body = body;
    this.#challenge = challenge;
    this.#onError = onError;
  }

  /** @param missing - What the request is missing, as a sentence without its full stop, if that is why. */
  write(
    decision: PolicyDecision,
    retry: Retry,
    request: RefusedRequest,
    missing?: string,
  ): Refusal {
    const reason = decision.reason ?? "limit";
    const rules = namesOf(decision);
    const latest = missing === undefined ? this.#latest : undefined;
    if (latest !== undefined && isAlike(latest, reason, rules, retry)) return latest.refusal;
    return this.#write(decision, reason, rules, retry, request, missing);
  }

  #write(
    decision: PolicyDecision,
    reason: RefusalReason,
    rules: readonly string[],
    retry: Retry,
    request: RefusedRequest,
    missing: string | undefined,
  ): Refusal {
    const { type, text: body } = this.#toBody(decision, reason, rules, retry, request, missing);
    const fields = ["Cache-Control", "no-store"];
    if (body !== "") fields.push("Content-Type", type);
    fields.push("Content-Length", `${bytesOf(body)}`);
    if (retry.seconds !== undefined) fields.push("Retry-After", `${retry.seconds}`);
    const { status } = PROBLEMS[reason];
    if (status === 401) fields.push("WWW-Authenticate", this.#challenge);
    const refusal = { status, fields, body, reason, retryAfterMs: retry.shownMs };
    const isAny = typeof this.#body !== "function" && missing === undefined;
    if (isAny) this.#latest = { refusal, rules, decidedMs: retry.decidedMs };
    return refusal;
  }

  #toBody(
    decision: PolicyDecision,
    reason: RefusalReason,
    rules: readonly string[],
    retry: Retry,
    request: RefusedRequest,
    missing: string | undefined,
  ): WrittenBody {
    const kind = PROBLEMS[reason];
    const body = this.#body;
    if (body === "minimal") return { type: "", text: "" };
    if (body === "text") {
      return { type: "text/plain; charset=utf-8", text: `${toDetail(kind, retry, missing)}\n` };
    }
    if (typeof body === "function") {
      const { status } = kind;
      const { raw, context } = request;
      const retryAfterMs = retry.shownMs;
      const refusal = { status, reason, rules, retryAfterMs, decision, request: raw };
      try {
        return toWritten((body as WriteBody)(refusal, context));
      } catch (error) {
        this.#onError(error);
      }
    }
    return { type: "application/problem+json", text: toProblem(kind, rules, retry, missing) };
  }
}

function isAlike(
  latest: Written,
  reason: RefusalReason,
  rules: readonly string[],
  { decidedMs, shownMs }: Retry,
): boolean {
  const { refusal } = latest;
  if (refusal.retryAfterMs !== shownMs || refusal.reason !== reason) return false;
  // Both "never" and "unknown" are shown as no time, but the wording differs.
  if (shownMs === Number.POSITIVE_INFINITY && latest.decidedMs !== decidedMs) return false;
  return latest.rules.length === rules.length && latest.rules.every((name, i) => name === rules[i]);
}

function toWritten(written: WrittenBody): WrittenBody {
  const { type, text } = written;
  if (typeof type === "string" && typeof text === "string") return { type, text };
  drop(written);
  throw new TypeError("body must return { type, text }, both strings, not a promise");
}

/** The limits that refused, of rules that may be named. */
export function namesOf(decision: PolicyDecision): string[] {
  const names: string[] = [];
  for (const charge of decision.charges) {
    const isNamed = !charge.verdict.allowed && !charge.shadow && charge.rule.definition.isExposed;
    if (isNamed) names.push(nameOf(charge));
  }
  return names;
}

const ASCII = /^[\0-\x7f]*$/;
const encoder = new TextEncoder();

/** The length of a string in bytes, as it is sent. */
export function bytesOf(text: string): number {
  return ASCII.test(text) ? text.length : encoder.encode(text).length;
}
