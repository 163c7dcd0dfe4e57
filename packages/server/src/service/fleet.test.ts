// The live stream of a control node shows its whole fleet, and one node on request. Real services, in one process.

import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ADMIN_TOKEN, toControlService } from "../../test/control/control-config.js";
import { testDatabases } from "../../test/control/databases.js";
import { type LiveStreamReader, LiveStreams } from "../../test/control/live-streams.js";
import { NodeReader } from "../admin/live/node/node-reader.js";
import { pause } from "../base/clock.js";
import type { Config, FollowControlConfig } from "../config/config.js";
import { FollowerStream } from "../control/feed/follower-stream.js";
import { type Service, startService } from "./service.js";

const bothKinds = testDatabases();
const WAIT = { timeout: 10_000, interval: 20 };
/** Control nodes write that they are there every few seconds, and pages read it as often. */
const LONG_WAIT = { timeout: 20_000, interval: 50 };
const services: Service[] = [];
const streams = new LiveStreams();
const READY = {
  isReady: () => ({ ready: true, reasons: [] }),
  reload: async () => {},
  metrics: async () => "",
};
let database: string;
let primary: Service;
let nodes: Readonly<Record<"node-1" | "edge-1" | "edge-2", Service>>;

afterEach(async () => {
  streams.close();
  for (const service of services.splice(0).reverse()) await service.close();
});
afterAll(() => Promise.all(bothKinds.map((each) => each.stop())));

async function start(config: Config): Promise<Service> {
  const service = await startService(config);
  services.push(service);
  return service;
}

async function startFollower(node: string): Promise<Service> {
  const control: FollowControlConfig = {
    kind: "follow",
    url: urlOf(primary),
    token: ADMIN_TOKEN,
    caFile: undefined,
    snapshotFile: join(makeFolder("follower"), `${node}.snapshot`),
    staleMsMax: undefined,
    node,
    hasRules: false,
  };
  return start({ ...toControlService(""), control });
}

function urlOf({ listeners }: Service): string {
  return listeners.find(({ name }) => name === "admin")?.url ?? "";
}

const open = (query = "", service = primary, token = ADMIN_TOKEN) =>
  streams.open(`${urlOf(service)}/v1/live${query}`, token);

/** Decides requests on a node, as its gateway does. */
async function decide({ core }: Service, times: number, ip = "192.0.2.1"): Promise<void> {
  const facts = { method: "GET", path: "/", ip };
  for (let i = 0; i < times; i++)
    core.telemetry.decided("gateway", await core.policy.admit(facts), facts, 0.02);
}

const decisionsOf = (seconds: readonly { allowed: number; blocked: number }[]) =>
  seconds.reduce((sum, { allowed, blocked }) => sum + allowed + blocked, 0);

describe.each(bothKinds)("the live stream of a fleet, with $name,", (databases) => {
  beforeEach(async () => {
    database = await databases.create();
    primary = await start(toControlService(database));
    const [edge1, edge2] = [await startFollower("edge-1"), await startFollower("edge-2")];
    nodes = { "node-1": primary, "edge-1": edge1, "edge-2": edge2 };
  });

  it("adds up what all nodes do, and shows one of them on request", async () => {
    const [all, one] = [await open(), await open("?node=edge-2")];
    await vi.waitFor(() => expect(all.tick()?.fleet.reporting).toBe(3), WAIT);
    await decide(nodes["node-1"], 5);
    await decide(nodes["edge-1"], 7);
    await decide(nodes["edge-2"], 11, "192.0.2.2");
    await vi.waitFor(() => expect(decisionsOf(all.ticks)).toBe(23), WAIT);
    expect(decisionsOf(one.ticks)).toBe(11);
    expect(one.tick()?.fleet).toMatchObject({ picked: "edge-2", nodesInAll: 3, reporting: 3 });
    expect(all.tick()?.fleet).toMatchObject({
      kind: "control",
      name: "node-1",
      picked: null,
      nodes: [
        { name: "edge-1", kind: "follower", isSilent: false },
        { name: "edge-2", kind: "follower", isSilent: false },
        { name: "node-1", kind: "control", isSilent: false },
      ],
    });
    const shared = all.tick()?.hottest.find(({ rule }) => rule === "per-address");
    expect(shared?.share).toBeGreaterThan(0);
  });

  it("has the last minutes of all nodes when a page is opened", async () => {
    await decide(nodes["node-1"], 2);
    await decide(nodes["edge-1"], 3);
    // A second is in the past when it is over.
    await pause(1_100);
    const [all, one] = [await open(), await open("?node=edge-1")];
    const past = (stream: LiveStreamReader) => decisionsOf(stream.begins.at(-1)?.seconds ?? []);
    await vi.waitFor(() => expect([past(all), past(one)]).toEqual([5, 3]), WAIT);
  });

  it("shows followers' keys and requests to operators, and hashes to viewers", async () => {
    const viewer = await tokenOf("viewer");
    const [clear, hashed] = [await open("?keys=clear"), await open("", primary, viewer)];
    await vi.waitFor(() => expect(clear.tick()?.fleet.reporting).toBe(3), WAIT);
    await decide(nodes["edge-1"], 200, "192.0.2.7");
    await vi.waitFor(() => expect(refusalsOf(clear)).not.toEqual([]), WAIT);
    await vi.waitFor(() => expect(refusalsOf(hashed)).not.toEqual([]), WAIT);
    await vi.waitFor(() => expect(hashed.tick()?.hottest).not.toEqual([]), WAIT);
    expect(refusalsOf(clear)[0]).toMatchObject({ key: "ip:192.0.2.7", request: "GET /" });
    expect(refusalsOf(hashed)[0].key).toMatch(/^hmac:/);
    expect(JSON.stringify([hashed.begins, hashed.ticks])).not.toContain("192.0.2.7");
  });

  it("names a node that has fallen silent, and leaves its numbers out", async () => {
    const all = await open();
    await vi.waitFor(() => expect(all.tick()?.fleet.reporting).toBe(3), WAIT);
    await nodes["edge-2"].close();
    const silent = expect.objectContaining({ name: "edge-2", isSilent: true, allowed: 0 });
    await vi.waitFor(() => expect(all.tick()?.fleet.nodes).toContainEqual(silent), WAIT);
    expect(all.tick()).toMatchObject({ fleet: { nodesInAll: 3, reporting: 2 } });
    expect(all.tick()?.notices[0].text).toMatch(
      /^edge-2 has not reported for [\d.]+ seconds?\. Its requests are missing from these numbers\.$/,
    );
  });

  it("refuses a node that is not known, and shows a follower alone on its own port", async () => {
    expect((await open("?node=edge-9")).status).toBe(404);
    const own = await open("", nodes["edge-1"]);
    await decide(nodes["edge-1"], 3);
    await decide(primary, 5);
    await vi.waitFor(() => expect(decisionsOf(own.ticks)).toBe(3), WAIT);
    expect(own.tick()?.fleet).toMatchObject({
      kind: "follower",
      name: "edge-1",
      follow: urlOf(primary),
      nodesInAll: 1,
    });
  });

  it("takes reports that followers may send, and no others", async () => {
    const report = async (live: object) => {
      const body = JSON.stringify({ node: "edge-1", version: "1", sequence: 1, live });
      const headers = {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        "content-type": "application/json",
      };
      const options = { method: "POST", headers, body };
      return (await fetch(`${urlOf(primary)}/v1/control/report`, options)).status;
    };
    const reader = new NodeReader({ core: primary.core, control: READY });
    await decide(primary, 30);
    const live = await reader.report(true);
    expect(live.refusals.length).toBe(20);
    expect(await report(live)).toBe(200);
    expect(await report({ ...live, allowed: -1 })).toBe(400);
    expect(await report({ ...live, refusals: [...live.refusals, live.refusals[0]] })).toBe(400);
    expect(await report({ ...live, version: "x".repeat(300_000) })).toBe(413);
  });

  it("takes nothing that one node says of another", async () => {
    const all = await open();
    await vi.waitFor(() => expect(all.tick()?.fleet.reporting).toBe(3), WAIT);
    const reader = new NodeReader({ core: primary.core, control: READY });
    const live = { ...(await reader.report(true)), allowed: 4_711 };
    const ask = async (path: string, token: string, input?: object) => {
      const type = { "content-type": "application/json" };
      const headers = { authorization: `Bearer ${token}`, ...type };
      const sent = input && { method: "POST", body: JSON.stringify(input) };
      return (await fetch(urlOf(primary) + path, { headers, ...sent })).json();
    };
    const report = { node: "edge-1", version: "0.0.0-fake", sequence: 4_711, live };
    const answer = await ask("/v1/control/report", await tokenOf("node"), report);
    expect(answer).toEqual({ reported: true });
    expect(JSON.stringify(await ask("/v1/nodes", ADMIN_TOKEN))).not.toMatch(/4711|fake/);
    const count = all.ticks.length;
    await vi.waitFor(() => expect(all.ticks.length).toBeGreaterThan(count + 1), WAIT);
    expect(decisionsOf(all.ticks)).toBe(0);
  });

  it("says how many nodes another control node shows", async () => {
    const other = toControlService(database);
    if (other.control === undefined) throw new Error("it is a control node");
    await start({ ...other, control: { ...other.control, node: "node-2" } });
    const all = await open();
    const elsewhere = { nodes: 1, via: ["node-2"] };
    await vi.waitFor(() => expect(all.tick()?.fleet.elsewhere).toEqual(elsewhere), LONG_WAIT);
  });

  it("asks followers nothing unless a page is open", async () => {
    const ask = vi.spyOn(FollowerStream.prototype, "ask");
    await pause(1_200);
    expect(ask).not.toHaveBeenCalled();
    await open();
    expect(ask).toHaveBeenCalledTimes(2);
    streams.close();
    await pause(100);
    ask.mockClear();
    await pause(1_200);
    expect(ask).not.toHaveBeenCalled();
    ask.mockRestore();
  });
});

const refusalsOf = ({ ticks }: LiveStreamReader) => ticks.flatMap(({ refusals }) => refusals);

async function tokenOf(role: "viewer" | "node"): Promise<string> {
  const by = { id: `token-${role}`, actor: "anna", origin: "local", reason: "a test" };
  await primary.control?.plane?.accessTokens.createFirst({ ...by, id: `${by.id}-admin` });
  const { secret } = (await primary.control?.plane?.accessTokens.create(by, {
    name: role,
    role,
  })) ?? { secret: "" };
  return secret;
}
