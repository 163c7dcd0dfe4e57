// Decisions as JSON. The strings are joined by hand: each value is a number, a word of a fixed list or the id of a rule,
// none of which JSON has to escape.

import type { Decision } from "sluice";
import type { PolicyDecision, RuleResult } from "sluice/rules";
import type { JsonSchema } from "sluice/shapes";
import { bindingOf, DecisionJsonWriter, numberFieldsOf } from "./decision-json-writer.js";

// Two writers, because answers under limits and under rules alternate.
const answers = new DecisionJsonWriter();
const policyAnswers = new DecisionJsonWriter();

/** A decision under a limit. `id`: of the hold. Only a block has a reason; otherwise it is the limit. */
export function toDecisionJson(decision: Decision, id?: string): string {
  if (id !== undefined) return `{${numberFieldsOf(decision)},"id":"${id}"}`;
  const reason = decision.blockedMs === undefined ? undefined : "blocked";
  return answers.of(decision, undefined, reason);
}

/** A decision under rules. */
export function toPolicyDecisionJson(
  decision: PolicyDecision,
  { hasResults, id }: { readonly hasResults: boolean; readonly id?: string | undefined },
): string {
  const { rule, reason } = decision;
  if (id === undefined && !hasResults) return policyAnswers.of(decision, rule, reason);
  let text = `{${numberFieldsOf(decision)}${bindingOf(rule, reason)}`;
  if (id !== undefined) text += `,"id":"${id}"`;
  if (hasResults) text += `,"results":[${decision.results.map(toResult).join(",")}]`;
  return `${text}}`;
}

function toResult({ rule, keyType, algorithm, cost, shadow, verdict }: RuleResult): string {
  // A key type may name a header or an attribute, which can be any string.
  const named = `"rule":"${rule}","keyType":${JSON.stringify(keyType)},"algorithm":"${algorithm}"`;
  return `{${named},"cost":${cost},"shadow":${shadow},${numberFieldsOf(verdict)}}`;
}

const units: JsonSchema = { type: ["integer", "null"], minimum: 0 };
const ms: JsonSchema = { type: ["integer", "null"], minimum: 0 };

const numbers = {
  allowed: { type: "boolean" },
  limit: { ...units, description: "Units when nothing is in use; null if no rule matched." },
  remaining: { ...units, description: "Whole units left." },
  retryAfterMs: { ...ms, description: "Until this cost would pass; null if it never can." },
  resetMs: { ...ms, description: "Until the full quota is back." },
  delayMs: { type: "integer", minimum: 0, description: "How long to wait before going on." },
  source: { enum: ["memory", "store", "lease", "deny-cache", "fallback"] },
} as const;
const numberNames = Object.keys(numbers);

const result: JsonSchema = {
  type: "object",
  properties: {
    rule: { type: "string" },
    keyType: { type: "string" },
    algorithm: { type: "string" },
    cost: { type: "integer", minimum: 0 },
    shadow: { type: "boolean" },
    ...numbers,
  },
  required: ["rule", "keyType", "algorithm", "cost", "shadow", ...numberNames],
  additionalProperties: false,
};

/** The schema of an answer. */
export const answerSchema: JsonSchema = {
  type: "object",
  description: "Allowed and refused alike: a refusal is an answer, not an error.",
  properties: {
    ...numbers,
    rule: { type: "string", description: "The rule that bound." },
    reason: {
      enum: [
        "limit",
        "blocked",
        "identity",
        "store",
        "denied",
        "unknown-api-key",
        "unchecked-api-key",
      ],
      description:
        "Why it was refused; blocked: an operator blocked the key or the caller; denied: an operator's switch denies it.",
    },
    id: { type: "string", description: "The id of the hold; only if the request was allowed." },
    results: { type: "array", items: result, description: "What each rule said, if asked for." },
  },
  required: numberNames,
  additionalProperties: false,
};
