/**
 * What a response says about a decision of a limiter: status, headers and, of a refusal, the body. For a server of
 * your own that calls `createLimiter`; the middleware of `sluice/express` and the others does the same for rules.
 * It imports nothing of Node.js, so it works in browsers and workers too.
 *
 * @module
 */

import { systemClock } from "../../base/clock.js";
import type { Decision } from "../../base/decision.js";
import { nonEmptyString, readOptions } from "../../base/shapes/code-options.js";
import { choice, object, required, withDefault } from "../../base/shapes/shapes.js";
import type { Limit } from "../../limits/limits.js";
import { type LimitOrRate, limitInCode } from "../../limits/rate.js";
import type { LimitKind, RuleLimit } from "../../rules/policy/compile/rule-limits.js";
import { noteHold, waitMsOf } from "../../rules/policy/held-charges/hold-times.js";
import type { Counter } from "../../stores/store.js";
import { PROBLEMS, toProblem } from "./problem-body.js";
import { HEADER_FORMS, type HeaderForm, HeaderWriter } from "./rate-limit-headers.js";
import { type HeaderFields, toFields } from "./response-headers.js";
import { toRetry } from "./retry-after.js";

export type { HeaderForm } from "./rate-limit-headers.js";
export type { HeaderFields } from "./response-headers.js";

/** Options of {@link limitResponses}. */
export interface LimitResponsesOptions {
  /** The name of the limit in the headers. */
  name: string;
  /** The limit whose decisions are shown. */
  limit: LimitOrRate;
  /** The form of the RateLimit headers; default `"draft-11"`. */
  headers?: HeaderForm;
}

/** What a response says about a decision. */
export interface LimitResponse {
  /** 429 of a refusal; undefined if the request continues, and its handler chooses the status. */
  readonly status: number | undefined;
  /** Names and values in turn: RateLimit-Policy, RateLimit, and of a refusal Retry-After and those of its body. */
  readonly fields: HeaderFields;
  /** The problem body (RFC 9457) of a refusal; otherwise empty. */
  readonly body: string;
}

/** Writes what responses say about decisions of one limit. Made by {@link limitResponses}. */
export interface LimitResponses {
  /** The response to a request that was decided so. `decision` comes from a limiter with this limit alone. */
  responseTo(decision: Decision): LimitResponse;
  /**
   * Records how long a permit was held, in milliseconds: refusals of a concurrency limit then have a Retry-After,
   * the mean of the latest holds. Other limits ignore it.
   */
  noteHold(heldMs: number): void;
}

const SITE = { name: "limitResponses", code: "SLUICE_OPTION_INVALID" } as const;

const OPTIONS = object({
  name: required(nonEmptyString),
  limit: required(limitInCode),
  headers: withDefault(choice(HEADER_FORMS), "draft-11"),
} satisfies Record<keyof LimitResponsesOptions, unknown>);

const NO_JITTER = { jitterMsMax: 0, random: () => 0 };

/**
 * Writes what responses say about the decisions of a limiter.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if an option can't be used.
 */
export function limitResponses(options: LimitResponsesOptions): LimitResponses {
  const { name, limit, headers } = readOptions(SITE, OPTIONS, options);
  const counter: Counter = { scope: name, part: 0, limit };
  const ruleLimit = toRuleLimit(counter, limit);
  const rule = { definition: { id: name } };
  const writer = new HeaderWriter({
    clock: systemClock,
    headers,
    legacyReset: undefined,
    partitionKey: undefined,
  });
  return {
    responseTo(verdict) {
      const fields = toFields(
        writer.writeOne({ rule, ruleLimit, counter, verdict, key: "", nowMs: 0 }),
      );
      if (verdict.allowed) return { status: undefined, fields, body: "" };
      const retry = toRetry(waitMsOf({ verdict, counter }), NO_JITTER);
      const body = toProblem(PROBLEMS.limit, [name], retry);
      const about = ["Cache-Control", "no-store", "Content-Type", "application/problem+json"];
      const wait = retry.seconds === undefined ? [] : ["Retry-After", `${retry.seconds}`];
      return { status: PROBLEMS.limit.status, fields: [...fields, ...wait, ...about], body };
    },
    noteHold: (heldMs) => noteHold({ counter, nowMs: 0 }, heldMs),
  };
}

function toRuleLimit(counter: Counter, limit: Limit): RuleLimit {
  const kind: LimitKind = {
    limit,
    from: "rule",
    isQuota: limit.algorithm === "quota",
    isPermit: limit.algorithm === "concurrency",
    mayDelay: false,
    isEnlarged: false,
    isHeld: false,
    isInBytes: false,
    warnAt: undefined,
    texts: undefined,
  };
  return { counter, kind, label: undefined, namedLines: undefined };
}
