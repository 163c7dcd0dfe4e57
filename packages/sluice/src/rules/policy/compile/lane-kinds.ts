// The kinds of lanes, and the order in which a request passes them.

import type { Consistency } from "../../rule.js";

/** Where a rule is decided: in the policy's store by its consistency, in that of the home region, or in the durable store. */
export type LaneKind = Consistency | SplitKind | RegionKind | HomeKind | MergedKind | DurableKind;
/** With `across: split`, where shares are learned. */
export type SplitKind = "split leased" | "split strict";
/** With `across: leased`. */
export type RegionKind = "region leased" | "region strict";
/** With `across: central`, outside the home region. */
export type HomeKind = "home leased" | "home strict";
/** With `across: merged`. */
export type MergedKind = "merged leased" | "merged strict";
/** Durable rules. */
export type DurableKind = "durable leased" | "durable strict";

/** The cheapest first. */
export const ORDER: Readonly<Record<LaneKind, number>> = {
  local: 0,
  eventual: 1,
  leased: 2,
  "split leased": 2.2,
  "merged leased": 2.4,
  "merged strict": 2.7,
  "region leased": 2.8,
  strict: 3,
  "split strict": 3.05,
  "region strict": 3.1,
  "home leased": 3.2,
  "home strict": 3.4,
  "durable leased": 4,
  "durable strict": 5,
};
