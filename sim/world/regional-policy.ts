// What decides in a process where callers appear in several regions: the library's policy, with a store in each region and
// a rule that says how regions agree.

import type { Limit } from "sluice";
import { createPolicy, homeControl } from "sluice/rules";
import type { NodeClock } from "../kernel/node-clock.js";
import { type Decider, type NodeOptions, toGuarded } from "./node.js";
import type { RemoteStore } from "./remote-store.js";

/** How regions agree; as in a rule, and `split` once more with shares that are learned. */
export const ACROSS = ["each", "central", "split", "learned", "leased", "merged"] as const;
export type Across = (typeof ACROSS)[number];

/** What a process knows of regions. */
export interface RegionalOptions extends NodeOptions {
  readonly across: Across;
  /** The names of regions; the first is home. */
  readonly regions: readonly string[];
  /** Limits of a second rule on every caller, which the home region decides, whatever `across` is; none: there is one rule. */
  readonly homeLimits: readonly Limit[];
  /** The region that takes over when the home region is lost; undefined: none does. */
  readonly standby?: string;
}

/** The stores that a process reaches. */
export interface RegionalStores {
  readonly self: string;
  /** That of its own region, which is among the others. */
  readonly own: RemoteStore;
  /** By region: at least its own, and that of the home region. */
  readonly all: ReadonlyMap<string, RemoteStore>;
}

/** A policy with one rule by caller. */
export function toRegionalPolicy(
  clock: NodeClock,
  { self, all }: RegionalStores,
  options: RegionalOptions,
): Decider {
  const { across, consistency, leaseMs, regions, nodes, syncMs } = options;
  const stores = [...all].map(([name, remote]) => [name, toGuarded(clock, remote, options)]);
  const standby = options.standby === undefined ? {} : { standby: options.standby };
  const known = {
    self,
    home: regions[0],
    stores: Object.fromEntries(stores),
    weights: Object.fromEntries(regions.map((name) => [name, 1])),
    shares: across === "learned" ? ("learned" as const) : ("weights" as const),
    ...standby,
  };
  const policy = createPolicy({
    rules: {
      version: 1,
      rules: [
        {
          id: "sim",
          key: "user",
          limit: options.limits.map(toRuleLimit),
          consistency,
          across: across === "learned" ? "split" : across,
        },
        ...toHomeRules(options.homeLimits),
      ],
    },
    regions: known,
    clock,
    leased: { leaseMs },
    merged: { syncMs, nodes: Math.max(1, Math.round(nodes / regions.length)) },
  });
  return {
    check: (user) => policy.admit({ method: "GET", path: "/", user }),
    close: () => policy.close(),
    counted: async (user) => {
      const { results } = await policy.peek({ method: "GET", path: "/", user });
      return results.map(({ verdict }) => verdict.limit - verdict.remaining);
    },
    promote: async (region) => {
      const control = homeControl(known, { clock });
      await control.promote(region, { isOldHomeStopped: true });
      control.close();
    },
    lagsMs: () =>
      (policy.stats.merged ?? []).flatMap(({ peers }) =>
        peers.map(({ region, lagMs }) => [region, lagMs] as const),
      ),
  };
}

function toHomeRules(limits: readonly Limit[]): readonly object[] {
  if (limits.length === 0) return [];
  return [{ id: "home", key: "user", limit: limits.map(toRuleLimit), across: "central" }];
}

/** A limit as rules write it. */
function toRuleLimit(limit: Limit): object {
  switch (limit.algorithm) {
    case "tokenBucket":
      return { tokenBucket: { capacity: limit.capacity, refill: limit.refill } };
    case "fixedWindow":
      return { fixedWindow: { limit: limit.capacity, windowMs: limit.windowMs } };
    default:
      throw new RangeError(
        `regions are simulated with buckets and windows, not ${limit.algorithm}`,
      );
  }
}
