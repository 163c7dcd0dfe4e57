// The promotion of a region by an operator: the old home region is fenced first, then the new one is made home under the
// next epoch. A promotion that stops in between leaves no region home, and is completed by any process that keeps home.

import type { MaybePromise } from "../../../base/maybe-promise.js";
import type { HomeRecord } from "../../fence-store.js";
import type { HomeEpoch } from "./home-arbiter.js";
import type { HomeKeeperSetup } from "./home-keeper.js";
import {
  awayRecord,
  type HomeRecords,
  isTaken,
  latestOf,
  type SeenRecord,
  withinTime,
} from "./home-records.js";

/** How a region is promoted. */
export interface PromoteOptions {
  /**
   * Says that the old home region's store is stopped, or that no process can reach it, if it can't be fenced and no
   * arbiter decides. If that is not true, both regions decide for a while.
   */
  readonly isOldHomeStopped?: boolean;
}

/** What came of a promotion. */
export type Promotion =
  | {
      readonly isPromoted: true;
      readonly epoch: number;
      readonly home: string;
      /** Whether the fence was written into the old home region's store. If not, its permission has to run out. */
      readonly isOldHomeFenced: boolean;
      /** How long until the new home region decides. */
      readonly opensInMs: number;
    }
  | { readonly isPromoted: false; readonly why: string };

/** Attempts to write a record that others change at the same time. */
const TRIES_MAX = 5;

/** Which region becomes home. */
export interface PromotionAsk {
  readonly to: string;
  /** The latest epoch that this process has seen: both stores may have lost theirs. */
  readonly knownEpoch: number;
}

/** Promotes a region. Never rejects. */
export async function promoteRegion(
  setup: HomeKeeperSetup,
  { to, knownEpoch }: PromotionAsk,
  { isOldHomeStopped = false }: PromoteOptions = {},
): Promise<Promotion> {
  const { records, takeover, permissionMs, drainMs } = setup;
  const old = records.otherThan(to);
  const both = await records.readBoth();
  const whyNot = whyNotNow(both, to);
  if (whyNot !== undefined) return refused(whyNot);
  const isReached = both.get(old) !== undefined;
  if (!isReached && takeover === "manual" && !isOldHomeStopped) {
    return refused(
      `the store of ${old} can't be reached, so it can't be fenced: stop it, then promote with --old-home-stopped`,
    );
  }
  const epochs = [...both.values()].map((seen) => seen?.record?.epoch ?? 0);
  const before = Math.max(knownEpoch, ...epochs);
  const epoch = await nextEpoch(setup, before, to);
  if (typeof epoch === "string") return refused(epoch);
  const latest = { epoch, home: to };
  const isOldHomeFenced = await writeRecord(records, old, latest, (seen) =>
    awayRecord(latest, seen.record?.notBeforeMs),
  );
  if (isReached && isOldHomeFenced === undefined && !isOldHomeStopped && takeover === "manual") {
    return refused(
      `the store of ${old} stopped answering before it was fenced, or another promotion came first; run sluice regions show`,
    );
  }
  const heldMs = isOldHomeFenced === undefined ? permissionMs : 0;
  let opensInMs = 0;
  const written = await writeRecord(records, to, latest, async ({ nowMs, record }) => {
    // After the store was read, so that its permission does not last longer than the arbiter knows.
    if (!(await mayDecide(setup, latest))) return undefined;
    const fromMs = Math.max(nowMs + heldMs, record?.notBeforeMs ?? 0) + drainMs;
    opensInMs = fromMs - nowMs;
    return { ...latest, fromMs, untilMs: nowMs + permissionMs, notBeforeMs: 0 };
  });
  if (written === undefined) {
    return refused(
      `the store of ${to} stopped answering, or another promotion came first; run sluice regions show`,
    );
  }
  return { isPromoted: true, ...latest, isOldHomeFenced: isOldHomeFenced !== undefined, opensInMs };
}

function refused(why: string): Promotion {
  return { isPromoted: false, why };
}

function whyNotNow(both: ReadonlyMap<string, SeenRecord | undefined>, to: string) {
  const target = both.get(to);
  if (target === undefined) return `the store of ${to} can't be reached`;
  const latest = latestOf([...both.values()].map((seen) => seen?.record));
  if (latest === undefined || latest === "contested" || latest.home !== to) return undefined;
  if (target.record?.epoch !== latest.epoch || target.nowMs >= target.record.untilMs)
    return undefined;
  return `${to} is home already, under epoch ${latest.epoch}`;
}

/** The epoch of the promotion, as the arbiter grants it; or why it does not. */
async function nextEpoch(
  { takeover, arbiter, clock, timeoutMs }: HomeKeeperSetup,
  before: number,
  to: string,
): Promise<number | string> {
  if (takeover === "manual") return before + 1;
  if (arbiter === undefined) {
    return "this node has no PostgreSQL to arbitrate; promote on one that has";
  }
  const promoted = await withinTime(
    async () => {
      const row = await arbiter.read({ epoch: before, home: to });
      // The stores may know a later epoch than a database that was restored.
      if (row.epoch < before) await arbiter.renew({ epoch: before, home: row.home });
      const epoch = Math.max(before, row.epoch);
      return (await arbiter.promote({ epoch, to })) ? epoch + 1 : "another promotion came first";
    },
    { clock, timeoutMs },
  );
  return promoted ?? "the database that arbitrates does not answer";
}

async function mayDecide(
  { arbiter, clock, timeoutMs }: HomeKeeperSetup,
  latest: HomeEpoch,
): Promise<boolean> {
  if (arbiter === undefined) return true;
  return (await withinTime(() => arbiter.renew(latest), { clock, timeoutMs })) === true;
}

/** Writes a record of an epoch, unless {@link isTaken}. Undefined if it could not be written. */
async function writeRecord(
  records: HomeRecords,
  region: string,
  latest: HomeEpoch,
  toRecord: (seen: SeenRecord) => MaybePromise<HomeRecord | undefined>,
): Promise<SeenRecord | undefined> {
  for (let i = 0; i < TRIES_MAX; i++) {
    const seen = await records.read(region);
    if (seen === undefined || isTaken(seen, latest)) return undefined;
    const record = await toRecord(seen);
    const written = record && (await records.write(seen, record));
    if (written !== undefined) return written;
  }
  return undefined;
}
