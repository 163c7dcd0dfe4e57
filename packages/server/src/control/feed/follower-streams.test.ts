// What followers may take of a control node: memory, streams, and how long one may read nothing.

import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { NodeLive } from "../../telemetry/live/node-second.js";
import { ControlState, type NodeChange } from "../state/state.js";
import { ChangeHub } from "./change-hub.js";
import { FeedServer } from "./feed-server.js";
import { PIECE_LENGTH } from "./follower-stream.js";
import { FollowerStreams } from "./follower-streams.js";

// Timers and spans of the same clock, which the tests move.
vi.mock("../../base/clock.js", async (load) => ({
  ...(await load<typeof import("../../base/clock.js")>()),
  readMs: () => Date.now(),
}));

/** A follower that reads when the test says so. */
class TestSink extends EventEmitter {
  readonly written: string[] = [];
  writableLength = 0;
  isDestroyed = false;
  isReading = true;

  write(text: string): boolean {
    this.written.push(text);
    if (!this.isReading) this.writableLength += Buffer.byteLength(text);
    return this.writableLength < PIECE_LENGTH;
  }

  read(): void {
    this.isReading = true;
    this.writableLength = 0;
    this.emit("drain");
  }

  /** Takes some of what waits. */
  sip(): void {
    this.writableLength = Math.max(0, this.writableLength - 1);
  }

  end(): void {}

  destroy(): void {
    this.isDestroyed = true;
  }

  /** The changes that it was sent. */
  get changes(): string[] {
    const lines = this.written.join("").split("\n").slice(0, -1);
    return lines.filter((line) => !line.includes("heartbeat"));
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function start(bounds: ConstructorParameters<typeof FollowerStreams>[1] = {}) {
  const state = new ControlState();
  const hub = new ChangeHub(state);
  const streams = new FollowerStreams(hub, bounds);
  let sequence = 0;
  const change = (name: string) => {
    const made: NodeChange = {
      sequence: ++sequence,
      kind: "plan",
      entityId: "p",
      after: { tier: name },
    };
    state.apply([made]);
    hub.add([made]);
  };
  let names = 0;
  const follow = ({ isReading = true, token = "t", node = "", instance = "" } = {}) => {
    const sink = new TestSink();
    sink.isReading = isReading;
    const name = node === "" ? `n${++names}` : node;
    const report = {
      node: name,
      instance: instance === "" ? name : instance,
      version: "1",
      sequence: 0,
    };
    streams.mustHavePlace(token);
    streams.add({ sink, position: { sequence: 0, hash: "" }, report, token });
    return sink;
  };
  return { streams, change, follow };
}

it("keeps a piece or two in memory for a follower that does not read, and sends it the rest when it does", async () => {
  const { streams, change, follow } = start();
  for (let n = 0; n < 1_000; n++) change("x".repeat(10_000));
  const sink = follow({ isReading: false });
  expect(streams.waitingBytes).toBeLessThan(3 * PIECE_LENGTH);
  sink.read();
  await vi.advanceTimersByTimeAsync(100);
  expect(sink.changes).toHaveLength(1_000);
  expect(sink.written.at(-1)).toContain("heartbeat");
  expect(streams.waitingBytes).toBe(0);
});

it("sends a long line in pieces that don't part a character, and no heartbeat in its middle", async () => {
  const { change, follow } = start();
  const sink = follow();
  sink.isReading = false;
  const long = `x${"😀".repeat(500_000)}`;
  change(long);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(sink.written.length).toBeLessThan(5);
  for (let n = 0; n < 50; n++) sink.read();
  await vi.advanceTimersByTimeAsync(1_000);
  for (const piece of sink.written) {
    expect(piece.length).toBeLessThanOrEqual(PIECE_LENGTH);
    expect(Buffer.from(piece).toString()).toBe(piece);
  }
  expect(JSON.parse(sink.changes[0] ?? "")).toMatchObject({ after: { tier: long } });
});

it("cuts off a follower that reads nothing for a while, and not one that reads slowly", async () => {
  const { streams, change, follow } = start({ stallMsMax: 3_000 });
  const [stuck, slow] = [follow(), follow()];
  stuck.isReading = false;
  slow.isReading = false;
  change("x".repeat(1_000_000));
  for (let n = 0; n < 10; n++) {
    await vi.advanceTimersByTimeAsync(1_000);
    slow.sip();
  }
  expect(stuck.isDestroyed).toBe(true);
  expect(slow.isDestroyed).toBe(false);
  expect(streams).toMatchObject({ count: 1, cutOff: 1 });
});

it("bounds what waits for all together: it cuts off the slowest first, and the others get everything", async () => {
  const waitingBytesMax = 10 * PIECE_LENGTH;
  const { streams, change, follow } = start({ waitingBytesMax });
  const stuck = Array.from({ length: 5 }, () => follow());
  for (const sink of stuck) sink.isReading = false;
  const reading = follow();
  change("x".repeat(1_000_000));
  await vi.advanceTimersByTimeAsync(500);
  // They have stalled for less long.
  const later = Array.from({ length: 50 }, () => follow({ isReading: false }));
  expect(streams.waitingBytes).toBeLessThan(waitingBytesMax + 2 * PIECE_LENGTH);
  await vi.advanceTimersByTimeAsync(600);
  expect(stuck.map(({ isDestroyed }) => isDestroyed)).toEqual(stuck.map(() => true));
  expect(later.some(({ isDestroyed }) => isDestroyed)).toBe(false);
  expect(reading.changes).toHaveLength(1);
  for (let round = 0; round < 40; round++) {
    for (const sink of later) if (!sink.isDestroyed) sink.read();
    await vi.advanceTimersByTimeAsync(50);
    expect(streams.waitingBytes).toBeLessThan(waitingBytesMax + 2 * PIECE_LENGTH);
  }
  expect(later.map(({ changes }) => changes.length)).toEqual(later.map(() => 1));
  expect(streams.cutOff).toBe(5);
});

it("refuses followers beyond its places, and those of a token beyond that token's", () => {
  const { streams, follow } = start({ streamsMax: 5, tokenStreamsMax: 3 });
  const first = follow({ token: "a" });
  follow({ token: "a" });
  follow({ token: "a" });
  expect(() => follow({ token: "a" })).toThrow(/3 followers use this access token/);
  follow({ token: "b" });
  follow({ token: "b" });
  expect(() => follow({ token: "b" })).toThrow(/there are 5 followers; try again in a moment/);
  first.emit("close");
  expect(streams.count).toBe(4);
  follow({ token: "a" });
});

it("takes reports of a node from its own token only", () => {
  const { streams, follow } = start();
  follow({ token: "a" });
  follow({ token: "b" });
  const report = { node: "n1", instance: "n1", version: "1", sequence: 7 };
  expect(streams.report(report, "b")).toBeUndefined();
  expect(streams.list().map(({ sequence }) => sequence)).toEqual([0, 0]);
  expect(streams.report(report, "a")).toBe("n1");
  expect(streams.list().map(({ sequence }) => sequence)).toEqual([7, 0]);
});

it("lists nodes that share a configured name one by one, and takes each one's reports for its own", () => {
  const { streams, follow } = start();
  const onSharedName = vi.fn();
  streams.onSharedName = onSharedName;
  const first = follow({ node: "web", instance: "a" });
  follow({ node: "web", instance: "b" });
  follow({ node: "web", instance: "c" });
  const listed = () => streams.list().map(({ name, instance }) => `${name} ${instance}`);
  expect(listed()).toEqual(["web a", "web~2 b", "web~3 c"]);
  expect(onSharedName.mock.calls).toEqual([
    ["web", "web~2"],
    ["web", "web~3"],
  ]);
  const report = { node: "web", instance: "b", version: "1", sequence: 7 };
  expect(streams.report(report, "t")).toBe("web~2");
  expect(streams.list().map(({ sequence }) => sequence)).toEqual([0, 7, 0]);
  const asked: string[] = [];
  streams.askLive((name) => {
    asked.push(name);
    return undefined;
  });
  expect(asked).toEqual(["web", "web~2", "web~3"]);
  first.emit("close");
  expect(listed()).toEqual(["web b", "web~3 c"]);
  expect([streams.has("web"), streams.has("web~2")]).toEqual([true, false]);
});

it("ends the earlier connection of a process that connects again, and keeps its name", () => {
  const { streams, follow } = start();
  const before = follow({ node: "web", instance: "a" });
  follow({ node: "web", instance: "a" });
  expect(before.isDestroyed).toBe(true);
  before.emit("close");
  expect(streams.list().map(({ name }) => name)).toEqual(["web"]);
  // Another token may be another node's: it must not end connections.
  const other = follow({ node: "web", instance: "a", token: "u" });
  expect([streams.count, other.isDestroyed]).toEqual([2, false]);
});

it("passes on what a node does from its own token only, and stores the uses of keys from any", async () => {
  const state = new ControlState();
  const storeUses = vi.fn(async () => {});
  const feed = new FeedServer(new ChangeHub(state), storeUses);
  const onLive = vi.fn();
  feed.onLive = onLive;
  const report = { node: "n1", instance: "", version: "1", sequence: 0 };
  const position = { sequence: 0, hash: "" };
  feed.streams.add({ sink: new TestSink(), position, report, token: "a" });
  const live = {} as NodeLive;
  await feed.report({ ...report, live, uses: { key: 1 } }, "b");
  expect(onLive).not.toHaveBeenCalled();
  expect(storeUses).toHaveBeenCalledExactlyOnceWith(new Map([["key", 1]]));
  await feed.report({ ...report, live }, "a");
  expect(onLive).toHaveBeenCalledExactlyOnceWith("n1", live);
  feed.close();
});

it("ends the stream of a follower whose access token was revoked, within about a second", () => {
  const { streams, follow } = start();
  const other = follow();
  let isAuthorized = true;
  const sink = new TestSink();
  const report = { node: "web", instance: "a", version: "1", sequence: 0 };
  const position = { sequence: 0, hash: "" };
  streams.add({ sink, position, report, token: "t", isAuthorized: () => isAuthorized });
  vi.advanceTimersByTime(2_000);
  expect([sink.isDestroyed, streams.count]).toEqual([false, 2]);
  isAuthorized = false;
  vi.advanceTimersByTime(1_100);
  expect([sink.isDestroyed, other.isDestroyed, streams.count]).toEqual([true, false, 1]);
});
