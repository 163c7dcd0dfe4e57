// The events of a policy: rules that changed, rules that have no effect, stores that did not take
// back what was held. A listener must not be able to break a decision.

import { notify } from "../../base/maybe-promise.js";
import type { RefusalCountsOptions } from "../../stores/escalation/refusal-counts.js";
import { diffRules, type RulesDiff, removedIds } from "../diff.js";
import type { RuleSet, SettleBy } from "../rule.js";
import type { RuleCharge } from "./charges/request-charges.js";
import type { EstimateReason, SettledCost } from "./held-charges/settled-cost.js";
import type { RequestContext } from "./policy-request/policy-request.js";

/** Something that happened to a policy. `kind` says what. */
export type PolicyEvent =
  | RulesReplaced
  | RuleSwitched
  | RuleUseless
  | CostSettled
  | ResponseCounted
  | SettleFailed
  | CallerEscalated
  | EscalateFailed;

/** Other rules are in force. */
export interface RulesReplaced {
  readonly kind: "replaced";
  /** The version of the rules before. */
  readonly from: string;
  /** The version in force now; the same if nothing changed. */
  readonly to: string;
  /** The ids of the rules that are gone, in the order of the old rules. */
  readonly removed: () => readonly string[];
  /** What changed, and what becomes of the counters: compared when asked for, which takes its time. */
  readonly diff: () => RulesDiff;
}

/** An operator switched a rule off, on or to `deny`, or everything if `rule` is undefined. */
export interface RuleSwitched {
  readonly kind: "disabled" | "enabled" | "denied";
  readonly rule: string | undefined;
}

/** The keys of a rule hardly ever come back, so its limit can't be reached: was it given a request id? */
export interface RuleUseless {
  readonly kind: "useless-rule";
  readonly rule: string;
  /** This many keys were watched, an even sample of all that were seen. */
  readonly keysSeen: number;
  /** This many of them came more than once. */
  readonly seenTwice: number;
}

/** A request under a rule with `settle` has ended: what it was charged at first, and what stays. */
export interface CostSettled {
  readonly kind: "settled";
  readonly rule: string;
  readonly by: SettleBy["kind"];
  /** Units that were reserved. */
  readonly reserved: number;
  /** Units that stay charged. */
  readonly settled: number;
  /** Why what was reserved stays; undefined if the real cost is known, or the response does not count. */
  readonly reason: EstimateReason | undefined;
}

/** A response that a rule with `when` counts, such as a failed login. */
export interface ResponseCounted {
  readonly kind: "counted";
  readonly rule: string;
  /** The key as it is counted, `user:42`: hash it before it is logged. */
  readonly key: string;
}

/** What requests held was not settled: it stays charged, and a permit until it expires. */
export interface SettleFailed {
  readonly kind: "settle-failed";
  readonly rules: readonly string[];
  readonly error: unknown;
}

/** A caller that kept being refused by a rule with `escalate` is blocked. */
export interface CallerEscalated {
  readonly kind: "escalated";
  readonly rule: string;
  /** The key as it is counted, `user:42`: hash it before it is logged. */
  readonly key: string;
  /** From 1: how long the block is, by the list of the rule. */
  readonly level: number;
  /** How long it is blocked, in milliseconds from now. */
  readonly blockMs: number;
}

/** The store did not take the refusals of some rules: they are not counted. */
export interface EscalateFailed {
  readonly kind: "escalate-failed";
  readonly rules: readonly string[];
  readonly error: unknown;
}

type OnEvent = ((event: PolicyEvent) => unknown) | undefined;

/** What becomes of refusals under rules with `escalate`, as events. */
export function toEscalationReports(
  emit: (event: PolicyEvent) => void,
): Omit<RefusalCountsOptions, "clock"> {
  return {
    onRaised: ({ scope: rule, key, level, blockMs }) =>
      emit({ kind: "escalated", rule, key, level, blockMs }),
    onFailed: (error, rules) => emit({ kind: "escalate-failed", rules, error }),
  };
}

/** The event of rules that came into force in place of others. */
export function toReplaced(before: RuleSet, after: RuleSet): RulesReplaced {
  return {
    kind: "replaced",
    from: before.version,
    to: after.version,
    removed: () => removedIds(before, after),
    diff: () => diffRules(before, after),
  };
}

/** What requests report to the listener of a policy. */
export function toReports(
  onEvent: OnEvent,
  isClosed: () => boolean,
): Pick<RequestContext, "onSettleFailed" | "onSettled" | "onSampled"> {
  const emit = (event: PolicyEvent) => notify(() => onEvent?.(event));
  return {
    onSettleFailed: (rules, error) => {
      // A store that went with the policy has nothing left to settle.
      if (!isClosed()) emit({ kind: "settle-failed", rules, error });
    },
    onSettled: toSettleReport(onEvent),
    onSampled: ({ definition: rule }, { isUseless, keysSeen, seenTwice }) => {
      if (isUseless) emit({ kind: "useless-rule", rule: rule.id, keysSeen, seenTwice });
    },
  };
}

/** Reports charges that were settled as events, under rules with `settle` or `when`; undefined without a listener. */
function toSettleReport(
  onEvent: OnEvent,
): ((charge: RuleCharge, cost: SettledCost) => void) | undefined {
  if (onEvent === undefined) return undefined;
  return ({ rule: { definition }, key, units: reserved }, { units: settled, reason }) => {
    const { id: rule, settle } = definition;
    if (settle !== undefined) {
      const by = settle.kind;
      notify(() => onEvent({ kind: "settled", rule, by, reserved, settled, reason }));
    } else if (settled > 0) notify(() => onEvent({ kind: "counted", rule, key }));
  };
}
