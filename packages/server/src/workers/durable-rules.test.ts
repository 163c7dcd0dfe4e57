// Durable rules in a service of several processes: each has its own connection to the ledger, and all share the quotas.

import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { fakeFork } from "../../test/fake-worker.js";
import { reloadsSeen, toGatewayConfig } from "../../test/lifecycle/in-process.js";
import { ask } from "../../test/lifecycle/load.js";
import { startUpstream, type Upstream } from "../../test/lifecycle/upstream.js";
import type { Service } from "../service/service.js";
import { startPrimary } from "./primary.js";

const closing: (Service | Upstream)[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
});

async function setUp(database: string): Promise<Service> {
  const upstream = await startUpstream();
  closing.push(upstream);
  const rule = {
    id: "everybody",
    key: "global",
    limit: { quota: { limit: 10, period: "month" } },
    durable: true,
  };
  const rules = { version: 1, rules: [rule] };
  const changes = { server: { workers: 2 }, ledger: { database } };
  const config = toGatewayConfig(upstream.url, rules, changes);
  const { fork } = fakeFork(config);
  const service = await startPrimary(config, { fork, telemetry: reloadsSeen().telemetry });
  closing.push(service);
  return service;
}

/** The statuses of requests, each over its own connection, so that both workers get some. */
async function send({ listeners }: Service, count: number): Promise<(number | string)[]> {
  const url = listeners.find(({ name }) => name === "gateway")?.url ?? "";
  return Promise.all(Array.from({ length: count }, () => ask(url)));
}

describe("a durable rule under two workers", () => {
  it("admits its quota, also over a restart of the service", async () => {
    const database = `file:${join(makeFolder("workers-ledger"), "sluice.db")}`;
    const first = await setUp(database);
    const statuses = await send(first, 6);
    expect(statuses.filter((status) => status === 200)).toHaveLength(6);
    await first.close();
    const second = await setUp(database);
    const after = await send(second, 12);
    expect(after.filter((status) => status === 200)).toHaveLength(4);
    expect(after.filter((status) => status === 429)).toHaveLength(8);
  });

  it("is reset by the primary, and workers take it within a second", async () => {
    const database = `file:${join(makeFolder("workers-ledger"), "sluice.db")}`;
    const service = await setUp(database);
    await send(service, 12);
    const admin = service.listeners.find(({ name }) => name === "admin")?.url ?? "";
    const response = await fetch(`${admin}/v1/reset`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ rule: "everybody", key: "global" }),
    });
    expect(response.status).toBe(200);
    await expect
      .poll(async () => (await send(service, 1))[0], { timeout: 1_500, interval: 50 })
      .toBe(200);
  });
});
