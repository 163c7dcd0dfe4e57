import { afterEach, describe, expect, it } from "vitest";
import { type FakeService, sendJson, startFakeService } from "../../../test/cli/fake-service.js";
import { FakeTerminal, sluice } from "../../../test/cli/fake-terminal.js";
import type { TopReport } from "../../telemetry/top/top-report.js";
import { runCommand } from "../program.js";
import { plain } from "../text/colours.js";
import { drawTop } from "../text/top.js";

const report: TopReport & { version: string } = {
  version: "5d0f",
  seconds: 10,
  rules: [
    {
      rule: "api",
      keyType: "user",
      endpoint: "/api/*",
      allowedPerSecond: 1_234.5,
      blockedPerSecond: 2.25,
      shadowBlockedPerSecond: 0,
      allowed: 1_000_000,
      blocked: 7,
    },
    {
      rule: "login",
      keyType: "ip",
      endpoint: "/login",
      allowedPerSecond: 0.5,
      blockedPerSecond: 10,
      shadowBlockedPerSecond: 0,
      allowed: 5,
      blocked: 100,
    },
  ],
  hottest: [{ rule: "api", key: "hmac:0011223344556677", perSecond: 900 }],
  mostRefused: [{ rule: "login", key: "hmac:8899aabbccddeeff", perSecond: 9.5 }],
};

const many: TopReport = {
  ...report,
  rules: Array.from({ length: 100 }, (_, i) => ({ ...report.rules[0], rule: `rule-${i}` })),
  hottest: Array.from({ length: 100 }, (_, i) => ({ ...report.hottest[0], key: `hmac:${i}` })),
};

describe("drawTop", () => {
  it("shows rates, totals and keys in columns", () => {
    const view = { name: "http://127.0.0.1:9090", version: "5d0f", report };
    expect(drawTop(view, { columns: 100, rows: 40 }, plain)).toEqual([
      "sluice http://127.0.0.1:9090  rules 5d0f  rates over 10.0 s",
      "",
      "rule   by    allowed/s  refused/s  shadow/s    allowed  refused",
      "api    user      1,235        2.3       0.0  1,000,000        7",
      "login  ip          0.5       10.0       0.0          5      100",
      "",
      "hottest keys           rule   /s    most refused           rule    /s",
      "hmac:0011223344556677  api   900    hmac:8899aabbccddeeff  login  9.5",
    ]);
  });

  it("shows adaptive limits and circuit breakers, where there are some", () => {
    const counts = { critical: 0, high: 0, normal: 2, low: 1_500 };
    const one = { upstream: "app", route: null, limit: 48, inFlight: 40, latencyMs: 31.25 };
    const upstreams = [
      { ...one, shed: counts, breaker: "open" as const, breakerShed: counts },
      {
        ...{ ...one, upstream: "other", limit: null, inFlight: null, latencyMs: null },
        ...{ shed: null, breaker: "closed" as const, breakerShed: null },
      },
    ];
    const view = { name: "x", version: "v", report: { ...report, upstreams } };
    expect(drawTop(view, { columns: 100, rows: 40 }, plain).slice(5, 9)).toEqual([
      "",
      "upstream  route  limit  in flight  latency   shed  circuit",
      "app       *         48         40  31.3 ms  3,004  open",
      "other     *          -          -        -      0  closed",
    ]);
  });

  it("shows the latest anomalies, where there are some", () => {
    const usual = { mean: 2.04, distance: 0.5 };
    const anomalies = [
      {
        ...({
          figure: "counted-responses",
          rule: "login-address",
          value: 1_260,
          ...usual,
        } as const),
        ...{ beganAgoMs: 90_000, endedAgoMs: null },
      },
      {
        ...({
          figure: "refusal-share",
          rule: null,
          value: 0.425,
          mean: 0.01,
          distance: 0,
        } as const),
        ...{ beganAgoMs: 7_200_000, endedAgoMs: 200 },
      },
    ];
    const view = { name: "x", version: "v", report: { ...report, anomalies } };
    expect(drawTop(view, { columns: 100, rows: 40 }, plain).slice(5, 9)).toEqual([
      "",
      "anomaly            rule           began                    ended         highest  usual",
      "counted-responses  login-address  1 minute 30 seconds ago  lasts           1,260    2.0",
      "refusal-share      *              2 hours ago              1 second ago    42.5%   1.0%",
    ]);
    for (const rows of [10, 24]) {
      const crowded = { ...view, report: { ...many, anomalies } };
      expect(drawTop(crowded, { columns: 80, rows }, plain).length).toBeLessThanOrEqual(rows);
    }
  });

  it.each([
    { columns: 80, rows: 24 },
    { columns: 30, rows: 10 },
    { columns: 200, rows: 60 },
  ])("never draws more than fits into %o", (room) => {
    const lines = drawTop({ name: "x", version: "v", report: many }, room, plain);
    expect(lines.length).toBeLessThanOrEqual(room.rows);
    expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(room.columns);
    expect(lines.join("\n")).toContain("rule-0");
    expect(lines.join("\n")).toContain("more");
  });

  it("says so where nothing has been counted yet, and where the service is unavailable", () => {
    const empty: TopReport = { seconds: 0, rules: [], hottest: [], mostRefused: [] };
    const view = { name: "x", version: undefined, report: empty };
    const room = { columns: 80, rows: 24 };
    expect(drawTop(view, room, plain)).toContain("no rule has counted anything yet");
    expect(drawTop({ ...view, problem: "gone" }, room, plain)[0]).toBe("gone");
  });
});

describe("sluice top", () => {
  let service: FakeService;
  afterEach(() => service.close());
  const start = async () => {
    service = await startFakeService((response) => sendJson(response, 200, report));
    return service.url;
  };

  it("prints one frame with --once, as text and as JSON", async () => {
    const url = await start();
    const words = await sluice(["top", "--once", "--admin", url], { columns: 100 });
    expect(words.code).toBe(0);
    expect(words.out).toContain("login  ip");
    expect(words.out).not.toContain("\x1b");
    const json = await sluice([
      "top",
      "--once",
      "--json",
      "--rule",
      "a b",
      "--clear-keys",
      "--yes",
      "--admin",
      url,
    ]);
    expect(JSON.parse(json.out)).toEqual(report);
    expect(service.asked.map((asked) => asked.url)).toEqual([
      "/v1/top",
      "/v1/rules",
      "/v1/top?rule=a+b&keys=clear",
    ]);
  });

  it("cuts no key where it prints to a file or a pipe, and fits into a terminal", async () => {
    const key = `user:${"long-name-".repeat(12)}end`;
    const long = { ...report, hottest: [{ ...report.hottest[0], key }], mostRefused: [] };
    service = await startFakeService((response) => sendJson(response, 200, long));
    const piped = await sluice(["top", "--once", "--admin", service.url]);
    expect(piped.out).toContain(key);
    const shown = await sluice(["top", "--once", "--admin", service.url], { isTty: true });
    expect(shown.out).not.toContain(key);
    expect(shown.out).toContain("…");
  });

  it("draws in place in a terminal, and restores it when it is ended", async () => {
    const url = await start();
    const terminal = new FakeTerminal({ isTty: true });
    const ended = runCommand(["top", "--every", "0.1", "--admin", url], terminal);
    await terminal.until(({ out }) => out.split("\x1b[H").length > 3);
    expect(terminal.out.startsWith("\x1b[?1049h\x1b[?25l\x1b[H")).toBe(true);
    expect(terminal.out.split("\x1b[?1049h")).toHaveLength(2);
    terminal.end();
    expect(await ended).toBe(0);
    expect(terminal.out.endsWith("\x1b[?25h\x1b[?1049l")).toBe(true);
    expect(terminal.listeners).toBe(0);
  });

  it("goes on in a terminal while the service is unavailable, and says so", async () => {
    let isAway = false;
    service = await startFakeService((response) =>
      isAway ? response.destroy() : sendJson(response, 200, report),
    );
    const terminal = new FakeTerminal({ isTty: true });
    const ended = runCommand(["top", "--every", "0.1", "--admin", service.url], terminal);
    await terminal.until(({ out }) => out.includes("login"));
    isAway = true;
    await terminal.until(({ out }) => out.includes("could not reach"));
    isAway = false;
    terminal.out = "";
    await terminal.until(({ out }) => out.includes("rates over"));
    terminal.end();
    expect(await ended).toBe(0);
  });

  it("prints frames one after the other elsewhere, and exits with 3 once the service is unavailable", async () => {
    let answers = 0;
    service = await startFakeService((response) =>
      ++answers > 3 ? response.destroy() : sendJson(response, 200, report),
    );
    const { code, out, err } = await sluice(["top", "--every", "0.1", "--admin", service.url]);
    expect(code).toBe(3);
    expect(out.split("rates over")).toHaveLength(4);
    expect(err).toMatch(/^sluice: could not reach/);
  });

  it("ends when its output is closed", async () => {
    const url = await start();
    const terminal = new FakeTerminal();
    const ended = runCommand(["top", "--every", "0.1", "--admin", url], terminal);
    await terminal.until(({ out }) => out.includes("rates over"));
    terminal.process.emit("unread");
    expect(await ended).toBe(0);
  });

  it("exits with 3 where it can't reach the service at all, and leaves the terminal alone", async () => {
    const url = await start();
    await service.close();
    service = await startFakeService(() => {});
    const { code, out } = await sluice(["top", "--admin", url], { isTty: true });
    expect({ code, out }).toEqual({ code: 3, out: "" });
  });
});
