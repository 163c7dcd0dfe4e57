import { describe, expect, it, vi } from "vitest";
import { wallMs } from "../../base/clock.js";
import type { LiveAsk } from "../../control/feed/feed-lines.js";
import type { FeedServer } from "../../control/feed/feed-server.js";
import type { NodeLive } from "../../telemetry/live/node-second.js";
import { Fleet } from "./fleet.js";
import { FleetNode } from "./fleet-node.js";
import { SecondRing } from "./second-ring.js";

const REPORT: NodeLive = {
  allowed: 1,
  delayed: 0,
  blocked: 0,
  shadowBlocked: 0,
  spanMs: 1_000,
  version: "v1",
  rulesInForce: 1,
  latency: [1],
  rules: [],
  decisionsPerSecond: 1,
  hottest: [],
  refusals: [],
  store: { kind: "memory", isFallback: false, onFailure: "local" },
  notices: [],
};

/** Followers that answer as soon as they are asked, except those that are said to be deaf. */
function setUp(count: number, deaf: readonly string[] = []) {
  const names = new Set(Array.from({ length: count }, (_, n) => `edge-${n}`));
  const asked: { node: string; hasPast: boolean }[] = [];
  const feed = {
    onLive: (_node: string, _live: NodeLive) => {},
    streams: {
      names: () => names,
      has: (name: string) => names.has(name),
      askLive(askOf: (node: string) => LiveAsk | undefined) {
        for (const node of names) {
          const ask = askOf(node);
          if (ask === undefined) continue;
          asked.push({ node, hasPast: ask.hasPast });
          if (deaf.includes(node)) continue;
          queueMicrotask(() => feed.onLive(node, ask.hasPast ? { ...REPORT, past: [] } : REPORT));
        }
      },
    },
  };
  return { fleet: new Fleet(feed as unknown as FeedServer), feed, names, asked };
}

const NONE_PICKED: ReadonlySet<string> = new Set();

describe("a fleet", () => {
  it("is asked for its past once, and then for what is new", async () => {
    const { fleet, asked } = setUp(2);
    await fleet.ask(NONE_PICKED);
    fleet.markShown();
    await fleet.ask(NONE_PICKED);
    expect(asked.map(({ hasPast }) => hasPast)).toEqual([true, true, false, false]);
    expect(fleet.nodes.map(({ second }) => second?.allowed)).toEqual([1, 1]);
  });

  it("asks a hundred in a second, each in turn, and those that are picked every time", async () => {
    const { fleet, asked } = setUp(250);
    const picked = new Set(["edge-249"]);
    const rounds: number[] = [];
    for (let round = 0; round < 3; round++) {
      asked.length = 0;
      await fleet.ask(picked);
      rounds.push(asked.length);
      expect(asked.some(({ node }) => node === "edge-249")).toBe(true);
    }
    expect(rounds).toEqual([100, 100, 100]);
    expect(fleet.nodes.filter(({ second }) => second !== undefined).length).toBe(250);
  });

  it("asks the others in turn though pages have picked a hundred", async () => {
    const { fleet, asked, names } = setUp(250);
    const picked = new Set([...names].slice(0, 100));
    for (let round = 0; round < 4; round++) {
      asked.length = 0;
      await fleet.ask(picked);
      expect(asked.length).toBe(100);
      expect(asked.filter(({ node }) => picked.has(node)).length).toBeGreaterThanOrEqual(50);
    }
    expect(fleet.nodes.filter(({ second }) => second === undefined)).toEqual([]);
  });

  it("adds a report that was late to the one that is in time", async () => {
    const { fleet, feed } = setUp(1);
    await fleet.ask(NONE_PICKED);
    fleet.markShown();
    feed.onLive("edge-0", REPORT);
    await fleet.ask(NONE_PICKED);
    expect(fleet.find("edge-0")?.second?.allowed).toBe(2);
    fleet.markShown();
    await fleet.ask(NONE_PICKED);
    expect(fleet.find("edge-0")?.second?.allowed).toBe(1);
  });

  it("takes no report of a node that does not follow, and none when no page is open", async () => {
    const { fleet, feed } = setUp(1);
    await fleet.ask(NONE_PICKED);
    feed.onLive("stranger", { ...REPORT, past: [] });
    expect(fleet.nodes.map(({ name }) => name)).toEqual(["edge-0"]);
    fleet.forget();
    feed.onLive("edge-0", { ...REPORT, past: [] });
    expect(fleet.nodes).toEqual([]);
  });

  it("waits a moment for a node that does not answer, and has no numbers of it", async () => {
    const { fleet } = setUp(2, ["edge-1"]);
    await fleet.ask(NONE_PICKED);
    expect(fleet.find("edge-1")?.second).toBeUndefined();
    expect(fleet.find("edge-0")?.second?.allowed).toBe(1);
  });
});

describe("a node that reports what can't be", () => {
  it("fills no more seconds than are kept, though it covers a day", () => {
    const node = new FleetNode("edge-0", 0);
    node.take({ ...REPORT, past: [] });
    const addNext = vi.spyOn(SecondRing.prototype, "addNext");
    node.take({ ...REPORT, spanMs: 86_400_000 });
    expect(addNext).toHaveBeenCalledTimes(300);
    addNext.mockRestore();
  });

  it("has no seconds that are older than those that are kept", () => {
    const node = new FleetNode("edge-0", 0);
    const ages = [0xffff_ffff, 2_000_000_000, 301, 10];
    node.take({ ...REPORT, past: ages.map((age) => [age, 7, 0, 0, 0] as const) });
    const seconds = node.past?.read(wallMs()) ?? [];
    expect(seconds.map(({ allowed }) => allowed)).toEqual([7]);
    expect(seconds[0].atMs).toBeLessThan(wallMs());
  });
});
