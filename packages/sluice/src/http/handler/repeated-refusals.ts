// The latest refusal on the single-rule path. In a flood, refusals within a millisecond differ at most in the key, so
// what the next one says was written already: its decision, headers and body are the same objects, and a listener can
// keep the whole response by them (bench service/reject).

import type { Verdict } from "../../base/decision.js";
import type { PolicyDecision } from "../../rules/policy/policy-request/policy-decision.js";
import type { SingleRuleAnswer } from "../../rules/policy/policy-request/single-rule-path.js";
import type { Refusal } from "../response/refusal.js";
import type { HttpSetup } from "./http-options.js";

/** What was said to a request that was refused. */
interface Said {
  readonly decision: PolicyDecision;
  readonly lines: string;
  readonly refusal: Refusal | undefined;
}

/** Remembers the latest refusal of a request handler. */
export class RepeatedRefusals {
  /** Whether refusals depend on nothing but their decision. */
  readonly #mayRepeat: boolean;
  /** Whether headers depend on the key. */
  readonly #showsKey: boolean;
  #answer: SingleRuleAnswer | undefined = undefined;
  #said: Said | undefined = undefined;

  constructor({
    retryAfterJitterMs,
    body,
    partitionSecret,
  }: Pick<HttpSetup, "retryAfterJitterMs" | "body" | "partitionSecret">) {
    this.#mayRepeat = retryAfterJitterMs === 0 && typeof body !== "function";
    this.#showsKey = partitionSecret !== undefined;
  }

  /** The refusal that was written for an equal answer; undefined if there is none. */
  find({ path, key, nowMs, verdict }: SingleRuleAnswer): Said | undefined {
    const latest = this.#answer;
    if (latest === undefined || nowMs !== latest.nowMs || path !== latest.path) return undefined;
    if (!isSame(verdict, latest.verdict)) return undefined;
    return !this.#showsKey || key === latest.key ? this.#said : undefined;
  }

  /** The decision about an answer for which a refusal was found. */
  decisionOf(answer: SingleRuleAnswer, { decision }: Said): PolicyDecision {
    return answer.key === this.#answer?.key ? decision : answer.toDecision();
  }

  /** Remembers what was said about an answer. */
  keep(answer: SingleRuleAnswer, { decision, lines, refusal }: Said): void {
    if (!this.#mayRepeat) return;
    this.#answer = answer;
    // Not the handled request, which would keep a request alive that has ended.
    this.#said = { decision, lines, refusal };
  }
}

function isSame(a: Verdict, b: Verdict): boolean {
  const isSameState =
    a.retryAfterMs === b.retryAfterMs && a.remaining === b.remaining && a.resetMs === b.resetMs;
  return isSameState && a.limit === b.limit && a.source === b.source && a.blockedMs === b.blockedMs;
}
