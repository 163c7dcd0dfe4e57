import { createPolicy, type Facts, type PolicyDecision } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../config/load.js";
import { coloured, plain } from "../text/colours.js";
import { DecisionFeed } from "./decision-feed.js";
import { demoConfiguration } from "./demo-configuration.js";
import { formatLiveDecision, formatWelcome, toCommands } from "./demo-text.js";
import { DEMO_NETWORK, requestsOf } from "./demo-traffic.js";
import { startUpstream } from "./demo-upstream.js";

const places = {
  gateway: "http://127.0.0.1:8080",
  admin: "http://127.0.0.1:9090",
  rules: "/tmp/demo/rules.yaml",
  sluice: "npx sluice",
};
const login: Facts = { method: "POST", path: "/login?try=1", ip: "127.0.0.1" };

function demoPolicy() {
  const config = parseConfig(demoConfiguration("http://127.0.0.1:3000"));
  const rules = "inline" in config.rules ? config.rules.inline : {};
  return createPolicy({ rules, clock: new ManualClock() });
}

describe("the configuration of the demo", () => {
  it("listens on loopback only, in front of the upstream that it is given", () => {
    const { gateway, admin, upstreams, store } = parseConfig(
      demoConfiguration("http://127.0.0.1:3000"),
    );
    expect(gateway?.listen).toEqual({ host: "127.0.0.1", port: 8080 });
    expect(admin.listen).toEqual({ host: "127.0.0.1", port: 9090 });
    expect(upstreams.get("demo")?.backends).toEqual(["http://127.0.0.1:3000"]);
    expect(store.kind).toBe("memory");
  });

  it("limits the sixth login of a minute, and no sooner", async () => {
    const policy = demoPolicy();
    const answers = [];
    for (let i = 0; i < 6; i++) answers.push((await policy.admit(login)).allowed);
    expect(answers).toEqual([true, true, true, true, true, false]);
  });
});

describe("the greeting", () => {
  it("says where things are and gives commands, of which one is limited, one explains and one edits", () => {
    const text = formatWelcome(places, plain).join("\n");
    expect(text).toContain(places.gateway);
    expect(text).toContain(`${places.admin}/metrics`);
    expect(text).toContain("npx sluice top\n");
    const commands = toCommands(places);
    expect(commands).toHaveLength(7);
    expect(text).toContain("  rules     /tmp/demo/rules.yaml\n");
    expect(text).toContain("npx sluice explain --method POST --path /login --ip 127.0.0.1\n");
    for (const { command } of commands) expect(text).toContain(command);
    expect(commands.filter(({ remark }) => remark.includes("429"))).toHaveLength(1);
  });
});

describe("live decisions", () => {
  it("are one line each, whatever the path has in it", async () => {
    const decision = await demoPolicy().admit(login);
    expect(formatLiveDecision(decision, login, plain)).toBe(
      "allowed  POST /login?try=1  login: 4 of 5 left, all back in 1 minute",
    );
    const evil = { ...login, path: "/\x1b[2J\nrefused" };
    expect(formatLiveDecision(decision, evil, plain)).toContain("  POST /�[2J�refused  ");
    expect(formatLiveDecision(decision, login, coloured)).toContain("\x1b[32mallowed\x1b[0m  POST");
  });

  it("get a line for the first 50, and then one for all of a second", async () => {
    const lines: string[] = [];
    let tick = () => {};
    let isStopped = false;
    const feed = new DecisionFeed({
      colours: plain,
      writeLine: (line) => void lines.push(line),
      every: (everyMs, task) => {
        expect(everyMs).toBe(1_000);
        tick = task;
        return () => {
          isStopped = true;
        };
      },
    });
    const policy = demoPolicy();
    const add = async (times: number) => {
      for (let i = 0; i < times; i++)
        feed.add((await policy.admit(login)) as PolicyDecision, login);
    };
    await add(50);
    tick();
    expect(lines).toHaveLength(50);
    await add(1_000);
    expect(lines).toHaveLength(50);
    tick();
    tick();
    expect(lines.slice(50)).toEqual(["0 allowed, 1000 refused"]);
    await add(3);
    feed.close();
    expect(lines.slice(51)).toEqual(["0 allowed, 3 refused"]);
    expect(isStopped).toBe(true);
  });
});

describe("the traffic of the demo", () => {
  it("is at most 50 requests a second on average, from addresses that are no one else's", () => {
    const keys = { acme: "a", globex: "g" };
    const all = Array.from({ length: 400 }, (_, tick) => requestsOf(tick, keys)).flat();
    expect(all.length / 100).toBeLessThanOrEqual(50);
    expect(DEMO_NETWORK).toBe("198.51.100.");
    expect(new Set(all.map(({ from }) => from)).size).toBeGreaterThan(8);
  });

  it("gets one line in ten seconds", async () => {
    const lines: string[] = [];
    let tick = () => {};
    const feed = new DecisionFeed({
      colours: plain,
      writeLine: (line) => void lines.push(line),
      every: (_, task) => {
        tick = task;
        return () => {};
      },
    });
    const policy = demoPolicy();
    for (let second = 0; second < 20; second++) {
      feed.addOwn((await policy.admit(login)) as PolicyDecision);
      tick();
    }
    expect(lines).toEqual([
      "demo traffic: 5 allowed, 5 refused",
      "demo traffic: 0 allowed, 10 refused",
    ]);
  });
});

describe("the demo upstream", () => {
  it("answers, shows what was passed on, and is gone when it is closed", async () => {
    const upstream = await startUpstream();
    expect((await fetch(`${upstream.url}/`)).status).toBe(200);
    expect((await fetch(`${upstream.url}/login`, { method: "POST" })).status).toBe(401);
    const echoed = await fetch(`${upstream.url}/a/b?c`, { headers: { "x-forwarded-for": "x" } });
    expect(await echoed.json()).toMatchObject({
      path: "/a/b",
      headers: { "x-forwarded-for": "x" },
    });
    expect((await fetch(`${upstream.url}/__proto__`)).status).toBe(200);
    await upstream.close();
    await expect(fetch(upstream.url)).rejects.toThrow();
  });
});
