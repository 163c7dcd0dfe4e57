// Followers over HTTP: what they get, how they come back, and what one of them can do to the others. Each test has nodes
// of its own and mostly waits for heartbeats and timeouts, so tests run beside each other.

import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { makeFolder, startFaultProxy } from "sluice-test-servers";
import { afterAll, describe, expect, it, vi } from "vitest";
import { toControlConfig } from "../../../test/control/control-config.js";
import { testDatabases } from "../../../test/control/databases.js";
import { FEED_TOKEN, listenToFollowers } from "../../../test/control/feed-listener.js";
import { pause } from "../../base/clock.js";
import type { FollowControlConfig } from "../../config/config.js";
import { silentTelemetry } from "../../telemetry/silent-telemetry.js";
import { Changes } from "../changes/changes.js";
import { type ControlNode, openControlNode } from "../control-node.js";
import { Follower } from "../state/follower.js";
import { FeedServer } from "./feed-server.js";
import { HttpFeed } from "./http-feed.js";

const all = testDatabases();
const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await Promise.all(all.map((each) => each.stop()));
});

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });

async function openNode(config: Parameters<typeof openControlNode>[0]) {
  const telemetry = silentTelemetry();
  const problems = vi.spyOn(telemetry, "problem");
  const node = await openControlNode(config, {
    telemetry,
    rules: undefined,
    onFirstToken: undefined,
  });
  closing.push(() => node.close());
  return { node, problems };
}

async function openControl(url: string): Promise<ControlNode> {
  return (await openNode(toControlConfig(url, { hasRules: false }))).node;
}

async function listen(from: ControlNode | FeedServer, port = 0) {
  const feed = from instanceof FeedServer ? from : from.feedServer;
  if (feed === undefined) throw new Error("it has no feed");
  const listener = await listenToFollowers(feed, port);
  closing.push(() => listener.close());
  return listener;
}

function followConfig(
  url: string,
  changes: Partial<FollowControlConfig> = {},
): FollowControlConfig {
  return {
    kind: "follow",
    url,
    token: FEED_TOKEN,
    caFile: undefined,
    snapshotFile: join(makeFolder("follower"), "node.snapshot"),
    staleMsMax: undefined,
    node: "edge-1",
    hasRules: false,
    ...changes,
  };
}

function savePlan(node: ControlNode, id: string, tier: string) {
  const { plans } = node.plane ?? {};
  if (plans === undefined) throw new Error("it is not a control node");
  return plans.put(by(), { id, input: { tier } });
}

const tierOf = (node: ControlNode, id: string) =>
  node.state.find("plan", id)?.tier as string | undefined;

describe.each(all)("a follower of a control node with $name", (databases) => {
  it.concurrent("has everything when it starts, each change soon after, and is listed with what it has applied", async () => {
    const control = await openControl(await databases.create());
    await savePlan(control, "a", "one");
    const { url } = await listen(control);
    const { node } = await openNode(followConfig(url));
    expect(tierOf(node, "a")).toBe("one");
    await savePlan(control, "a", "two");
    await savePlan(control, "b", "one");
    await vi.waitFor(() => expect(tierOf(node, "b")).toBe("one"), 20_000);
    expect(tierOf(node, "a")).toBe("two");
    expect(node.state.position).toEqual(control.state.position);
    await vi.waitFor(() => {
      expect(control.feedServer?.streams.list()).toMatchObject([{ node: "edge-1", sequence: 3 }]);
    }, 20_000);
    // A heartbeat says that nothing is missing, so the age begins again with each.
    await vi.waitFor(() => expect(node.ageMs).toBeLessThan(5_000), 20_000);
  });

  it.concurrent("goes on with what it has while the control node is unavailable, and has what it missed when that is back", async () => {
    const url = await databases.create();
    const first = await openControl(url);
    await savePlan(first, "a", "one");
    const listener = await listen(first);
    const config = followConfig(listener.url);
    const { node, problems } = await openNode(config);
    await listener.close();
    await first.close();
    await vi.waitFor(() => expect(problems).toHaveBeenCalled(), 20_000);
    expect(tierOf(node, "a")).toBe("one");
    const second = await openControl(url);
    for (const tier of ["two", "three", "four"]) await savePlan(second, "a", tier);
    const { requests } = await listen(second, listener.port);
    await vi.waitFor(() => expect(tierOf(node, "a")).toBe("four"), 10_000);
    // It went on where it was: the control node still had the changes.
    expect(requests).not.toContain("GET /v1/control/snapshot");
    await node.close();
    await second.close();
    const { node: again } = await openNode(config);
    expect(tierOf(again, "a")).toBe("four");
  });

  it.concurrent("loads a snapshot when the changes that it missed are not at hand", async () => {
    const url = await databases.create();
    const control = await openControl(url);
    await savePlan(control, "a", "one");
    const listener = await listen(control);
    const { node } = await openNode(followConfig(listener.url));
    await listener.close();
    await control.close();
    // More than a control node recalls when it starts.
    const edits = Array.from({ length: 1_100 }, (_, n) => ({
      action: "save",
      kind: "plan" as const,
      id: `p${n}`,
      body: { tier: "many" },
    }));
    await new Changes(databases.open(url)).apply(by(), () => edits);
    const again = await openControl(url);
    const { requests } = await listen(again, listener.port);
    await vi.waitFor(() => expect(tierOf(node, "p1099")).toBe("many"), 10_000);
    expect(requests).toContain("GET /v1/control/snapshot");
  });
});

describe.each(all)("the uses of API keys that a follower reports to $name", (databases) => {
  it.concurrent("are stored when it resolves; it rejects if the control node is unavailable or can't store them", async () => {
    const database = await databases.create();
    const control = await openControl(database);
    await control.plane?.tenants.put(by(), { id: "acme", input: {} });
    const key = await control.plane?.apiKeys.create(by(), { tenant: "acme", name: "shop" });
    const id = key?.id ?? "";
    const listener = await listen(control);
    const { node } = await openNode(followConfig(listener.url));
    await node.storeUses(new Map([[id, 400_000]]));
    const lastUse = async () => (await control.plane?.apiKeys.get(id))?.lastUsedAtMs;
    expect(await lastUse()).toBe(400_000 * 3_600_000);
    // Who it is does not get mixed up with it.
    expect(control.feedServer?.streams.list()[0]).not.toHaveProperty("uses");
    const other = databases.open(database);
    await other.query("ALTER TABLE key_uses RENAME TO away");
    await expect(node.storeUses(new Map([[id, 400_001]]))).rejects.toThrow("status 500");
    await other.query("ALTER TABLE away RENAME TO key_uses");
    await node.storeUses(new Map([[id, 400_001]]));
    expect(await lastUse()).toBe(400_001 * 3_600_000);
    await listener.close();
    await expect(node.storeUses(new Map([[id, 400_002]]))).rejects.toThrow();
  });
});

// What these are about begins behind the database, in the hub that every change passes: how a change gets there is above.
describe("a follower", () => {
  const [sqlite] = all;

  it.concurrent("without a control node and without a snapshot does not start, and says what to do", async () => {
    const control = await openControl(await sqlite.create());
    const { url } = await listen(control);
    await expect(openNode(followConfig(url, { token: "another-token-of-16" }))).rejects.toThrow(
      /can't be reached \(.*it refused the token \(401\): control.token is wrong, expired or revoked\), and there is no/,
    );
    await expect(openNode(followConfig("http://127.0.0.1:9"))).rejects.toThrow("ECONNREFUSED");
    const other = createServer((_, response) => response.end("hello"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    closing.push(() => other.close());
    const { port } = other.address() as AddressInfo;
    await expect(openNode(followConfig(`http://127.0.0.1:${port}`))).rejects.toThrow(
      "check that control.follow is the admin port of a control node",
    );
  });

  it.concurrent("that reads nothing costs little memory, is cut off after a while, and costs the others nothing", async () => {
    const control = await openControl(await sqlite.create());
    const feed = new FeedServer(control.hub, async () => {}, { stallMsMax: 5_000 });
    const { streams } = feed;
    closing.push(() => feed.close());
    const { url, port } = await listen(feed);
    const { node } = await openNode(followConfig(url));
    const stuck = await openStuck(port);
    await vi.waitFor(() => expect(streams.count).toBe(2), 20_000);
    let waitingBytes = 0;
    const big = "x".repeat(900);
    for (let n = 0; n < 300; n++) {
      const attributes = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`a${i}`, big]));
      await control.plane?.tenants.put(by(), { id: `t${n}`, input: { attributes } });
      // SQLite answers within one turn of the event loop, and sockets need turns too.
      await pause(1);
      waitingBytes = Math.max(waitingBytes, streams.waitingBytes);
    }
    expect(waitingBytes).toBeLessThan(1 << 20);
    await vi.waitFor(() => expect(streams.cutOff).toBe(1), 60_000);
    expect(streams.list().map((each) => each.node)).toEqual(["edge-1"]);
    await vi.waitFor(() => expect(node.state.sequence).toBe(control.state.sequence), 20_000);
    stuck.destroy();
  });

  it.concurrent("gets a change that takes longer than a heartbeat to arrive", async () => {
    const database = await sqlite.create();
    const control = await openControl(database);
    const listener = await listen(control);
    const proxy = await startFaultProxy({ port: listener.port });
    closing.push(() => proxy.close());
    const { node } = await openNode(followConfig(`http://127.0.0.1:${proxy.port}`));
    // Some megabytes a second.
    proxy.trickle({ bytes: 100_000, everyMs: 20 });
    const tier = "x".repeat(12 << 20);
    const edit = { action: "save", kind: "plan" as const, id: "big", body: { tier } };
    await new Changes(sqlite.open(database)).apply(by(), () => [edit]);
    await vi.waitFor(() => expect(tierOf(node, "big")?.length).toBe(tier.length), 90_000);
    const opened = listener.requests.filter((each) => each === "GET /v1/control/changes");
    expect(opened).toHaveLength(1);
  });

  it.concurrent("that missed thousands of changes catches up with them", async () => {
    const database = await sqlite.create();
    const control = await openControl(database);
    const listener = await listen(control);
    const { node } = await openNode(followConfig(listener.url));
    await listener.close();
    const edits = Array.from({ length: 5_000 }, (_, n) => ({
      action: "save",
      kind: "plan" as const,
      id: `p${n}`,
      body: { tier: "many" },
    }));
    await new Changes(sqlite.open(database)).apply(by(), () => edits);
    await control.catchUp();
    const { requests } = await listen(control, listener.port);
    await vi.waitFor(() => expect(tierOf(node, "p4999")).toBe("many"), 60_000);
    expect(requests).not.toContain("GET /v1/control/snapshot");
  });

  it.concurrent("does not load a snapshot beyond its bound, says so, and keeps what it has", async () => {
    const control = await openControl(await sqlite.create());
    await savePlan(control, "a", "one");
    const { url } = await listen(control);
    const own = { version: "1", instance: "a", snapshotLengthMax: 2_000 };
    const options = { ...followConfig(url), ...own };
    const first = new Follower({ feed: new HttpFeed(options), ...options });
    await first.start();
    await first.close();
    for (let n = 0; n < 50; n++) await savePlan(control, `p${n}`, "x".repeat(60));
    const problems: string[] = [];
    // The changes since then are no longer at hand: it needs a snapshot.
    control.hub.restart();
    const again = new Follower({
      feed: new HttpFeed(options),
      ...options,
      onProblem: (_, error) => problems.push(String(error)),
    });
    closing.push(() => again.close());
    await again.start();
    await vi.waitFor(() => {
      expect(problems.join()).toMatch(/its snapshot has over 2000 characters, the bound/);
    }, 20_000);
    expect(again.state.find("plan", "a")).toMatchObject({ tier: "one" });
    expect(again.hasState).toBe(true);
  });

  it.concurrent("that hears nothing for some seconds opens its stream again", async () => {
    const control = await openControl(await sqlite.create());
    const listener = await listen(control);
    const proxy = await startFaultProxy({ port: listener.port });
    closing.push(() => proxy.close());
    const { node, problems } = await openNode(followConfig(`http://127.0.0.1:${proxy.port}`));
    // Connections stay open, and nothing comes through any more.
    proxy.partition();
    await savePlan(control, "a", "one");
    await vi.waitFor(() => expect(problems).toHaveBeenCalled(), 40_000);
    proxy.heal();
    await vi.waitFor(() => expect(tierOf(node, "a")).toBe("one"), 40_000);
  });
});

/** A follower that asks for changes and never reads. */
function openStuck(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.pause();
      socket.write(
        "GET /v1/control/changes?after=0&hash=&node=stuck&version=1 HTTP/1.1\r\nHost: a\r\n" +
          `Authorization: Bearer ${FEED_TOKEN}\r\n\r\n`,
      );
      resolve(socket);
    });
    socket.on("error", () => {});
  });
}
