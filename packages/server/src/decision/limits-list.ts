// The answer to GET /v1/limits: the rules in force, as far as callers need them to know what to expect.

import type { Limit } from "sluice";
import type { Dimension, Policy, Rule } from "sluice/rules";
import type { JsonSchema } from "./shape.js";

/** Tells the rules of a policy; the text is kept until they change. */
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
  const { id, isEnabled, match, key, limits, tiers, onExceed, consistency } = rule;
  const { paths, methods, hosts } = match;
  return {
    id,
    isEnabled,
    match: { paths, methods, hosts },
    key: key.map(toKeyText).join("|"),
    limits: limits.map(toNumbers),
    tiers: Object.fromEntries([...tiers].map(([tier, own]) => [tier, own.map(toNumbers)])),
    onExceed,
    consistency,
  };
}

function toKeyText(dimension: Dimension): string {
  if (dimension.kind === "subnet") return `subnet:${dimension.ipv4}/${dimension.ipv6}`;
  return "name" in dimension ? `${dimension.kind}:${dimension.name}` : dimension.kind;
}

/** The numbers that its user wrote, without those that are derived from them. */
function toNumbers(limit: Limit): Record<string, unknown> {
  const { algorithm } = limit;
  switch (algorithm) {
    case "tokenBucket":
      return { algorithm, capacity: limit.capacity, refill: limit.refill };
    case "leakyBucket": {
      const { ratePerSecond, queueSize, mode } = limit;
      return { algorithm, ratePerSecond, queueSize, mode };
    }
    case "fixedWindow":
      return { algorithm, limit: limit.limit, windowMs: limit.windowMs, align: limit.align };
    case "quota":
      return { algorithm, limit: limit.limit, period: limit.period };
    case "concurrency":
      return { algorithm, limit: limit.limit, permitMs: limit.permitMs };
    default:
      return { algorithm, limit: limit.limit, windowMs: limit.windowMs };
  }
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

/** What the list looks like. */
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
          onExceed: { enum: ["reject", "delay", "shadow"] },
          consistency: { enum: ["strict", "leased", "eventual", "local"] },
        },
        required: ["id", "isEnabled", "match", "key", "limits", "tiers", "onExceed", "consistency"],
        additionalProperties: false,
      },
    },
  },
  required: ["version", "isEnabled", "rules"],
  additionalProperties: false,
};
