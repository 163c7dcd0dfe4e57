// Notices that a home region is lost, where an arbiter decides: this process can't reach home, and no process has extended
// home's permission for as long as it lasts. Only durations of this process's clock are compared, counted from when the
// arbiter's answer came.

import type { Clock } from "../../../base/clock.js";
import type { ArbitersHome, HomeArbiter, HomeEpoch } from "./home-arbiter.js";
import { type HomeRecords, type SeenRecord, withinTime } from "./home-records.js";

/** What it needs. */
export interface LostHomeSetup {
  readonly records: HomeRecords;
  readonly arbiter: HomeArbiter | undefined;
  readonly clock: Clock;
  readonly permissionMs: number;
  readonly timeoutMs: number;
}

/** Clocks may run at rates that differ by this much of a permission. */
const DRIFT = 1.01;

/** Watches the renewals of a home region that can't be reached. */
export class LostHome {
  readonly #setup: LostHomeSetup;
  #watched: (ArbitersHome & { readonly sinceMs: number }) | undefined;

  constructor(setup: LostHomeSetup) {
    this.#setup = setup;
  }

  /**
   * Asks the arbiter to make the other region home, if home's permission has run out.
   *
   * @returns Whether it did: then nothing can have permission under the epoch before.
   */
  async takeOver(
    { epoch, home }: HomeEpoch,
    row: ArbitersHome,
    away: SeenRecord | undefined,
  ): Promise<boolean> {
    const { arbiter, records, clock, permissionMs, timeoutMs } = this.#setup;
    if (arbiter === undefined || row.epoch !== epoch || row.home !== home) return false;
    const nowMs = clock.now();
    const watched = this.#watched;
    if (watched?.epoch !== epoch || watched.renewals !== row.renewals) {
      this.#watched = { ...row, sinceMs: nowMs };
      return false;
    }
    if (nowMs - watched.sinceMs < permissionMs * DRIFT || away?.record === undefined) return false;
    // The standby's store has promised a process that could not ask the arbiter not to become home until then.
    if (away.record.notBeforeMs > away.nowMs) return false;
    const promotion = { epoch, renewals: row.renewals, to: records.otherThan(home) };
    const promoted = await withinTime(() => arbiter.promote(promotion), { clock, timeoutMs });
    return promoted === true;
  }
}
