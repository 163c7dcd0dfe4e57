import { describe, expect, it } from "vitest";
import { RegionsRig } from "../../../../test/regions-rig.js";
import {
  fixedWindow,
  type Limit,
  quota,
  slidingWindowCounter,
  tokenBucket,
} from "../../../limits/limits.js";
import type { Counter, Outcome } from "../../store.js";

const HOUR_MS = 3_600_000;
const counterOf = (limit: Limit): Counter => ({ scope: "test", part: 0, limit });
const hourly = counterOf(fixedWindow({ limit: 100, windowMs: HOUR_MS }));

describe("regions that merge their counts", () => {
  it.each<[string, Limit]>([
    ["a fixed window", fixedWindow({ limit: 100, windowMs: HOUR_MS })],
    ["windows of each key", fixedWindow({ limit: 100, windowMs: HOUR_MS, align: "key" })],
    ["a sliding counter", slidingWindowCounter({ limit: 100, windowMs: HOUR_MS })],
    ["a quota", quota({ limit: 100, period: "day" })],
    ["a token bucket", tokenBucket({ capacity: 100, refill: { amount: 1, everyMs: HOUR_MS } })],
  ])("admit the limit together: %s", (_, limit) => {
    const rig = new RegionsRig();
    const counter = counterOf(limit);
    expect(rig.ask(0, counter, "a", 40)).toBe(40);
    // So long that nothing is announced ahead any more.
    rig.sync(15);
    expect(rig.used(counter, "a").map(Math.round)).toEqual([40, 40, 40]);
    expect(rig.ask(1, counter, "a", 40)).toBe(40);
    rig.sync(15);
    expect(rig.ask(2, counter, "a", 40)).toBe(20);
    rig.sync(20);
    expect(rig.ask(0, counter, "a") + rig.ask(1, counter, "a")).toBe(0);
    expect(rig.used(counter, "a").map(Math.round)).toEqual([100, 100, 100]);
  });

  it("know nothing of other keys and counters", () => {
    const rig = new RegionsRig();
    rig.ask(0, hourly, "a", 100);
    rig.sync();
    expect(rig.ask(1, hourly, "b", 10)).toBe(10);
    expect(rig.ask(1, { ...hourly, part: 1 }, "a", 10)).toBe(10);
  });

  it("announce nothing when nothing changed", () => {
    const rig = new RegionsRig();
    rig.ask(0, hourly, "a", 3);
    rig.sync(30);
    const { exchanges } = rig.processes[0].stats.peers[0];
    rig.sync(100);
    expect(rig.processes[0].stats.peers[0].exchanges).toBe(exchanges);
    expect(exchanges).toBeLessThanOrEqual(3);
    expect(rig.processes[0].stats.peers[0].unitsSent).toBe(3);
  });

  it("count what was spent in the window of its time, also where it is another one already", () => {
    const rig = new RegionsRig();
    rig.clock.advance(HOUR_MS - 50);
    rig.ask(0, hourly, "a", 60);
    rig.sync(5);
    expect(rig.used(hourly, "a")).toEqual([0, 0, 0]);
    expect(rig.ask(1, hourly, "a", 60)).toBe(60);
  });

  it("keep at most so many keys, and say what was given up", () => {
    const rig = new RegionsRig({ keysMax: 10 });
    for (let i = 0; i < 50; i++) rig.ask(0, hourly, `key ${i}`, 2);
    expect(rig.processes[0].stats).toMatchObject({ keys: 10, unitsEvicted: 80 });
    rig.ask(0, hourly, "key 0", 2);
    rig.sync(3);
    expect(rig.used(hourly, "key 0")).toEqual([4, 2, 2]);
  });

  it("let go of keys whose windows have ended", () => {
    const rig = new RegionsRig();
    rig.ask(0, counterOf(fixedWindow({ limit: 9, windowMs: 1_000 })), "a", 2);
    rig.ask(0, counterOf(tokenBucket({ capacity: 9, refillPerSecond: 1 })), "a", 2);
    for (let i = 0; i < 30; i++) rig.clock.advance(60_000);
    expect(rig.processes[0].stats.keys).toBe(0);
  });

  it("admit the rest of a window once, where all ask for it at the same time", () => {
    const rig = new RegionsRig();
    let admitted = 0;
    for (let ms = 0; ms < 20_000; ms += 10) {
      for (const region of [0, 1, 2]) admitted += rig.ask(region, hourly, "a");
      rig.clock.advance(10);
    }
    expect(admitted).toBeLessThanOrEqual(105);
    expect(admitted).toBeGreaterThanOrEqual(95);
  });
});

describe("a region that is cut off", () => {
  it("counts alone, and merges on return without counting anything double", () => {
    const rig = new RegionsRig();
    rig.ask(0, hourly, "a", 10);
    rig.sync();
    for (const way of [...rig.ways[2], ...rig.ways.map((ways) => ways[2])]) way.fate = () => "lost";
    rig.ask(0, hourly, "a", 5);
    rig.ask(2, hourly, "a", 7);
    rig.sync(10);
    expect(rig.used(hourly, "a")).toEqual([15, 15, 17]);
    rig.heal();
    rig.sync(10);
    expect(rig.used(hourly, "a")).toEqual([22, 22, 22]);
  });

  it("is charged once for what arrived without an answer", () => {
    const rig = new RegionsRig();
    const way = rig.ways[0][1];
    way.fate = () => "unanswered";
    rig.ask(0, hourly, "a", 10);
    rig.sync(10);
    expect(rig.used(hourly, "a")).toEqual([10, 10, 10]);
    rig.heal();
    rig.ask(0, hourly, "a", 1);
    rig.sync(10);
    expect(rig.used(hourly, "a")).toEqual([11, 11, 11]);
  });

  it("is charged once, however many calls had no answer: what a register counts by stays exact", () => {
    const rig = new RegionsRig();
    const daily = counterOf(quota({ limit: 100, period: "day" }));
    rig.ask(0, daily, "a", 10);
    for (const way of rig.ways[0]) way.fate = () => "unanswered";
    // More than the bases that fit into a double.
    rig.sync(2 ** 13 + 10);
    rig.heal();
    rig.ask(0, daily, "a", 1);
    rig.sync(10);
    expect(rig.used(daily, "a")).toEqual([11, 11, 11]);
  });

  it("is late, and says by how much", () => {
    const rig = new RegionsRig();
    rig.ask(0, hourly, "a");
    rig.sync(2);
    rig.ways[0][1].fate = () => "lost";
    rig.ask(0, hourly, "a");
    rig.sync(50);
    const [cutOff, reached] = rig.processes[0].stats.peers;
    expect(cutOff.lagMs).toBeGreaterThanOrEqual(4_900);
    expect(reached.lagMs).toBeLessThan(200);
  });
});

describe("a region whose store forgot everything", () => {
  it("learns again what the others admitted, once", () => {
    const rig = new RegionsRig();
    rig.ask(0, hourly, "a", 10);
    rig.ask(1, hourly, "a", 5);
    rig.sync(3);
    rig.servers[1].restart();
    rig.ask(0, hourly, "a", 1);
    rig.sync(5);
    // Its own five are gone there, and known elsewhere.
    expect(rig.used(hourly, "a")).toEqual([16, 11, 16]);
  });
});

describe("regions whose clocks differ by a minute", () => {
  const tenMinutes = counterOf(fixedWindow({ limit: 100, windowMs: 600_000 }));

  it("merge windows by their number: a unit never counts in another one", () => {
    const rig = new RegionsRig({ skewsMs: [60_000, 0, -60_000] });
    // The first region is in the next window, the others are not.
    rig.clock.advance(600_000 - 30_000);
    expect(rig.ask(0, tenMinutes, "a", 100)).toBe(100);
    expect(rig.ask(1, tenMinutes, "a", 40)).toBe(40);
    rig.sync(10);
    expect(rig.used(tenMinutes, "a")).toEqual([100, 40, 40]);
    rig.clock.advance(60_000);
    // Now the second one is too, and knows what the first one spent of it.
    expect(rig.used(tenMinutes, "a")).toEqual([100, 100, 40]);
    expect(rig.ask(1, tenMinutes, "a", 10)).toBe(0);
    expect(rig.ask(2, tenMinutes, "a", 70)).toBe(60);
  });
});

describe("what is given back", () => {
  it("is given back in all regions: the rest of a reservation", () => {
    const rig = new RegionsRig();
    const charge = { counter: hourly, key: "a", cost: 30, nowMs: rig.clock.now() };
    const outcome = rig.processes[0].decide([charge], { hold: true });
    rig.sync(15);
    expect(rig.used(hourly, "a")).toEqual([30, 30, 30]);
    const [receipt] = (outcome as Outcome).receipts;
    rig.processes[0].settle([{ receipt, kept: 10, nowMs: rig.clock.now() }]);
    rig.sync(2);
    expect(rig.used(hourly, "a")).toEqual([10, 10, 10]);
  });

  it("is given back in all regions: an operator's refund, and a reset", () => {
    const rig = new RegionsRig();
    rig.ask(0, hourly, "a", 30);
    rig.sync(2);
    const charge = { counter: hourly, key: "a", cost: 10, nowMs: rig.clock.now() };
    rig.processes[1].refund([charge]);
    rig.sync(5);
    expect(rig.used(hourly, "a")).toEqual([20, 20, 20]);
    rig.processes[2].reset([charge]);
    rig.sync(5);
    expect(rig.used(hourly, "a")).toEqual([0, 0, 0]);
  });

  it("is not given by a block, which holds in all regions", () => {
    const rig = new RegionsRig();
    const nowMs = rig.clock.now();
    rig.processes[0].block("test", "a", { untilMs: nowMs + HOUR_MS, nowMs });
    expect(rig.ask(1, hourly, "a")).toBe(0);
    rig.processes[1].unblock("test", "a");
    expect(rig.ask(0, hourly, "a")).toBe(1);
  });
});

it("declares by how much a limit may be exceeded", () => {
  const [process] = new RegionsRig().processes;
  expect(process.overshootMax(fixedWindow({ limit: 100, windowMs: HOUR_MS }))).toBe(200);
  const bucket = tokenBucket({ capacity: 100, refillPerSecond: 50 });
  expect(process.overshootMax(bucket, 200)).toBe(2 * (100 + 0.3 * 50));
});

it("exceeds a sliding counter by no more than it declares, also just after the end of a window", () => {
  const rig = new RegionsRig();
  const sliding = counterOf(slidingWindowCounter({ limit: 1_000, windowMs: HOUR_MS }));
  let admitted = rig.ask(0, sliding, "a", 600);
  rig.sync(20);
  // One unit a millisecond in another region, in the last moments of a window and in the first of the next one.
  const unheardMs = 90;
  const spend = (region: number) => {
    for (let ms = 0; ms < unheardMs; ms++) {
      admitted += rig.ask(region, sliding, "a");
      rig.clock.advance(1);
    }
  };
  rig.clock.advance(HOUR_MS - (rig.clock.now() % HOUR_MS) - unheardMs);
  spend(0);
  spend(2);
  admitted += rig.ask(1, sliding, "a", 500);
  expect(admitted - 1_000).toBeLessThanOrEqual(rig.processes[1].overshootMax(sliding.limit, 0, 1));
});

it("sends what is left when it is closed", () => {
  const rig = new RegionsRig();
  rig.ask(0, hourly, "a", 5);
  rig.processes[0].close();
  expect(rig.servers[1].used(hourly, "a", rig.clock.now())).toBe(5);
});
