// Who is home, over memory stores with clocks of their own and ways that fail.

import { afterEach, describe, expect, it } from "vitest";
import { HomeRig, type HomeRigOptions, settled, TestArbiter } from "../../../../test/home-rig.js";

const rigs: HomeRig[] = [];
afterEach(() => {
  for (const rig of rigs.splice(0)) rig.close();
});

async function started(options?: HomeRigOptions): Promise<HomeRig> {
  const rig = new HomeRig(options);
  rigs.push(rig);
  await settled();
  await rig.pass(1_000);
  return rig;
}

const inForce = ({ homes }: HomeRig) =>
  homes.map(
    ({ stats }) => stats && `${stats.home} ${stats.epoch} ${stats.isOpen ? "open" : "shut"}`,
  );

describe("a home region with a standby", () => {
  it("begins with the first epoch where it is configured, and every process knows it", async () => {
    const rig = await started();
    expect(rig.deciding()).toEqual(["eu"]);
    expect(inForce(rig)).toEqual(["eu 1 open", "eu 1 open"]);
  });

  it("does not begin before the standby has said that it is not home", async () => {
    const rig = await started({ cut: "us" });
    await rig.pass(20_000);
    expect(rig.deciding()).toEqual([]);
    rig.heal();
    await rig.pass(2_000);
    expect(rig.deciding()).toEqual(["eu"]);
  });

  it("stays home for as long as one process renews it, and ends when none does", async () => {
    const rig = await started();
    rig.cut("eu", 1);
    await rig.pass(60_000);
    expect(rig.deciding()).toEqual(["eu"]);
    rig.cut("eu", 0);
    await rig.pass(8_000);
    expect(rig.deciding()).toEqual(["eu"]);
    await rig.pass(3_000);
    expect(rig.deciding()).toEqual([]);
  });

  it("is home again after a pause, but only where the standby can be asked too", async () => {
    const rig = await started();
    rig.cut("eu");
    await rig.pass(15_000);
    rig.heal();
    rig.cut("us");
    await rig.pass(5_000);
    expect(rig.deciding()).toEqual([]);
    rig.heal();
    await rig.pass(2_000);
    expect(rig.deciding()).toEqual(["eu"]);
    expect(inForce(rig)).toEqual(["eu 1 open", "eu 1 open"]);
  });

  it("is home again after its store lost everything", async () => {
    const rig = await started();
    rig.servers.eu.forgetRecord(rig.clock.now());
    expect(rig.deciding()).toEqual([]);
    await rig.pass(5_000);
    expect(rig.deciding()).toEqual(["eu"]);
  });
});

describe("a promotion by an operator", () => {
  it("fences the old home first, and opens the new one when all leases are over", async () => {
    const rig = await started();
    const promotion = await rig.homes[1].promote("us");
    expect(promotion).toEqual({
      isPromoted: true,
      epoch: 2,
      home: "us",
      isOldHomeFenced: true,
      // leaseMs and a second.
      opensInMs: 2_000,
    });
    expect(rig.deciding()).toEqual([]);
    await rig.pass(1_999, 1_999);
    expect(rig.deciding()).toEqual([]);
    await rig.pass(1);
    expect(rig.deciding()).toEqual(["us"]);
    await rig.pass(1_000);
    expect(inForce(rig)).toEqual(["us 2 open", "us 2 open"]);
  });

  it("is refused while the old home can't be fenced, unless the operator says that it is stopped", async () => {
    const rig = await started();
    rig.cut("eu");
    const { homes } = rig;
    expect(await homes[1].promote("us")).toMatchObject({
      isPromoted: false,
      why: expect.stringContaining("the store of eu can't be reached, so it can't be fenced"),
    });
    await rig.pass(1_000);
    const promotion = await homes[1].promote("us", { isOldHomeStopped: true });
    // Its permission, leases and a second.
    expect(promotion).toMatchObject({
      isPromoted: true,
      isOldHomeFenced: false,
      opensInMs: 12_000,
    });
    await rig.pass(12_000);
    expect(rig.deciding()).toEqual(["us"]);
  });

  it("is refused for a region that is home, can't be home, or can't be reached", async () => {
    const rig = await started();
    const { homes } = rig;
    expect(await homes[0].promote("eu")).toMatchObject({
      why: "eu is home already, under epoch 1",
    });
    expect(await homes[0].promote("ap")).toMatchObject({
      why: '"ap" can\'t be home: only eu and us can',
    });
    rig.cut("us");
    expect(await homes[0].promote("us")).toMatchObject({ why: "the store of us can't be reached" });
    expect(rig.deciding()).toEqual(["eu"]);
  });

  it("that stopped after the fence is completed by any process that sees it", async () => {
    const rig = await started();
    // The new home's store stops answering the operator right after the first look.
    let calls = 0;
    rig.ways[1].us.fate = () => (++calls > 1 ? "lost" : "arrives");
    expect(await rig.homes[1].promote("us")).toMatchObject({ isPromoted: false });
    expect(rig.deciding()).toEqual([]);
    await rig.pass(4_000);
    expect(rig.deciding()).toEqual(["us"]);
    expect(inForce(rig)[0]).toBe("us 2 open");
  });

  it("can be taken back, under the next epoch", async () => {
    const rig = await started();
    await rig.homes[0].promote("us");
    await rig.pass(5_000);
    expect(await rig.homes[0].promote("eu")).toMatchObject({ isPromoted: true, epoch: 3 });
    await rig.pass(3_000);
    expect(rig.deciding()).toEqual(["eu"]);
  });

  it("by two operators at the same time makes the region home once, for both", async () => {
    const rig = await started();
    const both = await Promise.all(rig.homes.map((home) => home.promote("us")));
    expect(both.some(({ isPromoted }) => isPromoted)).toBe(true);
    await rig.pass(3_000);
    expect(rig.deciding()).toEqual(["us"]);
    expect(inForce(rig)).toEqual(["us 2 open", "us 2 open"]);
  });

  it("by two operators of both regions at the same time never makes both of them home", async () => {
    const rig = await started();
    // No process reached eu for a while, so that it may be promoted again as well as replaced.
    rig.cut("eu");
    await rig.pass(15_000);
    expect(rig.deciding()).toEqual([]);
    rig.heal();
    const [eu, us] = rig.homes;
    const both = await Promise.all([eu.promote("eu"), us.promote("us")]);
    expect(both.filter(({ isPromoted }) => isPromoted).length).toBeLessThanOrEqual(1);
    for (let i = 0; i < 20; i++) {
      await rig.pass(1_000);
      expect(rig.deciding().length).toBeLessThanOrEqual(1);
    }
    await us.promote("us");
    await rig.pass(3_000);
    expect(rig.deciding()).toEqual(["us"]);
  });

  it("has an epoch that no process has seen, also where both stores have lost everything", async () => {
    const rig = await started();
    await rig.homes[0].promote("us");
    await rig.pass(5_000);
    for (const server of Object.values(rig.servers)) server.forgetRecord(rig.clock.now());
    await rig.pass(20_000);
    expect(rig.deciding()).toEqual([]);
    expect(await rig.homes[0].promote("eu")).toMatchObject({ isPromoted: true, epoch: 3 });
    await rig.pass(3_000);
    expect(rig.deciding()).toEqual(["eu"]);
    expect(inForce(rig)).toEqual(["eu 3 open", "eu 3 open"]);
  });

  it("is repeated for a new home region that was not renewed while the old one can't be reached", async () => {
    const rig = await started();
    const promote = () => rig.homes[1].promote("us", { isOldHomeStopped: true });
    rig.cut("eu");
    await promote();
    await rig.pass(12_000);
    rig.cut("us");
    await rig.pass(12_000);
    for (const way of rig.ways) way.us.fate = () => "arrives";
    await rig.pass(20_000);
    // The old one may have been promoted meanwhile.
    expect(rig.deciding()).toEqual([]);
    expect(await promote()).toMatchObject({ isPromoted: true, epoch: 3 });
    await rig.pass(12_000);
    expect(rig.deciding()).toEqual(["us"]);
  });

  it("of both regions at the same time leaves neither home, until one is promoted again", async () => {
    const rig = await started();
    const { eu, us } = rig.servers;
    const nowMs = rig.clock.now();
    eu.swap({ expected: eu.read(nowMs).text, next: "2 us 0 0 0", nowMs });
    us.swap({ expected: us.read(nowMs).text, next: "2 eu 0 0 0", nowMs });
    await rig.pass(20_000);
    expect(rig.deciding()).toEqual([]);
    expect(rig.homes[0].stats?.isContested).toBe(true);
    expect(await rig.homes[0].promote("us")).toMatchObject({ isPromoted: true, epoch: 3 });
    await rig.pass(3_000);
    expect(rig.deciding()).toEqual(["us"]);
  });
});

describe("an old home region that comes back", () => {
  it("does not decide, and is fenced by the first process that reaches it", async () => {
    const rig = await started();
    rig.cut("eu");
    await rig.homes[1].promote("us", { isOldHomeStopped: true });
    await rig.pass(20_000);
    expect(rig.deciding()).toEqual(["us"]);
    // Only a process that never heard of the promotion reaches it, and nothing else.
    rig.cut("us", 0);
    rig.ways[0].eu.fate = () => "arrives";
    await rig.pass(20_000);
    expect(rig.deciding()).toEqual(["us"]);
    rig.heal();
    await rig.pass(2_000);
    expect(rig.servers.eu.read(rig.clock.now()).text).toBe("2 us 0 0 0");
    expect(inForce(rig)).toEqual(["us 2 open", "us 2 open"]);
  });
});

describe("where an arbiter decides", () => {
  const automatic = (arbiter = new TestArbiter()) => started({ arbiter });

  it("a home region that no process reaches is replaced once its permission is over", async () => {
    const rig = await automatic();
    expect(rig.deciding()).toEqual(["eu"]);
    rig.cut("eu");
    let pauseMs = 0;
    while (rig.deciding()[0] !== "us" && pauseMs < 60_000) {
      await rig.pass(500, 500);
      pauseMs += 500;
    }
    // Its permission of 10 s, seen by the arbiter; then leases and a second.
    expect(pauseMs).toBeGreaterThanOrEqual(12_000);
    expect(pauseMs).toBeLessThanOrEqual(16_000);
    rig.heal();
    await rig.pass(2_000);
    expect(inForce(rig)).toEqual(["us 2 open", "us 2 open"]);
  });

  it("a home region that one process reaches stays", async () => {
    const rig = await automatic();
    rig.cut("eu", 1);
    await rig.pass(60_000);
    expect(rig.deciding()).toEqual(["eu"]);
    expect(inForce(rig)[0]).toBe("eu 1 open");
  });

  it("home goes on without the arbiter for as long as the standby's store promises to wait", async () => {
    const arbiter = new TestArbiter();
    const rig = await automatic(arbiter);
    arbiter.isReached = () => false;
    await rig.pass(60_000);
    expect(rig.deciding()).toEqual(["eu"]);
    rig.cut("us");
    await rig.pass(12_000);
    expect(rig.deciding()).toEqual([]);
  });

  it("a process that has only the arbiter does not take over while the standby promised to wait", async () => {
    const arbiter = new TestArbiter();
    const rig = await automatic(arbiter);
    arbiter.isReached = (process) => process === 1;
    rig.cut("eu", 1);
    await rig.pass(60_000);
    expect(rig.deciding()).toEqual(["eu"]);
  });

  it("a standby that lost its data does not take over while home may count on its promise", async () => {
    const arbiter = new TestArbiter();
    const rig = await automatic(arbiter);
    arbiter.isReached = (process) => process === 1;
    rig.cut("eu", 1);
    await rig.pass(30_000);
    // The process that renews home writes a record without a promise, and then loses the standby too.
    rig.servers.us.forgetRecord(rig.clock.now());
    let calls = 0;
    rig.ways[0].us.fate = () => (++calls > 2 ? "lost" : "arrives");
    for (let i = 0; i < 40; i++) {
      await rig.pass(500, 500);
      expect(rig.deciding().length, `after ${(i + 1) * 500} ms`).toBeLessThanOrEqual(1);
    }
    expect(rig.deciding()).toEqual(["us"]);
  });

  it("an operator needs no more than the arbiter to promote, and waits for the old home's permission", async () => {
    const rig = await automatic();
    rig.cut("eu", 1);
    const promotion = await rig.homes[1].promote("us");
    expect(promotion).toMatchObject({
      isPromoted: true,
      isOldHomeFenced: false,
      opensInMs: 12_000,
    });
    await rig.pass(13_000);
    expect(rig.deciding()).toEqual(["us"]);
  });

  it("an operator on a node without it learns to ask another", async () => {
    const rig = await started({ regions: { takeover: "automatic" } });
    expect(await rig.homes[0].promote("us")).toMatchObject({
      why: "this node has no PostgreSQL to arbitrate; promote on one that has",
    });
  });
});

describe("where the clocks of regions differ by a minute", () => {
  it.each([
    [60_000, 0],
    [0, 60_000],
    [-60_000, 60_000],
  ] as const)("(%d and %d ms) a promotion takes as long as without", async (...skewsMs) => {
    const rig = await started({ skewsMs });
    expect(rig.deciding()).toEqual(["eu"]);
    expect(await rig.homes[0].promote("us")).toMatchObject({ opensInMs: 2_000 });
    await rig.pass(1_999, 1_999);
    expect(rig.deciding()).toEqual([]);
    await rig.pass(1);
    expect(rig.deciding()).toEqual(["us"]);
  });
});
