// A primary and its workers, all within this process: what is sent reaches all, answers are merged.

import { afterEach, describe, expect, it } from "vitest";
import { FakeWorker, fakeFork } from "../../test/fake-worker.js";
import { RulesFile, reloadsSeen, toGatewayConfig } from "../../test/lifecycle/in-process.js";
import { ask } from "../../test/lifecycle/load.js";
import { startUpstream, type Upstream } from "../../test/lifecycle/upstream.js";
import type { Config } from "../config/config.js";
import type { Service } from "../service/service.js";
import { RequestChannel } from "./channel/request-channel.js";
import { startPrimary } from "./primary.js";

const closing: (Service | Upstream)[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
});

async function setUpOn(rules: object, extra: object = {}) {
  const upstream = await startUpstream();
  closing.push(upstream);
  const server = { workers: 2 };
  const config: Config = toGatewayConfig(upstream.url, rules, { server, ...extra });
  const { fork, started } = fakeFork(config);
  const { telemetry, reloads } = reloadsSeen();
  const service = await startPrimary(config, { fork, telemetry });
  closing.push(service);
  const urlOf = (name: string) =>
    service.listeners.find((listener) => listener.name === name)?.url ?? "";
  return { service, started, reloads, urlOf };
}

const ten = { fixedWindow: { limit: 10, windowMs: 3_600_000, align: "first" } };
const rules = { version: 1, rules: [{ id: "everybody", key: "global", limit: ten }] };

describe("a primary", () => {
  it("opens the listeners of workers and the admin port, and is ready", async () => {
    const { service, started, urlOf } = await setUpOn(rules);
    expect(started).toHaveLength(2);
    expect(service.listeners.map(({ name }) => name)).toEqual(["gateway", "admin"]);
    expect(await ask(urlOf("gateway"))).toBe(200);
    expect(await ask(`${urlOf("admin")}/readyz`)).toBe(200);
  });

  it("keeps the decision API: what one of its requests holds, another settles", async () => {
    const { service } = await setUpOn(rules, { decision: { listen: "127.0.0.1:0" } });
    expect(service.listeners.map(({ name }) => name)).toEqual(["gateway", "decision", "admin"]);
  });

  it("sends workers the rules that came into force, by file too", async () => {
    const file = new RulesFile(10);
    const { service, urlOf, reloads } = await setUpOn({ file: file.path });
    expect(await ask(urlOf("gateway"))).toBe(200);
    file.say(1);
    await service.reload();
    expect(await ask(urlOf("gateway"))).toBe(429);
    expect(reloads.map(([what]) => what)).toEqual(["rules"]);
  });

  it("keeps a bad file from its workers", async () => {
    const file = new RulesFile(10);
    const { service, urlOf } = await setUpOn({ file: file.path });
    file.write("version: 1\nrules:\n  - id: everybody\n    limit: ten\n");
    await expect(service.reload()).rejects.toThrow("rules.yaml:4");
    expect(await ask(urlOf("gateway"))).toBe(200);
  });

  it("switches rules off and on in every worker", async () => {
    const none = { fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } };
    const one = { version: 1, rules: [{ id: "everybody", key: "global", limit: none }] };
    const { urlOf } = await setUpOn(one);
    expect(await ask(urlOf("gateway"))).toBe(200);
    expect(await ask(urlOf("gateway"))).toBe(429);
    const post = (path: string) =>
      fetch(`${urlOf("admin")}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
    expect((await post("/v1/rules/everybody/disable")).status).toBe(200);
    expect(await ask(urlOf("gateway"))).toBe(200);
    expect((await post("/v1/rules/everybody/enable")).status).toBe(200);
    expect(await ask(urlOf("gateway"))).toBe(429);
  });

  it("adds up what workers count, and joins their top lists and samples", async () => {
    const { service, urlOf } = await setUpOn(rules);
    for (let i = 0; i < 12; i++) await ask(urlOf("gateway"));
    // The primary decides by the same counters.
    const facts = { method: "GET", path: "/" };
    expect(await service.core.policy.peek(facts)).toMatchObject({ allowed: false, remaining: 0 });
    const metrics = await (await fetch(`${urlOf("admin")}/metrics`)).text();
    expect(metrics).toMatch(/^rate_limiter_allowed_total\{.*outcome="allowed".*\} 10$/m);
    const top = (await (await fetch(`${urlOf("admin")}/v1/top`)).json()) as {
      rules: { rule: string; blocked: number }[];
    };
    expect(top.rules).toMatchObject([{ rule: "everybody", allowed: 10, blocked: 2 }]);
    const samples = (await (await fetch(`${urlOf("admin")}/v1/samples`)).json()) as {
      items: { rule: string; outcome: string }[];
    };
    expect(samples.items.map(({ outcome }) => outcome).sort()).toEqual([
      ...Array.from({ length: 10 }, () => "allowed"),
      "blocked",
      "blocked",
    ]);
  });

  it("lists the keys that escalations of workers blocked", async () => {
    const escalate = { after: "2 refusals in 1m", blocks: ["1h"] };
    const login = { id: "login", key: "ip", limit: "1/minute", escalate };
    const { urlOf } = await setUpOn({ version: 1, rules: [login] });
    for (let i = 0; i < 8; i++) await ask(urlOf("gateway"));
    const answer = await fetch(`${urlOf("admin")}/v1/escalations`);
    expect(await answer.json()).toMatchObject({ items: [{ rule: "login", level: 1 }] });
  });
});

/** Until what was sent has arrived: messages come a turn later. */
async function heard(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe("a drain", () => {
  it("is announced, and sends no client away before the last worker has stopped listening", async () => {
    const asked: string[] = [];
    const stops: (() => void)[] = [];
    const fork = () =>
      new FakeWorker(1, ({ control }) => {
        const primary = new RequestChannel(control, {
          switches: () => {},
          announceDrain: () => void asked.push("announceDrain"),
          stopListening: () => new Promise<void>((resolve) => stops.push(resolve)),
          drain: () => void asked.push("drain"),
          end: () => void asked.push("end"),
        });
        const listeners = [{ name: "gateway", url: "http://127.0.0.1:0" }];
        void primary
          .ask("hello", undefined, 10_000)
          .then(() => primary.ask("opened", listeners, 10_000));
      });
    const config = toGatewayConfig("http://127.0.0.1:9", rules, { server: { workers: 2 } });
    const service = await startPrimary(config, { fork, telemetry: reloadsSeen().telemetry });
    void service.drain();
    await expect.poll(() => stops.length).toBe(2);
    stops[0]();
    await heard();
    expect(asked).toEqual(["announceDrain", "announceDrain"]);
    stops[1]();
    await expect.poll(() => asked.slice(2, 4)).toEqual(["drain", "drain"]);
  });
});

describe("a worker that dies", () => {
  it("comes back with the rules and switches of now", async () => {
    const file = new RulesFile(10);
    const { service, started, urlOf } = await setUpOn({ file: file.path });
    file.say(1);
    await service.reload();
    for (const worker of started.slice(0, 2)) worker.kill();
    expect(service.isReady()).toBe(false);
    expect(service.unreadyReasons).toEqual(["no worker is running"]);
    await expect.poll(() => service.isReady(), { timeout: 20_000 }).toBe(true);
    expect(started.length).toBeGreaterThanOrEqual(3);
    expect(await ask(urlOf("gateway"))).toBe(200);
    expect(await ask(urlOf("gateway"))).toBe(429);
  });
});

describe("a start that fails in a worker", () => {
  it("ends all workers and says why", async () => {
    const { urlOf } = await setUpOn(rules);
    const taken = { gateway: { listen: new URL(urlOf("gateway")).host } };
    await expect(setUpOn(rules, taken)).rejects.toThrow("EADDRINUSE");
  });
});
