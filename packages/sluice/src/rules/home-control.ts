// What an operator does with a home region that has a standby: see which region is home, and promote another.

import { type Clock, systemClock } from "../base/clock.js";
import { SluiceError } from "../base/errors.js";
import {
  type HomeStats,
  hasStandby,
  openHomeRegion,
} from "../stores/regions/fenced/home-region.js";
import type { PromoteOptions, Promotion } from "../stores/regions/fenced/promote.js";
import { type RegionsOptions, toRegions } from "../stores/regions/regions.js";

/** Looks at a home region and promotes its standby. */
export interface HomeControl {
  /** Asks the stores of both regions who is home. Undefined if neither says. */
  show(): Promise<HomeStats | undefined>;
  /** What was last known, without asking. */
  readonly stats: HomeStats | undefined;
  /**
   * Makes a region home: the home region or its standby. The old home is fenced first; if its store can't be reached,
   * the promotion is refused, unless an arbiter decides or the operator says that it is stopped.
   */
  promote(to: string, options?: PromoteOptions): Promise<Promotion>;
  /** The stores stay open. */
  close(): void;
}

/**
 * The home region of these regions, for an operator.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if they have no standby, or a store can't be fenced.
 */
export function homeControl(regions: RegionsOptions, options: { clock?: Clock } = {}): HomeControl {
  const read = toRegions(regions);
  if (!hasStandby(read)) {
    throw new SluiceError("SLUICE_OPTION_INVALID", "homeControl: regions.standby is missing");
  }
  const home = openHomeRegion(read, options.clock ?? systemClock);
  return {
    show: async () => {
      await home.check();
      return home.stats;
    },
    get stats() {
      return home.stats;
    },
    promote: (to, how) => home.promote(to, how),
    close: () => home.close(),
  };
}
