// Switches of one node: an operator can stop or open the limiter there while the database is unavailable.

import { join } from "node:path";
import { makeFolder, startPostgres } from "sluice-test-servers";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { sluice } from "../../test/cli/fake-terminal.js";
import { ADMIN_TOKEN, toControlService } from "../../test/control/control-config.js";
import { testDatabases } from "../../test/control/databases.js";
import { readMs } from "../base/clock.js";
import type { Config, FollowControlConfig } from "../config/config.js";
import { type Service, startService } from "./service.js";

const all = testDatabases();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

const RULE = "per-address";
const reason = "an incident";

async function start(config: Config): Promise<Service> {
  const service = await startService(config);
  closing.push(() => service.close());
  return service;
}

function urlOf({ listeners }: Service): string {
  return listeners.find(({ name }) => name === "admin")?.url ?? "";
}

/** What tests look at in answers. */
interface Answered {
  readonly detail?: string;
  readonly items?: readonly { readonly after?: object }[];
}

async function send(service: Service, request: string, sent?: object) {
  const [method, path] = request.split(" ");
  const response = await fetch(urlOf(service) + path, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
  });
  const body = (await response.json()) as Answered;
  return { status: response.status, body };
}

/** What a request meets: a limit, a denial, or nothing. */
async function standOf({ core }: Service): Promise<string> {
  const facts = { method: "GET", path: "/", ip: "203.0.113.9" };
  const { allowed, reason, results } = await core.policy.peek(facts);
  if (!allowed) return String(reason);
  return results.length === 0 ? "open" : "limited";
}

describe.each(all)("a switch of one node, with $name,", (databases) => {
  it("holds there and nowhere else, before the control plane's own, and is in the audit log", async () => {
    const url = await databases.create();
    const [one, other] = [await start(toControlService(url)), await start(toControlService(url))];
    const state = { state: "off", reason };
    expect(await standOf(one)).toBe("limited");
    const put = await send(one, `PUT /v1/node/switches/${RULE}`, state);
    expect(put).toMatchObject({
      status: 200,
      body: { rule: RULE, ...state, actor: "admin.token" },
    });
    expect(await standOf(one)).toBe("open");
    expect(await standOf(other)).toBe("limited");
    await send(other, `PUT /v1/switches/${RULE}`, { state: "deny", reason });
    await vi.waitFor(async () => expect(await standOf(other)).toBe("denied"), 20_000);
    await one.control?.catchUp();
    expect(await standOf(one)).toBe("open");
    const listed = await send(one, "GET /v1/node/switches");
    expect(listed.body.items).toMatchObject([{ rule: RULE, state: "off" }]);
    await send(one, `DELETE /v1/node/switches/${RULE}`, {});
    expect(await standOf(one)).toBe("denied");
    expect(await send(one, `DELETE /v1/node/switches/${RULE}`, {})).toMatchObject({ status: 404 });
    await vi.waitFor(async () => {
      const { body } = await send(one, "GET /v1/audit?kind=node-switch");
      const states = body.items?.map(({ after }) => after);
      expect(states).toMatchObject([{ state: "on" }, { state: "off", reason }]);
    }, 20_000);
    await vi.waitFor(
      () => expect(other.control?.state.sequence).toBe(one.control?.state.sequence),
      20_000,
    );
  });

  it("names a rule in force, or all of them", async () => {
    const service = await start(toControlService(await databases.create()));
    const state = { state: "deny", reason };
    expect(await send(service, "PUT /v1/node/switches/unknown", state)).toMatchObject({
      status: 404,
    });
    expect(await send(service, "PUT /v1/node/switches/*", state)).toMatchObject({ status: 200 });
    expect(await standOf(service)).toBe("denied");
    const flags = ["--node", "--admin", urlOf(service), "--token", ADMIN_TOKEN];
    const list = await sluice(["switch", ...flags]);
    expect(list.out).toMatch(/all rules +deny +an incident/);
    expect((await sluice(["switch", "--all", "on", ...flags])).out).toContain("all rules: on");
    expect(await standOf(service)).toBe("limited");
    const off = await sluice(["switch", RULE, "off", "--reason", "a bad release", ...flags]);
    expect(off.out).toContain(`${RULE}: off on this node`);
    expect(await standOf(service)).toBe("open");
  });
});

it("a follower is switched by itself, also while its control node is unavailable", async () => {
  const [sqlite] = all;
  const control = await start(toControlService(await sqlite.create()));
  const config = toControlService("");
  const follow: FollowControlConfig = {
    kind: "follow",
    url: urlOf(control),
    token: ADMIN_TOKEN,
    caFile: undefined,
    snapshotFile: join(makeFolder("follower"), "edge.snapshot"),
    staleMsMax: undefined,
    node: "edge-1",
    hasRules: false,
  };
  const follower = await start({ ...config, control: follow });
  await control.close();
  expect(await standOf(follower)).toBe("limited");
  const put = await send(follower, "PUT /v1/node/switches/*", { state: "off", reason });
  expect(put.status).toBe(200);
  expect(await standOf(follower)).toBe("open");
  await send(follower, "DELETE /v1/node/switches/*", {});
  expect(await standOf(follower)).toBe("limited");
});

describe.each(["halted", "frozen"])("with a PostgreSQL that is %s", (how) => {
  it("an operator gets 503 soon, with what to do, and can switch the node", async () => {
    const postgres = await startPostgres();
    closing.push(() => postgres.stop());
    const service = await start(toControlService(postgres.createDatabase()));
    if (how === "halted") await postgres.halt("immediate");
    else postgres.pause();
    const startMs = readMs();
    const refused = await send(service, `PUT /v1/switches/${RULE}`, { state: "deny", reason });
    // A connection is waited for for three seconds, a statement for fifteen.
    expect(readMs() - startMs).toBeLessThan(10_000);
    expect(refused).toMatchObject({ status: 503, body: { code: "SLUICE_DATABASE_UNAVAILABLE" } });
    expect(refused.body.detail).toContain("PUT /v1/node/switches/{rule}");
    const beforeMs = readMs();
    const here = await send(service, "PUT /v1/node/switches/*", { state: "deny", reason });
    expect(here.status).toBe(200);
    // Without waiting for a connection.
    expect(readMs() - beforeMs).toBeLessThan(3_000);
    expect(await standOf(service)).toBe("denied");
    if (how === "halted") await postgres.start();
    else postgres.resume();
    await vi.waitFor(async () => {
      const { body } = await send(service, "GET /v1/audit?kind=node-switch");
      expect(body.items).toMatchObject([{ action: "switch", after: { rule: "*" }, reason }]);
    }, 25_000);
    // It is the operator's to end.
    expect(await standOf(service)).toBe("denied");
  }, 60_000);
});
