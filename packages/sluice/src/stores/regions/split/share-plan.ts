// How regions agree on the shares of a rule. The plan is a record in the home region's store with what each region holds at
// most; each region has a record of its own with what it uses. A region lowers its share first, and reports that to the
// plan only when none of its counters holds more. Another region takes what is free in the plan, and uses it only after
// that was written. So shares never add up to more than the whole, whatever is lost or late in between.

import { keptParts, PARTS } from "./share-parts.js";

/** What the plan says of one region. */
export interface PlanEntry {
  /** The most parts that the region may be using. */
  readonly parts: number;
  /** The region's claim under which that was written: an older one changes nothing. */
  readonly claim: number;
  /** Units asked for in five seconds, lately; undefined until that was measured. */
  readonly demand?: number | undefined;
  /** When it was reported, by the home region's clock. */
  readonly atMs: number;
  /** By the region's clock: what it gave up counts nowhere from then on. */
  readonly freeFromMs: number;
}

/** The record in the home region's store. */
export interface SharePlan {
  /** Rises with each change, so that no two plans are the same. */
  readonly version: number;
  readonly regions: Readonly<Record<string, PlanEntry>>;
}

/** The record in a region's own store. */
export interface RegionShare {
  /** Rises whenever a process begins to speak for the region. */
  readonly claim: number;
  /** Until when no other process does, by the region's clock. */
  readonly claimedUntilMs: number;
  /** Rises with each change of the parts, which then have counters of their own. */
  readonly change: number;
  /** The parts that processes use; undefined as long as the plan is not known. */
  readonly parts?: number | undefined;
  /** The plan could not be reached yet: they use the parts that the region never gives up. */
  readonly isProvisional?: boolean | undefined;
  /** Its processes may still use what it had before its data was lost: until then it does not report. */
  readonly quietUntilMs?: number | undefined;
  /** Every region has reported to the plan once: from then on shares move. */
  readonly haveAllReported?: boolean | undefined;
  /** What they used before. Until then the counters of both are charged: those of the new parts are not complete yet. */
  readonly before: number;
  readonly beforeUntilMs: number;
  /** Parts that the plan has for the region, to be used when its clock says so. */
  readonly raise?: { readonly parts: number; readonly fromMs: number } | undefined;
  /** All units asked for when demand was last measured, by the region's clock, and how many in five seconds. */
  readonly asked?: { readonly units: number; readonly atMs: number } | undefined;
  readonly demand?: number | undefined;
}

/** What a region without a record begins with. */
export const NO_SHARE: Omit<RegionShare, "claim" | "claimedUntilMs"> = {
  change: 0,
  before: 0,
  beforeUntilMs: 0,
};

/** What a region knows when it speaks to the plan. */
export interface ShareReport {
  readonly self: string;
  /** The parts of all regions by weight. */
  readonly byWeight: ReadonlyMap<string, number>;
  readonly own: RegionShare;
  /** The time by the region's clock, and by the home region's. */
  readonly ownMs: number;
  readonly homeMs: number;
  /** Whether the process that reports knows that shares may have moved before, whatever the records say now. */
  readonly mayHaveMoved: boolean;
  /** How long a lowered share is remembered by counters, what is under way included. */
  rememberedMs(change: { from: number; to: number }): number;
}

/** The plan after a report, and what the region may then write down. The plan has to be written first. */
export interface Agreed {
  /** Undefined if nothing changes. */
  readonly plan: SharePlan | undefined;
  readonly own: RegionShare;
}

/** A plan without regions. */
export const NO_PLAN: SharePlan = { version: 0, regions: {} };

/** Demand that was reported longer ago says nothing. */
const DEMAND_MS_MAX = 30_000;
/** Below this many units asked for in all regions together, differences are chance. */
const DEMAND_MIN = 20;
/** The smallest change that is worth the wait: this many parts, and one in so many of the region's. */
const STEP_MIN = 2;
const STEP_OF = 10;
/** Differences of so many standard deviations may be chance. */
const CHANCE = 3;

/** What becomes of the plan and of a region's share when the region reports to it. */
export function agree(plan: SharePlan, report: ShareReport): Agreed {
  const { self, ownMs, homeMs } = report;
  const entry: PlanEntry | undefined = plan.regions[self];
  if (entry !== undefined && entry.claim > report.own.claim)
    return { plan: undefined, own: distrusted(report.own, entry) };
  const own = withStart(report.own, plan, report);
  if (ownMs < (own.quietUntilMs ?? 0)) return { plan: undefined, own };
  const isChanging = own.before > 0 && ownMs < own.beforeUntilMs;
  const held = Math.max(own.parts, own.raise?.parts ?? 0, isChanging ? own.before : 0);
  const freeFromMs = Math.max(entry?.freeFromMs ?? 0, isChanging ? 0 : own.beforeUntilMs);
  const { claim, demand } = own;
  const known = withEntry(plan, self, { parts: held, claim, demand, atMs: homeMs, freeFromMs });
  if (isChanging) return { plan: known, own };
  if (own.raise === undefined) return move(known, own, report);
  return { plan: known, own: raised(own, report) };
}

/** A region's share whose parts are known. */
type KnownShare = RegionShare & { readonly parts: number };

/** The region's store lost what it knew: its own numbers may be older than what it gave up. */
function distrusted(own: RegionShare, { claim }: PlanEntry): RegionShare {
  const parts = own.isProvisional === true ? own.parts : undefined;
  return { ...own, claim, parts, raise: undefined };
}

/** A region whose record has no parts begins with what the plan has for it, or with what it may take. */
function withStart(own: RegionShare, plan: SharePlan, report: ShareReport): KnownShare {
  if (own.parts !== undefined && own.isProvisional !== true) return own as KnownShare;
  const entry: PlanEntry | undefined = plan.regions[report.self];
  if (entry === undefined && mayHaveMoved(plan, report)) return withQuietStart(own, report);
  const start = entry?.parts ?? startingParts(plan, report);
  const parts = own.parts ?? start;
  const raise = start > parts ? { parts: start, fromMs: 0 } : undefined;
  return { ...own, parts, isProvisional: undefined, raise };
}

/** Uses what the plan has for the region, if its clock says so. */
function raised(own: KnownShare, report: ShareReport): RegionShare {
  const { raise } = own;
  if (raise === undefined || report.ownMs < raise.fromMs) return own;
  return changed({ ...own, raise: undefined }, raise.parts, report);
}

/** The share with other parts, whose counters are complete when those of the parts before may be forgotten. */
function changed(own: KnownShare, to: number, { ownMs, rememberedMs }: ShareReport): RegionShare {
  const from = own.parts;
  const beforeUntilMs = ownMs + rememberedMs({ from, to });
  return { ...own, change: own.change + 1, parts: to, before: from, beforeUntilMs };
}

/** Follows demand: lowers the share, or takes what is free. */
function move(plan: SharePlan, before: KnownShare, report: ShareReport): Agreed {
  const { self, byWeight } = report;
  const entries = [...byWeight.keys()].map((name): PlanEntry | undefined => plan.regions[name]);
  // A region that has not reported may use anything.
  if (!entries.every((entry) => entry !== undefined)) return { plan, own: before };
  const own = { ...before, haveAllReported: true };
  const { parts } = own;
  const free = PARTS - entries.reduce((sum, entry) => sum + entry.parts, 0);
  const { target, stepMin } = targetOf(plan, report);
  // More than the whole is used, because two stores lost their data: nothing is too small to be given up.
  const lower = free < 0 ? Math.floor(target) : Math.round(target);
  if (free < 0 ? lower < parts : parts - target >= stepMin)
    return { plan, own: changed(own, lowerParts(parts, lower, report), report) };
  // Rounded up, so that what is free does not stay free.
  const more = Math.min(Math.ceil(target - parts), free);
  if (more < 1) return { plan, own };
  const fromMs = Math.max(...entries.map((entry) => entry.freeFromMs));
  const entry = { ...plan.regions[self], parts: parts + more };
  const raise = { parts: parts + more, fromMs };
  return {
    plan: { ...plan, regions: { ...plan.regions, [self]: entry } },
    own: raised({ ...own, raise }, report),
  };
}

/** The target, or half of what there was if a bucket would take much longer to refill for the target. */
function lowerParts(parts: number, target: number, { rememberedMs }: ShareReport): number {
  const half = Math.ceil(parts / 2);
  if (target >= half) return target;
  const isFar =
    rememberedMs({ from: parts, to: target }) > 2 * rememberedMs({ from: parts, to: half });
  return isFar ? half : target;
}

/** The region's parts by weight, unless other regions have taken some of them. */
function startingParts(plan: SharePlan, { self, byWeight }: ShareReport): number {
  let others = 0;
  for (const [name, parts] of byWeight) {
    if (name !== self) others += (plan.regions[name] as PlanEntry | undefined)?.parts ?? parts;
  }
  const own = byWeight.get(self) ?? 0;
  return Math.max(keptParts(own), Math.min(own, PARTS - others));
}

/** Whether a region of which no record is left may have had other parts than by weight: then its data was lost. */
function mayHaveMoved(plan: SharePlan, { byWeight, mayHaveMoved: isKnown }: ShareReport): boolean {
  return (
    isKnown ||
    Object.entries(plan.regions).some(([name, { parts }]) => parts !== byWeight.get(name))
  );
}

/**
 * After its data was lost, a region begins with what it never gave up. As long as it does not report, it may use anything,
 * and others take nothing: until its processes have stopped using what they had, and what they used counts nowhere.
 */
function withQuietStart(own: RegionShare, { self, byWeight, ownMs, rememberedMs }: ShareReport) {
  const quietUntilMs = ownMs + rememberedMs({ from: PARTS, to: PARTS });
  const parts = keptParts(byWeight.get(self) ?? 0);
  return { ...own, parts, isProvisional: undefined, raise: undefined, quietUntilMs };
}

/**
 * The parts that a region's demand entitles it to, among the regions that report theirs, and by how much less is worth
 * giving up. While demand is not known, or next to nothing, only what is free is taken, by weight.
 */
function targetOf(
  plan: SharePlan,
  { self, byWeight, homeMs }: ShareReport,
): { target: number; stepMin: number } {
  const heard = [...byWeight.keys()].filter(
    (name) => Math.abs(homeMs - plan.regions[name].atMs) <= DEMAND_MS_MAX,
  );
  let left = PARTS;
  for (const name of byWeight.keys()) if (!heard.includes(name)) left -= plan.regions[name].parts;
  const demands = new Map(heard.map((name) => [name, plan.regions[name].demand ?? 0]));
  const demand = sumOf(demands.values());
  const isMeasured = heard.every((name) => plan.regions[name].demand !== undefined);
  if (!isMeasured || demand < DEMAND_MIN) {
    const weights = new Map(heard.map((name) => [name, byWeight.get(name) ?? 0]));
    return { target: divide(left, weights, byWeight, self), stepMin: Number.POSITIVE_INFINITY };
  }
  const part = (demands.get(self) ?? 0) / demand;
  const chance = CHANCE * PARTS * Math.sqrt((part * (1 - part)) / demand);
  const stepMin = Math.max(STEP_MIN, plan.regions[self].parts / STEP_OF, chance);
  return { target: divide(left, demands, byWeight, self), stepMin };
}

/** A region's part in proportion to what all ask for; each gets at least what it never gives up. */
function divide(
  parts: number,
  asked: ReadonlyMap<string, number>,
  byWeight: ReadonlyMap<string, number>,
  self: string,
): number {
  const open = new Map(asked);
  let left = parts;
  for (;;) {
    const sum = sumOf(open.values());
    const partOf = (units: number) => (sum === 0 ? 0 : (left * units) / sum);
    const small = [...open].filter(
      ([name, units]) => partOf(units) < keptParts(byWeight.get(name) ?? 0),
    );
    if (small.length === 0) return partOf(open.get(self) ?? 0);
    for (const [name] of small) {
      const kept = keptParts(byWeight.get(name) ?? 0);
      if (name === self) return kept;
      left -= kept;
      open.delete(name);
    }
  }
}

function sumOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

function withEntry(plan: SharePlan, self: string, entry: PlanEntry): SharePlan {
  return { version: plan.version + 1, regions: { ...plan.regions, [self]: entry } };
}

/** What a region that does not reach the plan may use until it does; undefined if it has a share. */
export function provisionalOf(own: RegionShare, byWeight: number): RegionShare | undefined {
  if (own.parts !== undefined) return undefined;
  return { ...own, parts: keptParts(byWeight), isProvisional: true };
}
