// What a request asks about each of its descriptors, and of which kind that is: counted, only looked at, given
// back; enforced, in the shadow, or one of several of which any is enough.

import type { Verdict } from "sluice";
import type { EnvoyRule } from "./rules.js";

/** What is asked about one descriptor. */
export interface Ask {
  /** Undefined: nothing limits it. */
  readonly rule: EnvoyRule | undefined;
  readonly key: string;
  /** 0: only looked at. */
  readonly hits: number;
  /** Whether the descriptor itself says its hits: what was spent, and not what is wanted. */
  readonly isSpent: boolean;
  /** Whether the hits are given back. */
  readonly isRefund: boolean;
  /** Whether it never refuses the request. */
  readonly shadow: boolean;
  /** Whether it is one of those of which any that passes is enough. */
  readonly isQuota: boolean;
}

/** Verdicts in the order of the asks; undefined where nothing was counted. */
export type Verdicts = readonly (Verdict | undefined)[];

/** A descriptor that nothing limits. */
export const NOTHING: Ask = {
  rule: undefined,
  key: "",
  hits: 0,
  isSpent: false,
  isRefund: false,
  shadow: false,
  isQuota: false,
};

/** Counted in one decision, in which each that is enforced must pass; or not counted at all. */
export function isPlain(ask: Ask): boolean {
  if (ask.rule === undefined || ask.rule.kind === "unlimited") return true;
  return isTaken(ask) && !ask.isQuota;
}

/** Whether it has a counter. */
export function isCounted({ rule }: Ask): boolean {
  return rule?.counter !== undefined;
}

/** Whether its hits are charged. */
export function isTaken(ask: Ask): boolean {
  return isCounted(ask) && ask.hits > 0 && !ask.isRefund;
}

/** Whether its hits are charged, and were spent before they were asked about. */
export function isTakenAsSpent(ask: Ask): boolean {
  return ask.isSpent && isTaken(ask);
}

/** Whether it only asks how its counter stands. */
export function isLookedAt(ask: Ask): boolean {
  return isCounted(ask) && ask.hits === 0;
}

/** Whether its hits are given back. */
export function isRefunded(ask: Ask): boolean {
  return isCounted(ask) && ask.hits > 0 && ask.isRefund;
}

/** Whether nothing passes it. */
export function isNever({ rule }: Ask): boolean {
  return rule?.kind === "never";
}

/** Whether a refusal of this one refuses the request. */
export function isEnforced({ rule, shadow, isQuota }: Ask): boolean {
  return rule !== undefined && !shadow && !isQuota;
}

/** Whether a refusal of this one and of all others like it refuses the request. */
export function isAnyOf({ shadow, isQuota }: Ask): boolean {
  return isQuota && !shadow;
}

/** Whether one that is enforced is refused. */
export function isAnyRefused(asks: readonly Ask[], verdicts: Verdicts): boolean {
  return asks.some((ask, i) => isEnforced(ask) && verdicts[i]?.allowed === false);
}

/** Whether there are some of which any is enough, and none passes. Those in the shadow and without a limit pass. */
export function isNoneOf(asks: readonly Ask[], verdicts: Verdicts): boolean {
  const isPassed = (ask: Ask, i: number) =>
    ask.isQuota && (ask.shadow || verdicts[i]?.allowed !== false);
  return asks.some(isAnyOf) && !asks.some(isPassed);
}

/** Limits that another one of the request replaces don't apply: `nothing` is asked instead. */
export function withoutReplaced(asks: readonly Ask[], nothing: Ask): readonly Ask[] {
  if (!asks.some(({ rule }) => rule !== undefined && rule.replaces.length > 0)) return asks;
  const replaced = new Set(asks.flatMap(({ rule }) => rule?.replaces ?? []));
  const isReplaced = ({ rule }: Ask) =>
    rule !== undefined && rule.kind !== "unlimited" && replaced.has(rule.current.name);
  return asks.map((ask) => (isReplaced(ask) ? nothing : ask));
}
