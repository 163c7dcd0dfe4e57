// A home region with a standby, put together from the stores of both: the store that rules ask, what keeps it home, and
// what an operator does with it.

import type { Clock } from "../../../base/clock.js";
import { SluiceError } from "../../../base/errors.js";
import { drop } from "../../../base/maybe-promise.js";
import type { FenceStore } from "../../fence-store.js";
import { toGuarded } from "../../guarded.js";
import { resilient } from "../../resilient/resilient.js";
import type { Store } from "../../store.js";
import type { Regions, Standby } from "../regions.js";
import { FencedHomeStore } from "./fenced-home.js";
import { type HomeInForce, HomeKeeper, type HomeKeeperSetup } from "./home-keeper.js";
import { HomeRecords } from "./home-records.js";
import { type PromoteOptions, type Promotion, promoteRegion } from "./promote.js";

/** Clocks of stores may run at rates that differ a little while leases run out. */
const DRAIN_MARGIN_MS = 1_000;
/** How long a store may take to say what its record is. */
const TIMEOUT_MS_MAX = 1_000;
const TIMEOUTS_PER_PERMISSION = 3;

/** Figures of a home region, as one process knows them. */
export interface HomeStats extends HomeInForce {
  /** Whether two regions claim the same epoch. */
  readonly isContested: boolean;
  /** Calls of this process that a store refused because it was not home under their epoch. */
  readonly fenceRefusals: number;
}

/** Regions of which one is home and another its standby. */
export type RegionsWithStandby = Regions & { readonly standby: Standby };

/** Whether a policy's regions have a standby. */
export function hasStandby(regions: Regions | undefined): regions is RegionsWithStandby {
  return regions?.standby !== undefined;
}

/** A home region with a standby. Made by {@link openHomeRegion}. */
export class HomeRegion {
  readonly store: FencedHomeStore;
  #users = 1;
  readonly #regions: RegionsWithStandby;
  readonly #keeper: HomeKeeper;
  readonly #fences: ReadonlyMap<string, FenceStore>;
  readonly #timing: HomeKeeperSetup;

  /** @throws SluiceError `SLUICE_OPTION_INVALID` if a store can't be fenced. */
  constructor(regions: RegionsWithStandby, clock: Clock) {
    const { home, standby } = regions;
    this.#regions = regions;
    this.#fences = fencesOf(regions);
    const fences = this.#fences;
    const timeoutMs = Math.min(
      TIMEOUT_MS_MAX,
      Math.floor(standby.permissionMs / TIMEOUTS_PER_PERMISSION),
    );
    const records = new HomeRecords({ home, standby: standby.name, fences, clock, timeoutMs });
    const { permissionMs, takeover, arbiter } = standby;
    const drainMs = regions.leaseMs + DRAIN_MARGIN_MS;
    this.#timing = { records, clock, takeover, arbiter, permissionMs, drainMs, timeoutMs };
    this.#keeper = new HomeKeeper(this.#timing);
    const stores = new Map(
      [home, standby.name].map((name) => [name, guarded(regions, name, clock)]),
    );
    const { promotionWaitMs } = standby;
    this.store = new FencedHomeStore({ keeper: this.#keeper, stores, home, promotionWaitMs });
    drop(this.check());
  }

  /** The region that is home now, as far as is known. */
  get home(): string {
    return this.#keeper.current?.home ?? this.#regions.home;
  }

  /** Undefined until the stores of both regions were looked at. */
  get stats(): HomeStats | undefined {
    const current = this.#keeper.current;
    if (current === undefined) return undefined;
    let fenceRefusals = 0;
    for (const { refusals } of this.#fences.values()) fenceRefusals += refusals;
    return { ...current, isContested: this.#keeper.isContested, fenceRefusals };
  }

  /** Whether it belongs to a process in the same region, with the same stores and clock. */
  isFor({ self, home, standby, stores }: RegionsWithStandby, clock: Clock): boolean {
    const own = this.#regions;
    const isSame = (name: string) => own.stores.get(name) === stores.get(name);
    const isSameProcess = own.self === self && this.#timing.clock === clock;
    return this.isOpen && isSameProcess && isSame(home) && isSame(standby.name);
  }

  get isOpen(): boolean {
    return this.#users > 0;
  }

  /** Another one uses it. */
  share(): this {
    this.#users++;
    return this;
  }

  /** Stops keeping home, once no policy uses it any more. The stores are their owners' to close. */
  close(): void {
    if (--this.#users === 0) this.#keeper.close();
  }

  /** Looks at the stores now. */
  check(): Promise<void> {
    return this.#keeper.check();
  }

  /** Makes a region home, by an operator's command. Never rejects. */
  async promote(to: string, options?: PromoteOptions): Promise<Promotion> {
    const { home, standby } = this.#regions;
    if (to !== home && to !== standby.name) {
      const why = `${JSON.stringify(to)} can't be home: only ${home} and ${standby.name} can`;
      return { isPromoted: false, why };
    }
    const knownEpoch = this.#keeper.current?.epoch ?? 1;
    const promotion = await promoteRegion(this.#timing, { to, knownEpoch }, options);
    await this.check();
    return promotion;
  }
}

const open = new WeakMap<Store, HomeRegion[]>();

/**
 * The home region of these regions: one for all policies of a process, which is closed as often as it was opened.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if a store can't be fenced.
 */
export function openHomeRegion(regions: RegionsWithStandby, clock: Clock): HomeRegion {
  const store = regions.stores.get(regions.home) as Store;
  const all = open.get(store) ?? [];
  const known = all.find((each) => each.isFor(regions, clock));
  if (known !== undefined) return known.share();
  const made = new HomeRegion(regions, clock);
  open.set(store, [...all.filter((each) => each.isOpen), made]);
  return made;
}

function fencesOf({ home, standby, stores }: RegionsWithStandby): ReadonlyMap<string, FenceStore> {
  return new Map(
    [home, standby.name].map((name) => {
      const fence = stores.get(name)?.fence;
      if (fence !== undefined) return [name, fence];
      const seen = `regions: the store of ${name} can't be fenced, which regions.standby needs`;
      const fix = "use redisStore(…) over a single server or Sentinel, not over a Cluster";
      throw new SluiceError("SLUICE_OPTION_INVALID", `${seen}; ${fix}`);
    }),
  );
}

/** Refusals of a store that is not home are answered by `onStoreFailure`, also of one in this process. */
function guarded({ stores }: Regions, name: string, clock: Clock): Store {
  const store = stores.get(name) as Store;
  if (store.isGuarded === true) return store;
  return store.isRemote === true ? toGuarded(store, { clock }) : resilient(store, { clock });
}
