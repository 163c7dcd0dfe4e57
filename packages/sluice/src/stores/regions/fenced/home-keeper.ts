// Knows which region is home, and keeps it home: reads the records of both candidates every second, extends home's
// permission to decide, writes the fence into a store that has not heard of a later epoch, and completes promotions that
// were begun. Every process does all of it; each change is a compare-and-swap, so they can't disturb each other.

import { type CancelTimer, type Clock, startTimer } from "../../../base/clock.js";
import { drop, type MaybePromise } from "../../../base/maybe-promise.js";
import type { HomeArbiter, HomeEpoch } from "./home-arbiter.js";
import {
  awayRecord,
  type HomeRecords,
  isTaken,
  latestOf,
  type SeenRecord,
  withinTime,
} from "./home-records.js";
import { LostHome } from "./lost-home.js";

/** How a home region is lost and replaced. */
export type Takeover = "manual" | "automatic";

/** What a keeper needs. */
export interface HomeKeeperSetup {
  readonly records: HomeRecords;
  readonly clock: Clock;
  readonly takeover: Takeover;
  /** Undefined where an operator decides, and in processes that can't reach the arbiter. */
  readonly arbiter: HomeArbiter | undefined;
  /** How long home may decide after it was last renewed. */
  readonly permissionMs: number;
  /** Until everything that was leased under an epoch is spent or expired, counted from the end of home's permission. */
  readonly drainMs: number;
  readonly timeoutMs: number;
}

/** The home region in force, as this process knows it. */
export interface HomeInForce extends HomeEpoch {
  /** Whether the home region's store said that it decides, when it was last asked. */
  readonly isOpen: boolean;
  /** How long it has been home, at least; below zero until it is. */
  readonly ageMs: number;
}

/** How often home is looked at, and its permission extended at the latest, as parts of the permission. */
const CHECKS_PER_PERMISSION = 5;
const CHECK_MS_MAX = 1_000;
/** A request that home refused makes the next look come sooner, but not more often. */
const CHECK_MS_MIN = 100;

/** Keeps a home region. */
export class HomeKeeper {
  readonly #setup: HomeKeeperSetup;
  readonly #lost: LostHome;
  /** The latest epoch that was ever seen: it never goes back. */
  #known: HomeEpoch | undefined;
  /** The record of the home region, as it was last read or written. */
  #seen: SeenRecord | undefined;
  #isContested = false;
  #checking: Promise<void> | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #hasChecked = false;
  #stopTimer: CancelTimer | undefined;
  #isClosed = false;

  constructor(setup: HomeKeeperSetup) {
    this.#setup = setup;
    this.#lost = new LostHome(setup);
  }

  /** What is known now; undefined if nothing is. */
  get current(): HomeInForce | undefined {
    if (this.#known === undefined) return undefined;
    const { epoch, home } = this.#known;
    const seen = this.#seen;
    const record = seen?.record;
    if (seen === undefined || record?.epoch !== epoch || record.untilMs === 0) {
      return { epoch, home, isOpen: false, ageMs: Number.NEGATIVE_INFINITY };
    }
    // From when the answer came, which is later than when it was given: so it is never too old.
    const nowMs = seen.nowMs + this.#setup.clock.now() - seen.receivedAtMs;
    const isOpen = nowMs >= record.fromMs && nowMs < record.untilMs;
    return { epoch, home, isOpen, ageMs: nowMs - record.fromMs };
  }

  /** Whether two regions claim the same epoch: neither is home until an operator promotes one. */
  get isContested(): boolean {
    return this.#isContested;
  }

  /** What is known, after the first look. */
  inForce(): MaybePromise<HomeInForce | undefined> {
    if (this.#hasChecked) return this.current;
    return this.check().then(() => this.current);
  }

  /** Looks now. Looks that are asked for together are one. Never rejects. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  /** Looks soon: a store refused what this process asked of it. */
  checkSoon(): void {
    if (this.#setup.clock.now() - this.#checkedAtMs >= CHECK_MS_MIN) drop(this.check());
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer?.();
  }

  async #check(): Promise<void> {
    this.#stopTimer?.();
    this.#checkedAtMs = this.#setup.clock.now();
    try {
      await this.#round();
    } finally {
      this.#hasChecked = true;
      if (!this.#isClosed) this.#startTimer();
    }
  }

  #startTimer(): void {
    const { clock, permissionMs } = this.#setup;
    const everyMs = Math.min(CHECK_MS_MAX, Math.floor(permissionMs / CHECKS_PER_PERMISSION));
    this.#stopTimer = startTimer(clock, everyMs, () => drop(this.check()));
  }

  async #round(): Promise<void> {
    const { records } = this.#setup;
    const both = await records.readBoth();
    const row = await this.#readArbiter(both);
    const seen = [...both.values()].map((each) => each?.record);
    const latest = latestOf([this.#known, ...seen, row]);
    this.#isContested = latest === "contested";
    if (latest === "contested") return;
    const isNew = [...both.values()].every((each) => each?.text === "");
    if (latest === undefined || (isNew && latest.epoch === 1)) return this.#begin(both, latest);
    this.#known = latest;
    const home = both.get(latest.home);
    const away = both.get(records.otherThan(latest.home));
    this.#seen = home;
    const isFenced = await this.#fence(away, latest, isLive(home, latest));
    if (home === undefined) {
      if (row !== undefined && (await this.#lost.takeOver(latest, row, away))) {
        await this.#takeHome(records.otherThan(latest.home), latest.epoch + 1);
      }
      return;
    }
    if (isLive(home, latest)) await this.#renew(home, latest);
    else await this.#establish(home, latest, isFenced);
  }

  async #readArbiter(both: ReadonlyMap<string, SeenRecord | undefined>) {
    const { arbiter, records, clock, timeoutMs } = this.#setup;
    if (arbiter === undefined) return undefined;
    const known = latestOf([this.#known, ...[...both.values()].map((each) => each?.record)]);
    const isKnown = known !== undefined && known !== "contested";
    const initial = isKnown ? known : { epoch: 1, home: records.regions[0] };
    return withinTime(() => arbiter.read(initial), { clock, timeoutMs });
  }

  /** The first epoch, if both stores say that there is none. Where an arbiter decides, it says which region is home. */
  async #begin(
    both: ReadonlyMap<string, SeenRecord | undefined>,
    arbitrated: HomeEpoch | undefined,
  ): Promise<void> {
    const { records, takeover } = this.#setup;
    const isNew = [...both.values()].every((each) => each?.text === "");
    if (!isNew || (takeover === "automatic" && arbitrated === undefined)) return;
    const first = arbitrated ?? { epoch: 1, home: records.regions[0] };
    const home = both.get(first.home);
    if (home !== undefined && (await this.#mayDecide(first))) {
      await this.#write(home, first, home.nowMs);
    }
  }

  /**
   * Writes into the other store that it is not home. Returns whether that is known to be so. A store without a record
   * gets one only while home is: if neither has one that is valid, it is not known who should be.
   */
  async #fence(
    away: SeenRecord | undefined,
    latest: HomeEpoch,
    isHomeLive: boolean,
  ): Promise<boolean> {
    if (away === undefined) return false;
    const { record } = away;
    if (record?.epoch === latest.epoch) return true;
    if (record === undefined && !isHomeLive) return false;
    const fenced = awayRecord(latest, record?.notBeforeMs ?? this.#lostPromiseMs(away));
    return (await this.#setup.records.write(away, fenced)) !== undefined;
  }

  /** Until when a store without a record may have promised not to become home: it may have lost the promise with the record. */
  #lostPromiseMs({ nowMs }: SeenRecord): number {
    const { takeover, permissionMs } = this.#setup;
    return takeover === "automatic" ? nowMs + permissionMs : 0;
  }

  /** Extends home's permission, counted from when its store was read: whatever takes long makes it shorter. */
  async #renew(home: SeenRecord, latest: HomeEpoch): Promise<void> {
    const { permissionMs } = this.#setup;
    const { record, nowMs } = home;
    if (record === undefined) return;
    const untilMs = nowMs + permissionMs;
    const isDue = untilMs - record.untilMs >= permissionMs / CHECKS_PER_PERMISSION;
    if (!isDue || !(await this.#mayDecide(latest))) return;
    const written = await this.#setup.records.write(home, { ...record, untilMs });
    if (written !== undefined) this.#seen = written;
  }

  /** Makes a store home whose record is missing, of an earlier epoch, or has ended. */
  async #establish(home: SeenRecord, latest: HomeEpoch, isFenced: boolean): Promise<void> {
    if (this.#setup.takeover === "manual" && !isFenced) return;
    if (!isOf(home, latest)) return this.#takeHome(home.region, latest.epoch, !isFenced);
    // It was home all the time: nothing can have been leased elsewhere.
    if (await this.#mayDecide(latest)) await this.#write(home, latest, home.record?.fromMs ?? 0);
  }

  /**
   * Makes a store home that was not. It starts when everything is over that was leased before.
   *
   * @param mayBeHeld - Whether the other store may still have permission: it can't be reached, and was not fenced.
   */
  async #takeHome(region: string, epoch: number, mayBeHeld = false): Promise<void> {
    const { records, permissionMs, drainMs } = this.#setup;
    // Read again, because what is waited for counts from now.
    const seen = await records.read(region);
    const next = { epoch, home: region };
    if (seen === undefined || isTaken(seen, next)) return;
    const notBeforeMs = seen.record?.notBeforeMs ?? 0;
    const endMs = Math.max(seen.nowMs + (mayBeHeld ? permissionMs : 0), notBeforeMs);
    if (await this.#mayDecide(next)) await this.#write(seen, next, endMs + drainMs);
  }

  async #write(seen: SeenRecord, { epoch, home }: HomeEpoch, fromMs: number): Promise<void> {
    const { records, permissionMs } = this.#setup;
    // From when it was read, also if it starts later: it is renewed until then.
    const untilMs = seen.nowMs + permissionMs;
    const record = { epoch, home, fromMs, untilMs, notBeforeMs: 0 };
    const written = await records.write(seen, record);
    if (written === undefined) return;
    this.#known = { epoch, home };
    this.#seen = written;
  }

  /**
   * Whether home's permission may be extended. An operator who promotes writes the fence; an arbiter is asked. If that
   * does not answer, the standby's store may promise instead that it does not become home for as long.
   */
  async #mayDecide(latest: HomeEpoch): Promise<boolean> {
    const { takeover, arbiter, records, clock, permissionMs, timeoutMs } = this.#setup;
    if (takeover === "manual") return true;
    const renewed =
      arbiter && (await withinTime(() => arbiter.renew(latest), { clock, timeoutMs }));
    if (renewed !== undefined) return renewed;
    const away = await records.read(records.otherThan(latest.home));
    if (away?.record === undefined || !isOf(away, latest)) return false;
    const notBeforeMs = Math.max(away.record.notBeforeMs, away.nowMs + permissionMs);
    return (await records.write(away, { ...away.record, notBeforeMs })) !== undefined;
  }
}

/** Whether a record is of this epoch. */
function isOf({ record }: SeenRecord, { epoch, home }: HomeEpoch): boolean {
  return record?.epoch === epoch && record.home === home;
}

/** Whether a store has permission to decide under this epoch, or will have it soon. */
function isLive(seen: SeenRecord | undefined, latest: HomeEpoch): boolean {
  if (seen === undefined || seen.region !== latest.home || !isOf(seen, latest)) return false;
  return seen.nowMs < (seen.record?.untilMs ?? 0);
}
