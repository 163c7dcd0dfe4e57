// A rule as one region counts it: with `across: split`, under the region's share of each limit. Everything else of the
// rule is the same in all regions.

import { SluiceError } from "../../../base/errors.js";
import type { Limit } from "../../../limits/limits.js";
import { shareOfLimit, shareUnits } from "../../../stores/regions/region-shares.js";
import type { Regions } from "../../../stores/regions/regions.js";
import { allLimitsOf, type ExceptionLimits, type Rule, type RuleExceptions } from "../../rule.js";
import type { Lanes } from "./lanes.js";

/** The rule with the limits that this region counts. Where shares are learned, its store finds them for each request. */
export function ruleInRegion(
  rule: Rule,
  { regions, learnsShares }: Pick<Lanes, "regions" | "learnsShares">,
): Rule {
  if (rule.across !== "split" || regions === undefined || learnsShares) return rule;
  // Most exceptions share their list with others.
  const known = new Map<readonly Limit[], readonly Limit[]>();
  const toShares = (limits: readonly Limit[]) => {
    const shares =
      known.get(limits) ??
      limits.map((limit) => shareOfLimit(limit, regions.weights, regions.self));
    known.set(limits, shares);
    return shares;
  };
  const each = (lists: ReadonlyMap<string, readonly Limit[]>) =>
    new Map([...lists].map(([name, limits]) => [name, toShares(limits)]));
  const { limits, tiers, overrides, exceptions } = rule;
  return {
    ...rule,
    limits: toShares(limits),
    tiers: each(tiers),
    overrides: each(overrides),
    ...(exceptions === undefined ? {} : { exceptions: toSharedExceptions(exceptions, toShares) }),
  };
}

function toSharedExceptions(
  exceptions: RuleExceptions,
  toShares: (limits: readonly Limit[]) => readonly Limit[],
): RuleExceptions {
  const toShared = ({ limits, endsAtMs }: ExceptionLimits) => ({
    limits: toShares(limits),
    endsAtMs,
  });
  return new Map(
    [...exceptions].map(([by, byValue]) => [
      by,
      new Map([...byValue].map(([value, list]) => [value, list.map(toShared)])),
    ]),
  );
}

/** Why the regions can't keep a rule, in words; undefined if they can. */
export function whyNotInRegions(rule: Rule, regions: Regions | undefined): string | undefined {
  if (rule.across === undefined) return undefined;
  if (regions === undefined) return `across: ${rule.across} ${NEEDS_REGIONS}`;
  if (rule.across === "merged") return whyNotMergedIn(regions);
  if (rule.across !== "split") return undefined;
  for (const limit of new Set(allLimitsOf(rule))) {
    const why = whyNotShared(limit, rule, regions);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Counts are exchanged with every region, so each has to have a store. */
function whyNotMergedIn({ stores, weights }: Regions): string | undefined {
  const missing = [...weights.keys()].find((name) => !stores.has(name));
  if (missing === undefined) return undefined;
  return `across: merged needs a store for every region, and ${missing} has none; add it to regions.stores`;
}

const NEEDS_REGIONS =
  "needs regions: set regions in the configuration (in code: regions of createPolicy), or remove across from the rule";

/** Looks at every region, so that all of them refuse the same rules. */
function whyNotShared(limit: Limit, rule: Rule, { weights }: Regions): string | undefined {
  const { cost, shards } = rule;
  const isCounted = cost.kind === "constant" && limit.algorithm !== "concurrency";
  const needed = shards * (isCounted ? Math.max(1, cost.units) : 1);
  for (const [region, units] of shareUnits(limit.capacity, weights)) {
    const whole = `across: split leaves the region ${region} ${units} of the ${limit.capacity} units of a ${limit.algorithm}`;
    if (units < needed) return `${whole}, which needs at least ${needed}; use across: central`;
    try {
      shareOfLimit(limit, weights, region);
    } catch (error) {
      if (error instanceof SluiceError) return `${whole}: ${error.message}`;
      throw error;
    }
  }
  return undefined;
}
