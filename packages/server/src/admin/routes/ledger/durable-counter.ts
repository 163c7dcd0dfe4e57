// The quota that a tenant has under a durable rule today, by the rules in force: its own, that of an exception for it or
// its plan, that of its tier, or that of the rule. It opens the account of a tenant that has used nothing yet; if the
// quota is another one by then, the first request adjusts it.

import type { Counter, Limit } from "sluice";
import { limitOfTenant, type Rule, type RuleSet, type TenantProfile } from "sluice/rules";

/** Whose quota is meant. */
export interface DurableCounterOptions {
  /** The id of a rule. */
  readonly meter: string;
  readonly tenant: string;
  /** What is known of the tenant. */
  readonly profile: TenantProfile | undefined;
  readonly nowMs: number;
}

/** The counter of a tenant under a rule; undefined if the rule is not durable, or does not count by tenant alone. */
export function findDurableCounter(
  { rules }: RuleSet,
  { meter, tenant, profile, nowMs }: DurableCounterOptions,
): Counter | undefined {
  const rule = rules.find(({ id }) => id === meter);
  if (rule?.durable === undefined || !isByTenant(rule)) return undefined;
  const limits =
    rule.overrides.get(`tenant:${tenant}`) ??
    exceptionOf(rule, { by: "tenant", value: tenant, nowMs }) ??
    exceptionOf(rule, { by: "plan", value: profile?.plan, nowMs }) ??
    (profile?.tier === undefined ? undefined : rule.tiers.get(profile.tier)) ??
    rule.limits;
  const [shared] = limits;
  const limit = shared && profile ? limitOfTenant(shared, profile) : shared;
  const { durable } = rule;
  return limit?.algorithm === "quota" ? { scope: rule.id, part: 0, limit, durable } : undefined;
}

function isByTenant({ key }: Rule): boolean {
  return key.length === 1 && key[0]?.kind === "tenant";
}

function exceptionOf(
  { exceptions }: Rule,
  {
    by,
    value,
    nowMs,
  }: {
    readonly by: "tenant" | "plan";
    readonly value: string | undefined;
    readonly nowMs: number;
  },
): readonly Limit[] | undefined {
  if (value === undefined) return undefined;
  const found = exceptions?.get(by)?.get(value);
  return found?.find(({ endsAtMs }) => endsAtMs > nowMs)?.limits;
}
