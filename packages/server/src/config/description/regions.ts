// Describes the section on regions: their names, where their counters are, and which of them is home.

import { mapOf, optional, required, section, withDefault } from "./fields.js";
import { duration, fraction, oneOf, whole } from "./shapes.js";
import { redisUrl, text } from "./strings.js";

const WEIGHT_MAX = 1_000;

const storeSection = section({
  url: required(redisUrl(), "The address of the region's Redis: a server or database of its own."),
  weight: withDefault(
    whole({ min: 1, max: WEIGHT_MAX }),
    1,
    "The region's part of limits with across: split, and of the reserve of those with across: leased, in proportion to the other weights.",
  ),
});

/** Regions. */
export const regionsSection = section({
  self: required(regionName(), "The region of this service, one of stores."),
  home: required(
    regionName(),
    "The region whose store decides rules with across: central and leases budget to others with across: leased, one of stores.",
  ),
  stores: required(mapOf(storeSection), "The Redis of each region, by its name."),
  shares: withDefault(
    oneOf(["weights", "learned"]),
    "weights",
    "How limits with across: split are shared: by weights, or learned, where shares start by weight and follow the demand of each region.",
  ),
  leaseMs: withDefault(
    duration({ min: 1_000, max: 60_000 }),
    5_000,
    "How long a region may hold what it leased from the home region, for rules with across: leased.",
  ),
  reserve: withDefault(
    fraction({ min: 0, max: 0.9 }),
    0,
    "The part of limits with across: leased that stays with the regions, for when the home region refuses or can't be reached.",
  ),
  standby: optional(
    regionName(),
    "The region that takes over when the home region is lost, one of stores. Both are then fenced by an epoch. Default: none.",
  ),
  takeover: withDefault(
    oneOf(["manual", "automatic"]),
    "manual",
    "Who decides that the home region is lost: an operator (`sluice regions promote`), or the nodes that have the PostgreSQL of the control plane.",
  ),
  permissionMs: withDefault(
    duration({ min: 1_000, max: 600_000 }),
    15_000,
    "How long the home region may decide after its permission was last renewed, if there is a standby. Nodes renew it about five times in that span.",
  ),
  promotionWaitMs: withDefault(
    duration({ min: 0, max: 86_400_000 }),
    60_000,
    "Limits that recover within this time refuse all requests after a promotion until they have recovered, so that they are not exceeded; others start full.",
  ),
});

function regionName() {
  return text({ what: "the name of a region, one of stores", pattern: /^[A-Za-z0-9][\w-]{0,63}$/ });
}
