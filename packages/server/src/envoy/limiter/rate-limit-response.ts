// Verdicts as a response for Envoy: a status for each descriptor, the code of all of them, and Retry-After.

import type { Verdict } from "sluice";
import type { LimitHeaderNames } from "../../config/config.js";
import type { LimitVerdict } from "../../telemetry/reported.js";
import type { EnvoyRule } from "../match/descriptor-tree.js";
import {
  CODE,
  type DescriptorStatus,
  type EnvoyHeader,
  type RateLimitResponse,
  UINT32_MAX,
} from "../messages.js";
import {
  type DescriptorRequest,
  isAnyOf,
  isEnforced,
  type Verdicts,
} from "./descriptor-requests.js";
import { findTightest, toLimitHeaders } from "./limit-headers.js";

/** The status of a descriptor that nothing limits. */
export const NO_LIMIT: DescriptorStatus = {
  code: CODE.ok,
  currentLimit: undefined,
  remaining: 0,
  resetSeconds: undefined,
};
const UNLIMITED: DescriptorStatus = { ...NO_LIMIT, remaining: UINT32_MAX };
const NO_HEADERS: readonly EnvoyHeader[] = [];

/** The verdict of a limit that nothing passes. */
export const NEVER: Verdict = {
  allowed: false,
  limit: 0,
  remaining: 0,
  retryAfterMs: Number.POSITIVE_INFINITY,
  resetMs: 0,
  delayMs: 0,
  source: "memory",
};

/** What answers carry besides codes and statuses. */
export interface ResponseStyle {
  /** Names of headers for the client; undefined: none but `retry-after`. */
  readonly responseHeaders: LimitHeaderNames | undefined;
  /** Names of headers for the upstream; undefined: none. */
  readonly requestHeaders: LimitHeaderNames | undefined;
  readonly dynamicMetadata: boolean;
}

/** What was decided. `verdicts` are in the order of `requests`; undefined where nothing was counted. */
export interface Decided {
  readonly requests: readonly DescriptorRequest[];
  readonly verdicts: Verdicts;
  readonly isRefused: boolean;
  readonly nowMs: number;
}

/** The response to a request. */
export function toResponse(decided: Decided, style: ResponseStyle): RateLimitResponse {
  const { requests, verdicts, isRefused, nowMs } = decided;
  if (isRefused && requests.length === 1) return toRefusal(requests[0], verdicts[0], nowMs, style);
  const statuses = requests.map((request, i) => toStatus(request, verdicts[i], nowMs));
  const response = isRefused
    ? toOverLimit(statuses, toWaitMs(requests, verdicts))
    : { overallCode: CODE.ok, statuses, responseHeaders: NO_HEADERS };
  return withLimitHeaders(response, requests, style);
}

function withLimitHeaders(
  response: RateLimitResponse,
  requests: readonly DescriptorRequest[],
  { responseHeaders: names, requestHeaders: upstreamNames }: ResponseStyle,
): RateLimitResponse {
  if (names === undefined && upstreamNames === undefined) return response;
  const { statuses, responseHeaders } = response;
  const tightest = findTightest(requests, statuses);
  if (tightest === undefined) return response;
  const own = names === undefined ? [] : toLimitHeaders(names, tightest);
  return {
    ...response,
    responseHeaders: [...responseHeaders, ...own],
    ...(upstreamNames === undefined
      ? {}
      : { requestHeaders: toLimitHeaders(upstreamNames, tightest) }),
  };
}

/** The last refusal of a rule to a request of one descriptor. */
interface Refusal {
  readonly remaining: number;
  readonly resetSeconds: number | undefined;
  readonly waitMs: number;
  readonly response: RateLimitResponse;
}

const refusals = new WeakMap<EnvoyRule, Refusal>();

/**
 * The refusal of a request of one descriptor. All that are refused under one limit within a second get the same
 * object: a flood is answered with a response that is already made and encoded.
 */
function toRefusal(
  request: DescriptorRequest,
  verdict: Verdict | undefined,
  nowMs: number,
  style: ResponseStyle,
): RateLimitResponse {
  const { rule } = request;
  const status = toStatus(request, verdict, nowMs);
  const { remaining, resetSeconds } = status;
  const waitMs = toWholeSeconds(toWaitMs([request], [verdict]));
  const last = rule === undefined ? undefined : refusals.get(rule);
  const isSame =
    last?.remaining === remaining && last.resetSeconds === resetSeconds && last.waitMs === waitMs;
  if (isSame) return last.response;
  const response = withLimitHeaders(toOverLimit([status], waitMs), [request], style);
  if (rule !== undefined) refusals.set(rule, { remaining, resetSeconds, waitMs, response });
  return response;
}

function toOverLimit(statuses: readonly DescriptorStatus[], waitMs: number): RateLimitResponse {
  return { overallCode: CODE.overLimit, statuses, responseHeaders: toRetryAfter(waitMs) };
}

/** A decision for metrics. */
export function toLimitVerdicts(
  requests: readonly DescriptorRequest[],
  verdicts: Verdicts,
): readonly LimitVerdict[] {
  const limitVerdicts: LimitVerdict[] = [];
  for (let i = 0; i < requests.length; i++) {
    const { rule, key, hits, shadow } = requests[i];
    const verdict = verdicts[i];
    if (rule === undefined || verdict === undefined) continue;
    const { label, keyType } = rule;
    limitVerdicts.push({ rule: label, keyType, key, cost: hits, shadow, verdict });
  }
  return limitVerdicts;
}

function toStatus(
  { rule }: DescriptorRequest,
  verdict: Verdict | undefined,
  nowMs: number,
): DescriptorStatus {
  if (rule === undefined) return NO_LIMIT;
  if (rule.kind === "unlimited" || verdict === undefined) return UNLIMITED;
  return {
    code: verdict.allowed || rule.shadow ? CODE.ok : CODE.overLimit,
    currentLimit: rule.current,
    remaining: Math.min(verdict.remaining, UINT32_MAX),
    resetSeconds: toResetSeconds(rule.unitMs, verdict.resetMs, nowMs),
  };
}

/** The end of the unit, by the store's clock where it said so; of other limits, until all is back. */
function toResetSeconds(unitMs: number, resetMs: number, nowMs: number): number {
  const untilMs = resetMs > 0 || unitMs === 0 ? resetMs : unitMs - (nowMs % unitMs);
  return Math.ceil(untilMs / 1_000);
}

/** When it would pass: the longest wait of those that all must pass, else the shortest of the others. */
function toWaitMs(requests: readonly DescriptorRequest[], verdicts: Verdicts): number {
  let longestMs = 0;
  let shortestMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < requests.length; i++) {
    const verdict = verdicts[i];
    if (verdict === undefined || verdict.allowed) continue;
    if (isEnforced(requests[i])) longestMs = Math.max(longestMs, verdict.retryAfterMs);
    else if (isAnyOf(requests[i])) shortestMs = Math.min(shortestMs, verdict.retryAfterMs);
  }
  return longestMs > 0 ? longestMs : shortestMs;
}

/** The header that says when to come back; none if there is no such time. */
export function toRetryAfter(waitMs: number): readonly EnvoyHeader[] {
  if (!Number.isFinite(waitMs)) return NO_HEADERS;
  return [{ key: "retry-after", value: String(toWholeSeconds(waitMs) / 1_000) }];
}

/** Rounded up to whole seconds, at least one. */
function toWholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000)) * 1_000;
}
