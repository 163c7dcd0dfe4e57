// The answer to GET /v1/limits: what callers need to know about the rules in force.

import type { Limit } from "sluice";
import { describeKey, type Policy, type Rule } from "sluice/rules";
import type { JsonSchema } from "sluice/shapes";
import { numbersOf } from "../../base/limit-numbers.js";

/** Lists the rules of a policy; the JSON is kept until they change. */
export class LimitsList {
  readonly #policy: Policy;
  #version = "";
  #text = "";

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  /** The rules as JSON. */
  get text(): string {
    const { rules } = this.#policy;
    if (rules.version !== this.#version) {
      const { version, isEnabled } = rules;
      this.#text = JSON.stringify({ version, isEnabled, rules: rules.rules.map(toTold) });
      this.#version = version;
    }
    return this.#text;
  }
}

function toTold(rule: Rule) {
  const { id, isEnabled, match, key, limits, tiers, onExceed, consistency, durable } = rule;
  const { paths, methods, hosts } = match;
  return {
    id,
    isEnabled,
    match: { paths, methods, hosts },
    key: describeKey(key),
    limits: limits.map(toToldLimit),
    tiers: Object.fromEntries([...tiers].map(([tier, own]) => [tier, own.map(toToldLimit)])),
    onExceed,
    consistency,
    isDurable: durable !== undefined,
  };
}

function toToldLimit(limit: Limit): Record<string, unknown> {
  return { algorithm: limit.algorithm, ...numbersOf(limit) };
}

const limitList: JsonSchema = {
  type: "array",
  items: {
    type: "object",
    properties: { algorithm: { type: "string" } },
    required: ["algorithm"],
  },
};

const texts: JsonSchema = { type: "array", items: { type: "string" } };

/** The schema of the list. */
export const limitsSchema: JsonSchema = {
  type: "object",
  properties: {
    version: { type: "string", description: "Changes with what the rules say." },
    isEnabled: { type: "boolean" },
    rules: {
      type: "array",
      items: {
        type: "object",
        properties: {
          id: { type: "string" },
          isEnabled: { type: "boolean" },
          match: {
            type: "object",
            properties: { paths: texts, methods: texts, hosts: texts },
            required: ["paths", "methods", "hosts"],
            additionalProperties: false,
          },
          key: { type: "string", description: "What is counted: `ip`, `tenant|user`." },
          limits: limitList,
          tiers: { type: "object", additionalProperties: limitList },
          onExceed: { enum: ["reject", "delay", "shadow", "challenge"] },
          consistency: { enum: ["strict", "leased", "eventual", "local"] },
          isDurable: { type: "boolean", description: "Whether its quotas are kept in a ledger." },
        },
        required: [
          "id",
          "isEnabled",
          "match",
          "key",
          "limits",
          "tiers",
          "onExceed",
          "consistency",
          "isDurable",
        ],
        additionalProperties: false,
      },
    },
  },
  required: ["version", "isEnabled", "rules"],
  additionalProperties: false,
};
