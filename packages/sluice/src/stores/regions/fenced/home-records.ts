// The records of the two regions that may be home, read and compared. The record with the latest epoch says which region
// is home; what the other one has written says whether it can still decide.

import { type Clock, startTimer, toWholeMs } from "../../../base/clock.js";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import { type FenceStore, type HomeRecord, readRecord, toRecordText } from "../../fence-store.js";
import type { HomeEpoch } from "./home-arbiter.js";

/** The record of one region, as it was read. */
export interface SeenRecord {
  readonly region: string;
  /** The time by the store's clock. */
  readonly nowMs: number;
  readonly text: string;
  readonly record: HomeRecord | undefined;
  /** When the answer came, by the clock of this process. */
  readonly receivedAtMs: number;
}

/** Which regions may be home, and their stores. */
export interface HomeRecordsSetup {
  readonly home: string;
  readonly standby: string;
  readonly fences: ReadonlyMap<string, FenceStore>;
  readonly clock: Clock;
  /** How long a store may take to answer. */
  readonly timeoutMs: number;
}

/** Reads and changes the records of both regions. */
export class HomeRecords {
  readonly #setup: HomeRecordsSetup;

  constructor(setup: HomeRecordsSetup) {
    this.#setup = setup;
  }

  /** The names of both: the configured home first. */
  get regions(): readonly [string, string] {
    return [this.#setup.home, this.#setup.standby];
  }

  /** The region that is not `region`. */
  otherThan(region: string): string {
    const { home, standby } = this.#setup;
    return region === home ? standby : home;
  }

  /** What both stores say; undefined of one that does not answer. Never rejects. */
  async readBoth(): Promise<ReadonlyMap<string, SeenRecord | undefined>> {
    const all = this.regions.map(async (region) => [region, await this.read(region)] as const);
    return new Map(await Promise.all(all));
  }

  /** What a store says; undefined if it does not answer in time. Never rejects. */
  async read(region: string): Promise<SeenRecord | undefined> {
    const nowMs = this.#nowMs();
    const answer = await this.#inTime(() => this.#fenceOf(region).read(nowMs));
    return answer && this.#toSeen(region, answer);
  }

  /** Writes a record in place of what was read. Returns it as it is now; undefined if it was not written. */
  async write(seen: SeenRecord, record: HomeRecord): Promise<SeenRecord | undefined> {
    const { region, text: expected } = seen;
    const swap = { expected, next: toRecordText(record), nowMs: this.#nowMs() };
    const answer = await this.#inTime(() => this.#fenceOf(region).swap(swap));
    return answer?.isSwapped ? this.#toSeen(region, answer) : undefined;
  }

  #toSeen(region: string, { nowMs, text }: { nowMs: number; text: string }): SeenRecord {
    const receivedAtMs = this.#setup.clock.now();
    return { region, nowMs, text, record: readRecord(text), receivedAtMs };
  }

  #fenceOf(region: string): FenceStore {
    return this.#setup.fences.get(region) as FenceStore;
  }

  #nowMs(): number {
    return toWholeMs(this.#setup.clock.now());
  }

  async #inTime<T>(call: () => MaybePromise<T>): Promise<T | undefined> {
    const { clock, timeoutMs } = this.#setup;
    return withinTime(call, { clock, timeoutMs });
  }
}

/** What a call returns; undefined if it fails, or takes longer. */
export async function withinTime<T>(
  call: () => MaybePromise<T>,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<T | undefined> {
  let stop = () => {};
  const late = new Promise<undefined>((resolve) => {
    stop = startTimer(clock, timeoutMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([call(), late]);
  } catch {
    return undefined;
  } finally {
    stop();
  }
}

/** A record of a store that is not home. */
export function awayRecord({ epoch, home }: HomeEpoch, notBeforeMs = 0): HomeRecord {
  return { epoch, home, fromMs: 0, untilMs: 0, notBeforeMs };
}

/** Whether another promotion came first: the record is of a later epoch, or says that the other region has this one. */
export function isTaken({ record }: SeenRecord, { epoch, home }: HomeEpoch): boolean {
  if (record === undefined || record.epoch < epoch) return false;
  return record.epoch > epoch || record.home !== home;
}

/** The latest epoch; undefined if none is known, `"contested"` if two regions have it. */
export function latestOf(
  all: readonly (HomeEpoch | undefined)[],
): HomeEpoch | "contested" | undefined {
  let latest: HomeEpoch | undefined;
  for (const each of all) {
    if (each !== undefined && (latest === undefined || each.epoch > latest.epoch)) latest = each;
  }
  const isContested = all.some(
    (each) => each !== undefined && each.epoch === latest?.epoch && each.home !== latest.home,
  );
  return isContested ? "contested" : latest;
}
