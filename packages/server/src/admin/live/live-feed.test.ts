import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { memoryStore } from "sluice";
import { createPolicy, type Facts } from "sluice/rules";
import { afterAll, describe, expect, it, vi } from "vitest";
import { startControlAdmin } from "../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../test/control/databases.js";
import { wallMs } from "../../base/clock.js";
import type { Config } from "../../config/config.js";
import type { Core } from "../../core/core.js";
import { silentTelemetry } from "../../telemetry/silent-telemetry.js";
import type { AdminControl } from "../service-control.js";
import type { LiveBegin, LiveTick } from "./live-event.js";
import { LiveFeed } from "./live-feed.js";

const RULES = {
  version: 1,
  rules: [
    { id: "login", match: { path: "/login" }, key: "ip", limit: "3/minute" },
    { id: "all", key: "ip", limit: "1000/minute" },
  ],
};

/** A response that keeps what is written, and reads nothing if it is slow. */
class FakeResponse extends EventEmitter {
  readonly events: { event: string; data: never }[] = [];
  destroyed = false;
  writableEnded = false;
  writableLength = 0;
  isSlow = false;

  write(text: string): boolean {
    if (this.isSlow) this.writableLength += text.length;
    const [, event = "", data = ""] = /^event: (\w+)\ndata: (.*)\n\n$/.exec(text) ?? [];
    this.events.push({ event, data: JSON.parse(data) as never });
    return true;
  }

  end(): void {
    this.writableEnded = true;
    this.emit("close");
  }

  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }

  ticks(): LiveTick[] {
    return this.events.filter(({ event }) => event === "tick").map(({ data }) => data as LiveTick);
  }
}

function setUp() {
  const telemetry = silentTelemetry();
  const store = memoryStore();
  const policy = createPolicy({ rules: RULES, store });
  telemetry.watch(policy);
  const config = { store: { kind: "memory", onStoreFailure: "local" } } as Config;
  const core = { config, telemetry, policy, store } as unknown as Core;
  const control = {
    isReady: () => ({ ready: true, reasons: [] }),
  } as unknown as AdminControl;
  let timers = 0;
  const every = () => {
    timers++;
    return () => void timers--;
  };
  const feed = new LiveFeed({ core, control, every });
  const open = async ({
    showsKeys = false,
    hasAllRules = false,
    isAuthorized = (): boolean => true,
  } = {}) => {
    const response = new FakeResponse();
    const shown = { node: undefined, showsKeys, hasAllRules };
    await feed.add({ response: response as unknown as ServerResponse, ...shown, isAuthorized });
    passMillisecond();
    return response;
  };
  const decide = async (times: number, ip = "192.0.2.1") => {
    const facts: Facts = { method: "POST", path: "/login", ip };
    for (let i = 0; i < times; i++)
      telemetry.decided("gateway", await policy.admit(facts), facts, 0.02);
  };
  return { feed, open, decide, policy, telemetry, timers: () => timers };
}

/** What happens next has a later time: events are separated by milliseconds. */
function passMillisecond(): void {
  for (const ms = Date.now(); Date.now() === ms; );
}

describe("the live stream", () => {
  it("sends what happened in each second, in all and by rule", async () => {
    const { feed, open, decide, policy } = setUp();
    await decide(2);
    const page = await open();
    await decide(3);
    await feed.tick();
    await feed.tick();
    const [first, second] = page.ticks();
    expect(first).toMatchObject({
      version: policy.version,
      allowed: 1,
      blocked: 2,
      delayed: 0,
      shadowBlocked: 0,
      latency: { p50Ms: 0.05, p99Ms: 0.05 },
      rulesInForce: 2,
      hottest: [{ share: expect.any(Number) }, {}],
      refusals: [{ rule: "login", reason: "limit", request: "/login" }, {}],
      store: { kind: "memory", isFallback: false },
      notices: [],
    });
    expect(first.rules).toEqual([
      expect.objectContaining({ rule: "login", allowed: 1, blocked: 2 }),
      expect.objectContaining({ rule: "all", allowed: 1, blocked: 0 }),
    ]);
    expect(second).toMatchObject({ allowed: 0, blocked: 0, latency: null, refusals: [] });
  });

  it("lists the rules that counted something, for pages that show all", async () => {
    const { feed, open, decide } = setUp();
    await decide(1);
    const [busiest, all] = [await open(), await open({ hasAllRules: true })];
    await feed.tick();
    await decide(1);
    await feed.tick();
    const rulesOf = (page: FakeResponse) => page.ticks().map(({ rules }) => rules.length);
    expect([rulesOf(busiest), rulesOf(all)]).toEqual([
      [2, 2],
      [0, 2],
    ]);
  });

  it("says when each second began, before what happened in it", async () => {
    const { feed, open, decide } = setUp();
    const page = await open();
    const openedMs = wallMs();
    await vi.waitUntil(() => wallMs() > openedMs, { interval: 1 });
    await decide(4);
    await feed.tick();
    const [{ atMs, refusals }] = page.ticks();
    expect(atMs).toBeLessThanOrEqual(openedMs);
    expect(refusals.map((refusal) => refusal.atMs > atMs)).toEqual([true]);
  });

  it("is made once for any number of pages, and only while one is open", async () => {
    const { feed, open, timers } = setUp();
    expect(timers()).toBe(0);
    const pages = await Promise.all(Array.from({ length: 200 }, () => open()));
    expect(timers()).toBe(1);
    await feed.tick();
    await feed.tick();
    expect(feed.made).toBe(2);
    expect(pages.every((page) => page.ticks().length === 2)).toBe(true);
    for (const page of pages) page.destroy();
    expect([feed.count, timers()]).toEqual([0, 0]);
    await feed.tick();
    expect(feed.made).toBe(2);
  });

  it("takes a bounded number of pages, the latest ones", async () => {
    const { feed, open } = setUp();
    const first = await open();
    for (let i = 0; i < 256; i++) await open();
    expect([first.destroyed, feed.count]).toEqual([true, 256]);
  });

  it("ends a page that comes while it closes, and starts nothing again", async () => {
    const { feed, open, timers } = setUp();
    const opening = open();
    feed.close();
    const page = await opening;
    expect([page.writableEnded, feed.count, timers()]).toEqual([true, 0, 0]);
  });

  it("drops a page that does not read, and goes on for the others", async () => {
    const { feed, open } = setUp();
    const [slow, quick] = [await open(), await open()];
    slow.isSlow = true;
    slow.writableLength = 100_000;
    await feed.tick();
    expect([slow.destroyed, slow.ticks().length]).toEqual([true, 0]);
    expect([quick.destroyed, quick.ticks().length, feed.count]).toEqual([false, 1, 1]);
  });

  it("shows hashes, and keys in clear to pages that may see them", async () => {
    const { feed, open, decide } = setUp();
    await decide(5);
    const [hashed, clear] = [await open(), await open({ showsKeys: true })];
    await decide(1);
    await feed.tick();
    expect(JSON.stringify(hashed.events)).not.toContain("192.0.2.1");
    expect(clear.ticks()[0].hottest[0].key).toBe("ip:192.0.2.1");
    expect(clear.ticks()[0].refusals[0]).toMatchObject({
      key: "ip:192.0.2.1",
      request: "POST /login",
    });
    const begin = clear.events[0].data as LiveBegin;
    expect(begin.refusals.length).toBe(2);
  });

  it("ends for a page whose session has ended", async () => {
    const { feed, open } = setUp();
    let isAuthorized = true;
    const page = await open({ isAuthorized: () => isAuthorized });
    await feed.tick();
    isAuthorized = false;
    await feed.tick();
    expect([page.writableEnded, page.ticks().length, feed.count]).toEqual([true, 1, 0]);
  });

  it("says in sentences what works only in part", async () => {
    const { feed, open, policy, telemetry } = setUp();
    const page = await open();
    policy.disable("login");
    policy.switch(undefined, "deny");
    telemetry.fallbackEvent({ kind: "entered", reason: "", atMs: 0, sinceMs: 0 });
    telemetry.reloaded("rules", new Error("broken"));
    await feed.tick();
    expect(page.ticks()[0].notices.map(({ text }) => text)).toEqual([
      "The store does not answer and its circuit breaker is open: each node decides by its own counters, with its share of the limits.",
      "The kill switch denies every request.",
      "The switch of login is off.",
      "The last reload of rules failed: what was in force before stays in force. The log says what is wrong.",
    ]);
    expect(page.ticks()[0].store.isFallback).toBe(true);
  });
});

const [databases, ...others] = testDatabases();
afterAll(() => Promise.all([databases, ...others].map((each) => each.stop())));

describe("GET /v1/live", () => {
  it("streams to viewers, and ends when they log out", async () => {
    const admin = await startControlAdmin(await databases.ready());
    const login = await admin.ask("POST /v1/session", {
      as: "none",
      body: { token: admin.tokens.viewer },
    });
    const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
    const ask = (path: string, init: RequestInit = {}) =>
      fetch(`${admin.url}${path}`, { ...init, headers: { cookie, ...init.headers } });
    expect((await ask("/v1/live?keys=clear")).status).toBe(403);
    expect((await fetch(`${admin.url}/v1/live`)).status).toBe(401);
    const head = await ask("/v1/live", { method: "HEAD" });
    expect(head.headers.get("content-type")).toBe("text/event-stream");
    const stream = await ask("/v1/live");
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toMatch(/^event: begin\ndata: \{"seconds":/);
    const headers = { "x-csrf-token": String(login.body.csrfToken) };
    expect((await ask("/v1/session", { method: "DELETE", headers })).status).toBe(200);
    for (;;) if ((await reader?.read())?.done !== false) break;
    await admin.close();
  });
});
