// An operator asks a control node about a caller or a draft, and the answer covers its followers too: their samples, and
// their counters where they have a store of their own.

import { join } from "node:path";
import { makeFolder, startRedis } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import type { Config } from "../../src/config/config.js";
import { type Service, startService } from "../../src/service/service.js";
import { ADMIN_TOKEN, toControlConfig, toControlService } from "./control-config.js";

const services: Service[] = [];
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const service of services.splice(0).reverse()) await service.close();
  for (const stop of stops.splice(0)) await stop();
});

const LISTEN: Config["decision"] = {
  listen: { host: "127.0.0.1", port: 0 },
  tokens: [],
  forwardAuth: false,
  bodyBytesMax: 1_000,
};
const IP = "203.0.113.7";
const RULES = { version: 1, rules: [{ id: "login", key: "ip", limit: "3/hour" }] };
const draft = (limit: number) =>
  JSON.stringify({ version: 1, rules: [{ id: "login", key: "ip", limit: `${limit}/hour` }] });

async function start(config: Config): Promise<Service> {
  const service = await startService(config);
  services.push(service);
  return service;
}

const urlOf = ({ listeners }: Service, name: string) =>
  listeners.find((each) => each.name === name)?.url ?? "";

interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
  readonly body: any;
}

/** A control node and followers of it. */
async function startFleet(names: readonly string[], changes: Partial<Config> = {}) {
  const folder = makeFolder("fleet");
  const database = `file:${join(folder, "sluice.db")}`;
  const shared = { rules: { inline: RULES }, decision: LISTEN, ...changes };
  const control = await start(
    toControlService(database, {
      ...shared,
      control: toControlConfig(database, { node: "control" }),
    }),
  );
  const followers: Service[] = [];
  for (const node of names) {
    const follow = {
      kind: "follow" as const,
      url: urlOf(control, "admin"),
      token: ADMIN_TOKEN,
      caFile: undefined,
      snapshotFile: join(folder, `${node}.snapshot`),
      staleMsMax: undefined,
      node,
      hasRules: false,
    };
    followers.push(await start(toControlService(database, { ...shared, control: follow })));
  }
  const ask = async (path: string, body?: object) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${ADMIN_TOKEN}` };
    const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${urlOf(control, "admin")}${path}`, { headers, ...options });
    expect(response.status).toBe(200);
    return ({ body: await response.json() } as Answer).body;
  };
  /** Asks until all nodes have answered in time: on a busy machine one may not. */
  const askAll = async (path: string, body?: object) => {
    let answer = await ask(path, body);
    while (answer.nodes.covered < answer.nodes.inAll) answer = await ask(path, body);
    return answer;
  };
  const decide = async (service: Service, times: number) => {
    const facts = { method: "POST", path: "/login", ip: IP };
    for (let i = 0; i < times; i++) {
      const response = await fetch(`${urlOf(service, "decision")}/v1/check`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ facts }),
      });
      expect([200, 429]).toContain(response.status);
    }
  };
  await expect
    .poll(async () => (await ask("/v1/samples")).nodes)
    .toMatchObject({ inAll: names.length + 1, covered: names.length + 1 });
  return { control, followers, ask, askAll, decide };
}

const FACTS = { method: "POST", path: "/login", ip: IP };

describe("a control node whose followers count in memory", () => {
  it("shows the decisions of all nodes, each with its node", async () => {
    const { control, followers, askAll, decide } = await startFleet(["edge-1", "edge-2"]);
    await decide(control, 1);
    await decide(followers[0], 1);
    await decide(followers[1], 1);
    const { items, nodes } = await askAll(`/v1/samples?key=ip:${IP}&keys=clear`);
    expect(nodes).toEqual({ inAll: 3, covered: 3, silent: [], elsewhere: 0 });
    expect(items.map(({ node }: { node: string }) => node).sort()).toEqual([
      "control",
      "edge-1",
      "edge-2",
    ]);
    // Who may not see keys sees one hash of it, whichever node decided, and finds its decisions by that.
    const hidden = await askAll("/v1/samples");
    expect(JSON.stringify(hidden)).not.toContain(IP);
    const hashes = new Set<string>(hidden.items.map(({ key }: { key: string }) => key));
    expect(hashes.size).toBe(1);
    const found = await askAll(`/v1/samples?key=${[...hashes][0]}`);
    expect(found.items.length).toBe(3);
  });

  it("replays the requests of each node with counters of their own", async () => {
    const { control, followers, askAll, decide } = await startFleet(["edge-1"]);
    await decide(control, 2);
    await decide(followers[0], 3);
    const same = await askAll("/v1/rule-sets/preview", { text: draft(3) });
    expect(same.nodes).toMatchObject({ inAll: 2, covered: 2 });
    // Counted together they would be five, two more than are allowed.
    expect(same.requests).toMatchObject({ total: 5, refusedBefore: 0, asDecided: 5 });
    const fewer = await askAll("/v1/rule-sets/preview", { text: draft(1) });
    expect(fewer.requests).toMatchObject({ newlyRefused: 3 });
  });

  it("shows how a caller stands on each of them", async () => {
    const { control, followers, askAll, decide } = await startFleet(["edge-1"]);
    await decide(control, 1);
    await decide(followers[0], 4);
    expect(await askAll("/v1/explain/nodes", { facts: FACTS })).toMatchObject({
      node: "control",
      store: "memory",
      sharing: 0,
      elsewhere: [
        {
          node: "edge-1",
          store: "memory",
          allowed: false,
          rule: "login",
          counters: [{ rule: "login", key: `ip:${IP}`, limit: 3, remaining: 0, wouldPass: false }],
        },
      ],
    });
  });

  it("says who did not answer, and takes no answer from a stranger", async () => {
    const { control, followers, ask } = await startFleet(["edge-1"]);
    const questions = control.control?.feedServer?.questions;
    const asked: string[] = [];
    const streams = control.control?.feedServer?.streams;
    if (streams === undefined || questions === undefined) throw new Error("no control node");
    const { askNode } = streams;
    // The question is lost on its way.
    streams.askNode = (_name, { id }) => {
      asked.push(id);
      return true;
    };
    const waiting = ask("/v1/samples");
    await expect.poll(() => asked.length).toBe(1);
    const answer = {
      node: "edge-9",
      version: "1.0.0",
      sequence: 0,
      answer: {
        id: asked[0],
        nowMs: Date.now(),
        store: { kind: "memory", id: "m" },
        latest: [],
      },
    };
    expect(await ask("/v1/control/answer", answer)).toEqual({ reported: true });
    expect((await waiting).nodes).toMatchObject({ inAll: 2, covered: 1, silent: ["edge-1"] });
    streams.askNode = askNode;
    await expect.poll(async () => (await ask("/v1/samples")).nodes.covered).toBe(2);
    await followers[0].close();
    await expect.poll(async () => (await ask("/v1/samples")).nodes.inAll).toBe(1);
  });
});

describe("a control node whose followers count in the same Redis", () => {
  it("says that its counters are theirs, and replays all requests together", async () => {
    const redis = await startRedis();
    stops.push(() => redis.stop());
    const store = {
      kind: "redis",
      url: `redis://127.0.0.1:${redis.port}`,
      onStoreFailure: "closed",
      keyPrefix: undefined,
      timeoutMs: 5_000,
      failReadiness: false,
    } as const;
    const { control, followers, askAll, decide } = await startFleet(["edge-1"], { store });
    await decide(control, 2);
    await decide(followers[0], 3);
    expect(await askAll("/v1/explain/nodes", { facts: FACTS })).toMatchObject({
      store: "redis",
      sharing: 1,
      elsewhere: [],
    });
    const { requests } = await askAll("/v1/rule-sets/preview", { text: draft(3) });
    expect(requests).toMatchObject({ total: 5, refusedBefore: 2, asDecided: 5 });
  });
});
