import { describe, expect, it } from "vitest";
import {
  agree,
  NO_PLAN,
  NO_SHARE,
  type RegionShare,
  type SharePlan,
  type ShareReport,
} from "./share-plan.js";

const byWeight = new Map([
  ["ap", 34],
  ["eu", 33],
  ["us", 33],
]);
const fresh: RegionShare = { ...NO_SHARE, claim: 1, claimedUntilMs: 0 };

function report(changes: Partial<ShareReport>): ShareReport {
  return {
    self: "eu",
    byWeight,
    own: fresh,
    ownMs: 0,
    homeMs: 0,
    mayHaveMoved: false,
    rememberedMs: () => 10_000,
    ...changes,
  };
}

/** A plan in which regions hold these parts, and asked for that much. */
function planOf(regions: Record<string, [parts: number, demand: number]>): SharePlan {
  const entries = Object.entries(regions).map(([name, [parts, demand]]) => [
    name,
    { parts, demand, claim: 1, atMs: 0, freeFromMs: 0 },
  ]);
  return { version: 1, regions: Object.fromEntries(entries) };
}

const holding = (parts: number, more: Partial<RegionShare> = {}) => ({
  ...fresh,
  claim: 2,
  parts,
  ...more,
});

describe("a region that reports", () => {
  it("begins with its parts by weight", () => {
    const { plan, own } = agree(NO_PLAN, report({}));
    expect(own.parts).toBe(33);
    expect(plan?.regions.eu.parts).toBe(33);
  });

  it("begins with what the plan has for it if its own record is lost", () => {
    const { own } = agree(planOf({ eu: [12, 0] }), report({ own: { ...fresh, claim: 5 } }));
    expect(own.parts).toBe(12);
  });

  it("begins with what others left of its parts", () => {
    const own = { ...fresh, parts: 3, isProvisional: true };
    const agreed = agree(planOf({ us: [33, 0], ap: [34, 0] }), report({ own }));
    expect(agreed.plan?.regions.eu.parts).toBe(33);
    // It used fewer until now: their counters are charged too until those of its parts are complete.
    expect(agreed.own).toMatchObject({ parts: 33, before: 3, beforeUntilMs: 10_000 });
  });

  it.each([
    { what: "a process remembers that shares moved", others: {}, mayHaveMoved: true },
    {
      what: "others have moved",
      others: { us: [60, 0], ap: [34, 0] } satisfies Record<string, [number, number]>,
      mayHaveMoved: false,
    },
  ])(
    "begins with what it never gave up if all records of it are lost and $what, and reports when it surely uses no more",
    ({ others, mayHaveMoved }) => {
      const begun = agree(planOf(others), report({ mayHaveMoved }));
      expect(begun.plan).toBeUndefined();
      expect(begun.own.parts).toBe(3);
      const later = (ownMs: number) => agree(planOf(others), report({ own: begun.own, ownMs }));
      expect(later(9_999).plan).toBeUndefined();
      expect(later(10_000).plan?.regions.eu.parts).toBeGreaterThanOrEqual(3);
    },
  );

  it("keeps its share while demand differs by chance, or by little", () => {
    const parts = (demand: number, others: number) =>
      agree(
        planOf({ us: [33, others], ap: [34, others], eu: [33, demand] }),
        report({ own: holding(33, { demand }) }),
      ).own.parts;
    expect(parts(5, 14)).toBe(33);
    expect(parts(900, 1_000)).toBe(33);
    expect(parts(700, 1_000)).toBe(26);
  });

  it("leaves nothing free, with demand or without", () => {
    const plan = planOf({ us: [33, 1_000], ap: [33, 1_000], eu: [33, 1_000] });
    const partsOf = (self: string, demand: number | undefined) =>
      agree(plan, report({ self, own: holding(33, { demand }) })).plan?.regions[self].parts;
    expect(partsOf("eu", 1_000)).toBe(34);
    // By weight, it is another region's.
    expect(partsOf("eu", undefined)).toBe(33);
    expect(partsOf("ap", undefined)).toBe(34);
  });

  it("gives up what is more than the whole, however little and without demand", () => {
    const plan = planOf({ us: [35, 0], ap: [34, 0], eu: [35, 0] });
    expect(agree(plan, report({ own: holding(35) })).own).toMatchObject({ parts: 33, before: 35 });
  });

  it("lowers its share before anything is free, and frees it when counters have forgotten", () => {
    const others: Record<string, [number, number]> = { us: [33, 900], ap: [34, 0] };
    const lowered = agree(
      planOf({ ...others, eu: [33, 0] }),
      report({ own: holding(33, { demand: 0 }) }),
    );
    expect(lowered.own).toMatchObject({ change: 1, parts: 3, before: 33, beforeUntilMs: 10_000 });
    expect(lowered.plan?.regions.eu.parts).toBe(33);
    const plan = lowered.plan as SharePlan;
    const waiting = agree(plan, report({ own: lowered.own, ownMs: 9_999 }));
    expect(waiting.plan?.regions.eu.parts).toBe(33);
    const free = agree(plan, report({ own: lowered.own, ownMs: 10_000 }));
    expect(free.plan?.regions.eu).toMatchObject({ parts: 3, freeFromMs: 10_000 });
  });

  it("takes no more than is free, and uses it when its own clock says so", () => {
    const plan = planOf({ us: [33, 900], ap: [34, 0], eu: [13, 100] });
    const freed = {
      ...plan,
      regions: { ...plan.regions, eu: { ...plan.regions.eu, freeFromMs: 700 } },
    };
    const asking = { self: "us", own: holding(33, { demand: 900 }) };
    const early = agree(freed, report({ ...asking, ownMs: 699 }));
    expect(early.plan?.regions.us.parts).toBe(53);
    expect(early.own).toMatchObject({ parts: 33, raise: { parts: 53, fromMs: 700 } });
    const later = agree(early.plan as SharePlan, report({ ...asking, own: early.own, ownMs: 700 }));
    expect(later.own).toMatchObject({ change: 1, parts: 53, before: 33, raise: undefined });
  });

  it("takes and gives nothing while a region has never reported", () => {
    const { own } = agree(
      planOf({ us: [33, 900], eu: [13, 0] }),
      report({ self: "us", own: holding(33, { demand: 900 }) }),
    );
    expect(own.parts).toBe(33);
  });

  it("never takes what a region holds that is cut off", () => {
    const plan = planOf({ us: [33, 900], ap: [34, 0], eu: [33, 0] });
    const later = { homeMs: 60_000, self: "us", own: holding(33, { demand: 900 }) };
    expect(agree(plan, report(later)).own.parts).toBe(33);
  });

  it("changes nothing with an older claim, and trusts its record no more", () => {
    const plan = planOf({ eu: [20, 0] });
    const newer = { ...plan, regions: { eu: { ...plan.regions.eu, claim: 9 } } };
    const { plan: next, own } = agree(newer, report({ own: holding(50) }));
    expect(next).toBeUndefined();
    expect(own).toMatchObject({ claim: 9, parts: undefined });
  });

  it("keeps its share while next to nothing is asked for", () => {
    const plan = planOf({ us: [60, 5], ap: [20, 3], eu: [20, 0] });
    const own = holding(60, { demand: 5 });
    expect(agree(plan, report({ self: "us", own })).own.parts).toBe(60);
  });
});
