// The live stream of a control node shows its whole fleet, and one node on request. Real services, in one process. Each
// test has a fleet of its own and mostly waits for the next seconds of its streams, so tests run beside each other.

import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterAll, describe, expect, it, type TestContext, vi } from "vitest";
import { ADMIN_TOKEN, toControlService } from "../../test/control/control-config.js";
import { type TestDatabases, testDatabases } from "../../test/control/databases.js";
import { type LiveStreamReader, LiveStreams } from "../../test/control/live-streams.js";
import { NodeReader } from "../admin/live/node/node-reader.js";
import { pause } from "../base/clock.js";
import type { Config, FollowControlConfig } from "../config/config.js";
import { FollowerStream } from "../control/feed/follower-stream.js";
import { type Service, startService } from "./service.js";

const bothKinds = testDatabases();
/** What comes within two or three seconds; a busy machine is not a failure. */
const WAIT = { timeout: 60_000, interval: 20 };
const READY = {
  isReady: () => ({ ready: true, reasons: [] }),
  reload: async () => {},
  metrics: async () => "",
};

afterAll(() => Promise.all(bothKinds.map((each) => each.stop())));

/** A control node with two followers, and the streams that are open. It ends with its test. */
interface Fleet {
  readonly database: string;
  readonly primary: Service;
  readonly edge1: Service;
  readonly edge2: Service;
  start(config: Config): Promise<Service>;
  open(query?: string, service?: Service, token?: string): Promise<LiveStreamReader>;
  closeStreams(): void;
}

async function startFleet(
  databases: TestDatabases,
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
): Promise<Fleet> {
  const services: Service[] = [];
  const streams = new LiveStreams();
  onTestFinished(async () => {
    streams.close();
    for (const service of services.reverse()) await service.close();
  });
  const start = async (config: Config) => {
    const service = await startService(config);
    services.push(service);
    return service;
  };
  const database = await databases.create();
  const primary = await start(toControlService(database));
  const edge1 = await start(toFollower("edge-1", primary));
  const edge2 = await start(toFollower("edge-2", primary));
  const open = (query = "", service = primary, token = ADMIN_TOKEN) =>
    streams.open(`${urlOf(service)}/v1/live${query}`, token);
  return { database, primary, edge1, edge2, start, open, closeStreams: () => streams.close() };
}

function toFollower(node: string, primary: Service): Config {
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
  return { ...toControlService(""), control };
}

function urlOf({ listeners }: Service): string {
  return listeners.find(({ name }) => name === "admin")?.url ?? "";
}

/** Decides requests on a node, as its gateway does. */
async function decide({ core }: Service, times: number, ip = "192.0.2.1"): Promise<void> {
  const facts = { method: "GET", path: "/", ip };
  for (let i = 0; i < times; i++)
    core.telemetry.decided("gateway", await core.policy.admit(facts), facts, 0.02);
}

const decisionsOf = (seconds: readonly { allowed: number; blocked: number }[]) =>
  seconds.reduce((sum, { allowed, blocked }) => sum + allowed + blocked, 0);

describe.each(bothKinds)("the live stream of a fleet, with $name,", (databases) => {
  it.concurrent("adds up what all nodes do, and shows one of them on request", async (test) => {
    const { primary, edge1, edge2, open } = await startFleet(databases, test);
    const [all, one] = [await open(), await open("?node=edge-2")];
    await vi.waitFor(() => expect(all.tick()?.fleet.reporting).toBe(3), WAIT);
    await decide(primary, 5);
    await decide(edge1, 7);
    await decide(edge2, 11, "192.0.2.2");
    await vi.waitFor(() => expect(decisionsOf(all.ticks)).toBe(23), WAIT);
    await vi.waitFor(() => expect(decisionsOf(one.ticks)).toBe(11), WAIT);
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

  it.concurrent("has the last minutes of all nodes when a page is opened", async (test) => {
    const { primary, edge1, open } = await startFleet(databases, test);
    await decide(primary, 2);
    await decide(edge1, 3);
    // A second is in the past when it is over.
    await pause(1_100);
    const [all, one] = [await open(), await open("?node=edge-1")];
    const past = (stream: LiveStreamReader) => decisionsOf(stream.begins.at(-1)?.seconds ?? []);
    await vi.waitFor(() => expect([past(all), past(one)]).toEqual([5, 3]), WAIT);
  });

  it.concurrent("shows followers' keys and requests to operators, and hashes to viewers", async (test) => {
    const { primary, edge1, open } = await startFleet(databases, test);
    const viewer = await tokenOf(primary, "viewer");
    const [clear, hashed] = [await open("?keys=clear"), await open("", primary, viewer)];
    await vi.waitFor(() => expect(clear.tick()?.fleet.reporting).toBe(3), WAIT);
    await decide(edge1, 200, "192.0.2.7");
    await vi.waitFor(() => expect(refusalsOf(clear)).not.toEqual([]), WAIT);
    await vi.waitFor(() => expect(refusalsOf(hashed)).not.toEqual([]), WAIT);
    await vi.waitFor(() => expect(hashed.tick()?.hottest).not.toEqual([]), WAIT);
    expect(refusalsOf(clear)[0]).toMatchObject({ key: "ip:192.0.2.7", request: "GET /" });
    expect(refusalsOf(hashed)[0].key).toMatch(/^hmac:/);
    expect(JSON.stringify([hashed.begins, hashed.ticks])).not.toContain("192.0.2.7");
  });

  it.concurrent("names a node that has fallen silent, and leaves its numbers out", async (test) => {
    const { edge2, open } = await startFleet(databases, test);
    const all = await open();
    await vi.waitFor(() => expect(all.tick()?.fleet.reporting).toBe(3), WAIT);
    await edge2.close();
    const silent = expect.objectContaining({ name: "edge-2", isSilent: true, allowed: 0 });
    await vi.waitFor(() => {
      expect(all.tick()?.fleet.nodes).toContainEqual(silent);
      expect(all.tick()).toMatchObject({ fleet: { nodesInAll: 3, reporting: 2 } });
    }, WAIT);
    expect(all.tick()?.notices[0].text).toMatch(
      /^edge-2 has not reported for [\d.]+ seconds?\. Its requests are missing from these numbers\.$/,
    );
  });

  it.concurrent("refuses a node that is not known, and shows a follower alone on its own port", async (test) => {
    const { primary, edge1, open } = await startFleet(databases, test);
    expect((await open("?node=edge-9")).status).toBe(404);
    const own = await open("", edge1);
    await decide(edge1, 3);
    await decide(primary, 5);
    await vi.waitFor(() => expect(decisionsOf(own.ticks)).toBe(3), WAIT);
    expect(own.tick()?.fleet).toMatchObject({
      kind: "follower",
      name: "edge-1",
      follow: urlOf(primary),
      nodesInAll: 1,
    });
  });

  it.concurrent("takes reports that followers may send, and no others", async (test) => {
    const { primary } = await startFleet(databases, test);
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

  it.concurrent("takes nothing that one node says of another", async (test) => {
    const { primary, open } = await startFleet(databases, test);
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
    const answer = await ask("/v1/control/report", await tokenOf(primary, "node"), report);
    expect(answer).toEqual({ reported: true });
    expect(JSON.stringify(await ask("/v1/nodes", ADMIN_TOKEN))).not.toMatch(/4711|fake/);
    const count = all.ticks.length;
    await vi.waitFor(() => expect(all.ticks.length).toBeGreaterThan(count + 1), WAIT);
    expect(decisionsOf(all.ticks)).toBe(0);
  });

  it.concurrent("says how many nodes another control node shows", async (test) => {
    const { database, start, open } = await startFleet(databases, test);
    const other = toControlService(database);
    if (other.control === undefined) throw new Error("it is a control node");
    await start({ ...other, control: { ...other.control, node: "node-2" } });
    const all = await open();
    const elsewhere = { nodes: 1, via: ["node-2"] };
    // Control nodes write that they are there every few seconds, and pages read it as often.
    await vi.waitFor(() => expect(all.tick()?.fleet.elsewhere).toEqual(elsewhere), WAIT);
  });
});

// One after the other: it counts what any node is asked.
describe.each(bothKinds)("a fleet with $name", (databases) => {
  it("is asked nothing unless a page is open", async (test) => {
    const { open, closeStreams } = await startFleet(databases, test);
    const ask = vi.spyOn(FollowerStream.prototype, "ask");
    await pause(1_200);
    expect(ask).not.toHaveBeenCalled();
    await open();
    expect(ask).toHaveBeenCalledTimes(2);
    closeStreams();
    await pause(100);
    ask.mockClear();
    await pause(1_200);
    expect(ask).not.toHaveBeenCalled();
    ask.mockRestore();
  });
});

const refusalsOf = ({ ticks }: LiveStreamReader) => ticks.flatMap(({ refusals }) => refusals);

async function tokenOf({ control }: Service, role: "viewer" | "node"): Promise<string> {
  const by = { id: `token-${role}`, actor: "anna", origin: "local", reason: "a test" };
  await control?.plane?.accessTokens.createFirst({ ...by, id: `${by.id}-admin` });
  const { secret } = (await control?.plane?.accessTokens.create(by, { name: role, role })) ?? {
    secret: "",
  };
  return secret;
}
