// The workers themselves answer a flood of requests for an exhausted key; what an operator refunds reaches them
// within a second.

import { Agent } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { fakeFork } from "../../test/fake-worker.js";
import { RulesFile, reloadsSeen, toGatewayConfig } from "../../test/lifecycle/in-process.js";
import { ask } from "../../test/lifecycle/load.js";
import { startUpstream, type Upstream } from "../../test/lifecycle/upstream.js";
import type { Service } from "../service/service.js";
import { startPrimary } from "./primary.js";

const closing: (Service | Upstream)[] = [];
const agent = new Agent({ keepAlive: true });
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
});

const TEN = { fixedWindow: { limit: 10, windowMs: 30 * 86_400_000 } };

function rulesOf(rule: object): object {
  return { version: 1, rules: [{ id: "everybody", key: "global", limit: TEN, ...rule }] };
}

/** A service of two workers under one rule of ten for all callers. */
async function setUp(rules: object = rulesOf({})) {
  const upstream = await startUpstream();
  closing.push(upstream);
  const config = toGatewayConfig(upstream.url, rules, { server: { workers: 2 } });
  const { fork, started } = fakeFork(config);
  const service = await startPrimary(config, { fork, telemetry: reloadsSeen().telemetry });
  closing.push(service);
  const urlOf = (name: string) =>
    service.listeners.find((listener) => listener.name === name)?.url ?? "";
  const askGateway = () => ask(urlOf("gateway"), agent);
  const exhaust = async () => {
    await expect.poll(askGateway, { timeout: 20_000, interval: 1 }).toBe(429);
  };
  const post = async (path: string, body: object) => {
    const response = await fetch(`${urlOf("admin")}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ rule: "everybody", key: "global", ...body }),
    });
    expect(response.status).toBe(200);
  };
  const sentCount = () => started.reduce((sum, worker) => sum + worker.sentCount, 0);
  return { service, askGateway, exhaust, post, sentCount };
}

describe("a flood of requests for an exhausted key", () => {
  it.each([
    ["a rule that workers lease", {}],
    ["a rule that says strict", { consistency: "strict" }],
  ])("under %s sends the primary a few messages a second", async (_, rule) => {
    const { askGateway, exhaust, sentCount } = await setUp(rulesOf(rule));
    await exhaust();
    const startMs = performance.now();
    const before = sentCount();
    for (let i = 0; i < 1_000; i++) expect(await askGateway()).toBe(429);
    const seconds = Math.ceil((performance.now() - startMs) / 1_000);
    expect(sentCount() - before).toBeLessThanOrEqual(4 * (seconds + 1));
  });
});

describe("what an operator does at the primary", () => {
  it("takes effect immediately if it is a larger limit: remembered refusals belong to the old numbers", async () => {
    const file = new RulesFile(10);
    const { service, askGateway, exhaust } = await setUp({ file: file.path });
    await exhaust();
    file.say(20);
    await service.reload();
    expect(await askGateway()).toBe(200);
  });

  it("ends refusals in workers within a second: refund, reset and unblock", async () => {
    const { askGateway, exhaust, post } = await setUp();
    const admitsWithin = async (ms: number) =>
      expect.poll(askGateway, { timeout: ms, interval: 10 }).toBe(200);
    await exhaust();
    await post("/v1/refund", { cost: 1 });
    await admitsWithin(1_500);
    await exhaust();
    await post("/v1/reset", {});
    await admitsWithin(1_500);
    await post("/v1/block", { forMs: 3_600_000 });
    await exhaust();
    await post("/v1/unblock", {});
    await admitsWithin(1_500);
  });
});
