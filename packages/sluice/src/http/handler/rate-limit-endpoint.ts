// The answer to `GET /rate_limit`: how the caller stands under every rule that could count it and may be
// shown. It charges none of them, so it has a limit of its own: an answer may read every counter of the caller in
// a shared store. No cache may keep the answer.

import type { Clock } from "../../base/clock.js";
import type { MaybePromise } from "../../base/maybe-promise.js";
import type { Facts } from "../../rules/facts.js";
import type { RuleState } from "../../rules/policy/peek/peek.js";
import { CallerLimit } from "../caller-limit.js";
import { PROBLEMS, toProblem } from "../response/problem-body.js";
import { bytesOf, type WholeResponse } from "../response/refusal.js";
import { type Jitter, toRetry } from "../response/retry-after.js";

/** The limit on asking. */
export class RateLimitEndpoint {
  readonly #limit: CallerLimit;
  readonly #jitter: Jitter;

  constructor(clock: Clock, jitter: Jitter) {
    this.#limit = new CallerLimit(clock);
    this.#jitter = jitter;
  }

  /** Charges a caller for asking. Returns the refusal if it asks too often. */
  refuse(caller: string): WholeResponse | undefined {
    const { allowed, retryAfterMs } = this.#limit.check(caller);
    if (allowed) return undefined;
    const retry = toRetry(retryAfterMs, this.#jitter);
    const { status } = PROBLEMS.limit;
    const body = toProblem(PROBLEMS.limit, [], retry);
    const fields = toFields("application/problem+json", body);
    return { status, fields: [...fields, "Retry-After", `${retry.seconds}`], body };
  }

  /** The same for a caller whose address is not known. Callers without any identity share one limit. */
  refuseNamed({ user, apiKey, tenant }: Facts): WholeResponse | undefined {
    return this.refuse(user ?? apiKey ?? tenant ?? "");
  }
}

/** Answers a caller that was identified. */
export type ReportCaller = (facts: Facts) => MaybePromise<WholeResponse>;

/** States as JSON: `{ "rules": [{ "rule", "keyType", "limit", "remaining", … }] }`; what never comes is null. */
export function toStatusReply(rules: readonly RuleState[]): WholeResponse {
  return toJsonReply({ rules });
}

/** A value as JSON that no cache may keep. */
export function toJsonReply(value: object, status = 200): WholeResponse {
  const body = JSON.stringify(value);
  const isProblem = status >= 400;
  const type = isProblem ? "application/problem+json" : "application/json; charset=utf-8";
  return { status, fields: toFields(type, body), body };
}

function toFields(type: string, body: string): readonly string[] {
  const length = `${bytesOf(body)}`;
  return ["Cache-Control", "no-store", "Content-Type", type, "Content-Length", length];
}
