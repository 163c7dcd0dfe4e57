import { describe, expect, it } from "vitest";
import { judge, requestToExplain } from "./judged.js";
import type { ExplainedRule, Explanation } from "./words.js";

const limit = (wouldPass: boolean, retryAfterMs: number | null = 0) => ({
  algorithm: "tokenBucket",
  limit: 10,
  remaining: wouldPass ? 5 : 0,
  resetMs: 100,
  cost: 1,
  wouldPass,
  retryAfterMs,
  delayMs: 0,
});

const ruleWith = (fields: object): ExplainedRule =>
  ({
    rule: "api",
    isMatch: true,
    conditions: [],
    notApplied: null,
    onExceed: "reject",
    keyType: "tenant",
    key: "tenant:acme",
    blockedMs: 0,
    limits: [limit(true)],
    ...fields,
  }) as unknown as ExplainedRule;

const BY_ADDRESS = ruleWith({
  rule: "everything",
  keyType: "ip",
  key: null,
  notApplied: "refused",
  limits: [],
});
const API = [{ on: "path", wanted: "/api/*, /v2/*", isMet: false }];

const explanationOf = (rules: readonly ExplainedRule[], fields: object = {}): Explanation =>
  ({ allowed: false, reason: "identity", rule: "everything", rules, ...fields }) as Explanation;

describe("a caller that was looked up by its tenant", () => {
  //  rules that match beside one that counts by address    allowed    rule
  it.each([
    [[ruleWith({})], true, null],
    [[ruleWith({ limits: [limit(false, 70)] })], false, "api"],
    [[ruleWith({ blockedMs: 500 })], false, "api"],
    [[ruleWith({ onExceed: "shadow", limits: [limit(false)] })], true, null],
  ] as const)("is judged by the rules that count it (%#)", (rules, allowed, rule) => {
    const { explanation, leftOut } = judge(explanationOf([BY_ADDRESS, ...rules]));
    expect(explanation).toMatchObject({ allowed, rule });
    expect(leftOut).toEqual([BY_ADDRESS]);
  });

  it("is not judged if no rule that matches counts it", () => {
    const other = ruleWith({ isMatch: false, conditions: API });
    expect(judge(explanationOf([BY_ADDRESS, other])).explanation).toBeUndefined();
  });

  it("is refused by the service's own reason otherwise", () => {
    const explanation = explanationOf([ruleWith({})], { reason: "blocked" });
    expect(judge(explanation)).toEqual({ explanation, leftOut: [] });
  });

  it("is explained by a request that is counted", () => {
    const elsewhere = ruleWith({ isMatch: false, conditions: API });
    const asked = { method: undefined, path: "/api/*" };
    expect(requestToExplain([BY_ADDRESS, elsewhere], "")).toEqual(asked);
    expect(requestToExplain([BY_ADDRESS, ruleWith({})], "")).toBeUndefined();
    expect(requestToExplain([ruleWith({ rule: "all" }), elsewhere], "api")).toEqual(asked);
  });
});
