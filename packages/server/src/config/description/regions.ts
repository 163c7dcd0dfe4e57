// Describes the section on regions: their names, where their counters are, and which of them is home.

import { mapOf, required, section, withDefault } from "./fields.js";
import { duration, fraction, whole } from "./shapes.js";
import { redisUrl, text } from "./strings.js";

const WEIGHT_MAX = 1_000;

const storeSection = section({
  url: required(redisUrl(), "The address of the region's Redis."),
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
});

function regionName() {
  return text({ what: "the name of a region, one of stores", pattern: /^[A-Za-z0-9][\w-]{0,63}$/ });
}
