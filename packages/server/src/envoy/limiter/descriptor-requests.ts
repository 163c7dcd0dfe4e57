// What a request asks about each of its descriptors: whether it is charged, peeked at or refunded, and whether its
// limit is enforced, in shadow mode, or one of several of which any is enough.

import type { Verdict } from "sluice";
import type { EnvoyRule } from "../match/descriptor-tree.js";

/** The request about one descriptor. */
export interface DescriptorRequest {
  /** Undefined if no rule limits it. */
  readonly rule: EnvoyRule | undefined;
  readonly key: string;
  /** 0 if the counter is only peeked at. */
  readonly hits: number;
  /** Whether the descriptor itself has the hits: they have been spent already, whatever the decision. */
  readonly isSpent: boolean;
  /** Whether the hits are refunded. */
  readonly isRefund: boolean;
  /** Whether it never refuses the request. */
  readonly shadow: boolean;
  /** Whether it is one of several of which one that passes is enough. */
  readonly isQuota: boolean;
}

/** Verdicts in the order of the requests; undefined where nothing was counted. */
export type Verdicts = readonly (Verdict | undefined)[];

/** A descriptor without a limit. */
export const NOTHING: DescriptorRequest = {
  rule: undefined,
  key: "",
  hits: 0,
  isSpent: false,
  isRefund: false,
  shadow: false,
  isQuota: false,
};

/** Whether it needs nothing but one decision with all others like it, or no decision. */
export function isSimple(request: DescriptorRequest): boolean {
  if (request.rule === undefined || request.rule.kind === "unlimited") return true;
  return isCharged(request) && !request.isQuota;
}

/** Whether it has a counter. */
export function isCounted({ rule }: DescriptorRequest): boolean {
  return rule?.counter !== undefined;
}

/** Whether its hits are charged. */
export function isCharged(request: DescriptorRequest): boolean {
  return isCounted(request) && request.hits > 0 && !request.isRefund;
}

/** Whether its hits are charged and have been spent already. */
export function isChargedAsSpent(request: DescriptorRequest): boolean {
  return request.isSpent && isCharged(request);
}

/** Whether its counter is only peeked at. */
export function isPeeked(request: DescriptorRequest): boolean {
  return isCounted(request) && request.hits === 0;
}

/** Whether its hits are refunded. */
export function isRefunded(request: DescriptorRequest): boolean {
  return isCounted(request) && request.hits > 0 && request.isRefund;
}

/** Whether it never passes. */
export function isNever({ rule }: DescriptorRequest): boolean {
  return rule?.kind === "never";
}

/** Whether a refusal of this one refuses the request. */
export function isEnforced({ rule, shadow, isQuota }: DescriptorRequest): boolean {
  return rule !== undefined && !shadow && !isQuota;
}

/** Whether the request is refused if this one and all others like it are refused. */
export function isAnyOf({ shadow, isQuota }: DescriptorRequest): boolean {
  return isQuota && !shadow;
}

/** Whether an enforced one is refused. */
export function isAnyRefused(requests: readonly DescriptorRequest[], verdicts: Verdicts): boolean {
  return requests.some((request, i) => isEnforced(request) && verdicts[i]?.allowed === false);
}

/** Whether there are some of which one is enough, and none passes. Those in shadow mode or without a limit pass. */
export function isNoneOf(requests: readonly DescriptorRequest[], verdicts: Verdicts): boolean {
  const isPassed = (request: DescriptorRequest, i: number) =>
    request.isQuota && (request.shadow || verdicts[i]?.allowed !== false);
  return requests.some(isAnyOf) && !requests.some(isPassed);
}

/** Replaces descriptors whose limit another limit of the request replaces by `nothing`. */
export function withoutReplaced(
  requests: readonly DescriptorRequest[],
  nothing: DescriptorRequest,
): readonly DescriptorRequest[] {
  if (!requests.some(({ rule }) => rule !== undefined && rule.replaces.length > 0)) return requests;
  const replaced = new Set(requests.flatMap(({ rule }) => rule?.replaces ?? []));
  const isReplaced = ({ rule }: DescriptorRequest) =>
    rule !== undefined && rule.kind !== "unlimited" && replaced.has(rule.current.name);
  return requests.map((request) => (isReplaced(request) ? nothing : request));
}
