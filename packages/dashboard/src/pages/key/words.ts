// What an explanation says, in sentences.

import type { ReplyOf } from "sluice-server/api";
import { algorithmName } from "../../ui/formats/algorithm-name.js";
import { formatCount, formatDuration } from "../../ui/formats/format.js";

/** Why a request would be answered as it would. */
export type Explanation = ReplyOf<"explain">;
/** One rule of it. */
export type ExplainedRule = Explanation["rules"][number];
/** One limit of a rule. */
export type ExplainedLimit = ExplainedRule["limits"][number];

/** Why the request is refused and what to do about it; undefined if it is not. */
export function refusalOf({
  allowed,
  reason,
  rule,
  retryAfterMs,
  block,
  ...rest
}: Explanation): { readonly why: string; readonly what: string } | undefined {
  if (allowed) return undefined;
  const wait = retryAfterMs === null ? "Waiting does not help." : passesIn(retryAfterMs);
  switch (reason) {
    case "limit":
      return {
        why: `Rule ${rule} has nothing left for it.`,
        what: `${wait} To let it pass now, refund units, reset its counter, or override its limits.`,
      };
    case "blocked":
      if (block !== null)
        return {
          why: `An operator has blocked ${block.subject ?? "this caller"}: ${block.reason}`,
          what: "Remove the block to let it pass.",
        };
      return { why: `Its key is blocked under rule ${rule}.`, what: "Unblock it to let it pass." };
    case "identity":
      return {
        why: `Rule ${rule} has no key to count this request by.`,
        what: "Send the header, token or field that the rule counts by, or change onMissing of the rule.",
      };
    case "denied":
      return {
        why:
          rest.switch === "deny"
            ? "An operator has switched everything to deny."
            : `An operator has switched rule ${rule} to deny.`,
        what: "Switch it back on the page Rules.",
      };
    case "store":
      return {
        why: "The store does not answer, and the rule refuses while it does not.",
        what: "Look at the store: the page Live shows its state.",
      };
    case "unknown-api-key":
      return {
        why: "The API key is not known, has expired or was revoked.",
        what: "Create a new one on the page Access.",
      };
    default:
      return { why: "Its API key can't be checked now.", what: wait };
  }
}

function passesIn(ms: number): string {
  return ms === 0 ? "It would pass now." : `It would pass in ${formatDuration(ms)}.`;
}

/** Why a rule that matches does not count the request. */
export function notAppliedOf({ notApplied, keyType }: ExplainedRule): string | undefined {
  switch (notApplied) {
    case null:
      return undefined;
    case "disabled":
      return "The rule is switched off.";
    case "exempt-ip":
      return "The address is exempt.";
    case "exempt-key":
      return "The key is exempt.";
    case "missing":
      return `The request has no ${keyType}, so the rule lets it pass.`;
    case "refused":
      return `The request has no ${keyType}, and the rule refuses it without.`;
    case "rollout":
      return "The key is not part of the rollout yet.";
    case "unlimited":
      return "It has no limit under this rule.";
  }
}

/** Whose numbers hold. */
export function sourceOf({ from, exception }: ExplainedRule): string | undefined {
  switch (from) {
    case "override":
      return "The rule has other numbers for this key.";
    case "exception":
      return exception?.by === "plan"
        ? `The numbers are those of the plan ${exception.value}.`
        : `The numbers are those of an override for ${exception?.by} ${exception?.value}.`;
    case "tier":
      return "The numbers are those of its tier.";
    default:
      return undefined;
  }
}

/** What a limit would do with the request. */
export function limitSentence(limit: ExplainedLimit): string {
  const { algorithm, cost, remaining, wouldPass, retryAfterMs, delayMs } = limit;
  const costs = `The request costs ${formatCount(cost)}, with ${formatCount(remaining)} left of the ${algorithmName(algorithm)}`;
  if (wouldPass)
    return delayMs > 0
      ? `${costs}: it would wait ${formatDuration(delayMs)}.`
      : `${costs}: it would pass.`;
  const again =
    retryAfterMs === null ? "it never fits" : `it would pass in ${formatDuration(retryAfterMs)}`;
  return `${costs}: refused, ${again}.`;
}

const CONDITION_NAMES = {
  path: "Path",
  method: "Method",
  host: "Host",
  header: "Header",
  attribute: "Attribute",
  client: "Client",
} as const;

/** What a condition asks for. */
export function conditionName(on: keyof typeof CONDITION_NAMES): string {
  return CONDITION_NAMES[on];
}
