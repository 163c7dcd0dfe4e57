// The shares that rules with `across: split` learn, where the regions are configured so.

import type { Clock } from "../../../base/clock.js";
import { SluiceError } from "../../../base/errors.js";
import { BorrowedStore } from "../../../stores/forwarding-store.js";
import { toGuarded } from "../../../stores/guarded.js";
import type { RecordStore } from "../../../stores/record-store.js";
import type { Regions } from "../../../stores/regions/regions.js";
import { LearnedShares } from "../../../stores/regions/split/learned-split.js";
import { partsByWeight } from "../../../stores/regions/split/share-parts.js";
import type { Store } from "../../../stores/store.js";

/** What shares are learned with. */
export interface LearnedSharesParts {
  /** The region's own store, guarded. */
  readonly own: Store;
  /** The store of the home region as configured, which may be the same. */
  readonly home: Store;
  readonly regions: Regions | undefined;
  readonly clock: Clock;
}

/**
 * Makes the shares of all rules.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if a store keeps no records.
 */
export function makeLearnedShares({
  own,
  home,
  regions,
  clock,
}: LearnedSharesParts): LearnedShares {
  if (regions === undefined) throw new Error("there are no regions");
  const { self, weights } = regions;
  const guarded = new BorrowedStore(toGuarded(home, { clock }));
  return new LearnedShares({
    self,
    weights,
    byWeight: partsByWeight(weights),
    clock,
    own,
    records: recordsOf(own, self),
    plans: recordsOf(guarded, regions.home),
  });
}

function recordsOf({ records }: Store, region: string): RecordStore {
  if (records !== undefined) return records;
  const seen = `regions: shares: learned needs a store of the region ${region} that keeps records`;
  throw new SluiceError("SLUICE_OPTION_INVALID", `${seen}, such as redisStore(…)`);
}
