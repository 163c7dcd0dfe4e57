// The live stream of a control node shows its whole fleet, and one node on request. Real services, in one process.

import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ADMIN_TOKEN, toControlService } from "../../test/control/control-config.js";
import { testDatabases } from "../../test/control/databases.js";
import { LiveStreams } from "../../test/control/live-streams.js";
import type { Config, FollowControlConfig } from "../config/config.js";
import { type Service, startService } from "./service.js";

const [databases, ...others] = testDatabases();
const WAIT = { timeout: 10_000, interval: 20 };
const services: Service[] = [];
const streams = new LiveStreams();
let primary: Service;
let nodes: Readonly<Record<"node-1" | "edge-1" | "edge-2", Service>>;

beforeEach(async () => {
  primary = await start(toControlService(await databases.create()));
  const [edge1, edge2] = [await startFollower("edge-1"), await startFollower("edge-2")];
  nodes = { "node-1": primary, "edge-1": edge1, "edge-2": edge2 };
});
afterEach(async () => {
  streams.close();
  for (const service of services.splice(0).reverse()) await service.close();
});
afterAll(() => Promise.all([databases, ...others].map((each) => each.stop())));

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

const open = (query = "", service = primary) =>
  streams.open(`${urlOf(service)}/v1/live${query}`, ADMIN_TOKEN);

/** Decides requests on a node, as its gateway does. */
async function decide({ core }: Service, times: number, ip = "192.0.2.1"): Promise<void> {
  const facts = { method: "GET", path: "/", ip };
  for (let i = 0; i < times; i++)
    core.telemetry.decided("gateway", await core.policy.admit(facts), facts, 0.02);
}

const decisionsOf = (seconds: readonly { allowed: number; blocked: number }[]) =>
  seconds.reduce((sum, { allowed, blocked }) => sum + allowed + blocked, 0);

describe("the live stream of a fleet", () => {
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
});
