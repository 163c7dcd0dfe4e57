import { createLimiter, fixedWindow, slidingWindowLog } from "sluice";
import { describe, expect, it } from "vitest";
import type { ALGORITHMS } from "./algorithms.js";
import { toSeen } from "./client-view.js";
import { toFindings } from "./findings.js";
import { memoryOf } from "./memory.js";
import { attemptAt, toResults } from "./results.js";
import { DEFAULTS, type Settings, SHAPES, withShape } from "./settings.js";
import { STEPS, simulate } from "./simulate.js";
import { ARRIVALS_MAX, toTraffic } from "./traffic.js";

const EDGE: Settings = DEFAULTS;

function findingsOf(algorithm: (typeof ALGORITHMS)[number], settings: Settings) {
  const traffic = toTraffic(settings, []);
  return toFindings(simulate(algorithm, settings, traffic), settings, traffic);
}

describe("a run", () => {
  it("has the decisions that the library makes when it is called directly", () => {
    const settings = withShape({ ...DEFAULTS, limit: 7, cost: 2 }, "steady");
    const traffic = toTraffic(settings, []);
    const limit = { limit: 7, windowMs: 60_000 };
    for (const [algorithm, made] of [
      ["fixedWindow", fixedWindow(limit)],
      ["slidingWindowLog", slidingWindowLog(limit)],
    ] as const) {
      const limiter = createLimiter({ limit: made });
      const direct = traffic.arrivals.map(({ atMs }) =>
        limiter.check("all", { cost: 2, nowMs: traffic.startMs + atMs }),
      );
      const run = simulate(algorithm, settings, traffic);
      expect(run.attempts.map(({ decision }) => decision)).toEqual(direct);
    }
  });

  it.each(SHAPES)("of the shape %s accounts for every request under every algorithm", (shape) => {
    const settings = { ...withShape(DEFAULTS, shape), retry: "none" as const };
    const log = Array.from({ length: 30 }, (_, at) => ({ atMs: 1e12 + at * 900, client: at % 3 }));
    const { traffic, algorithms } = toResults(settings, log);
    expect(traffic.arrivals.length).toBeGreaterThan(20);
    for (const { findings, run, sentence } of algorithms) {
      const { admitted, delayed, refused, lost } = findings;
      expect(admitted + delayed + refused).toBe(traffic.arrivals.length);
      expect(lost).toBe(refused);
      expect(run.used).toHaveLength(STEPS);
      expect(run.used.every((share) => share >= 0 && share <= 1)).toBe(true);
      expect(sentence).toMatch(/^[A-Z0-9].*\.$/);
    }
  });

  it("is the same every time", () => {
    const settings = withShape(DEFAULTS, "clients");
    expect(toResults(settings, [])).toEqual(toResults(settings, []));
  });

  it("is bounded, however much traffic is asked for", () => {
    const settings = { ...withShape(DEFAULTS, "clients"), limit: 100, loadPercent: 400 };
    const traffic = toTraffic(settings, []);
    expect(traffic.arrivals).toHaveLength(ARRIVALS_MAX);
    expect(traffic.leftOut).toBeGreaterThan(0);
  });
});

describe("a burst at the edge of a window", () => {
  it("passes a fixed window twice, and a sliding log once", () => {
    const fixed = findingsOf("fixedWindow", EDGE).worst;
    expect(fixed?.units).toBe(20);
    expect((fixed?.toMs ?? 0) - (fixed?.fromMs ?? 0)).toBeLessThan(1_000);
    expect(findingsOf("slidingWindowLog", EDGE).worst?.units).toBe(10);
  });

  it("is what the sentences say", () => {
    const [fixed, log] = toResults(EDGE, []).algorithms;
    expect(fixed?.sentence).toMatch(
      /^Admits 20 within .* ms across the edge .*: twice the limit\.$/,
    );
    expect(log?.sentence).toContain("Never more than 10 in any minute");
  });

  it("waits in a leaky bucket, which lets one leave every six seconds", () => {
    const { delayed, waitMsP99, worst } = findingsOf("leakyBucket", EDGE);
    expect(delayed).toBeGreaterThan(0);
    expect(waitMsP99).toBeGreaterThan(59_000);
    expect(waitMsP99).toBeLessThanOrEqual(60_000);
    expect(worst?.units).toBe(10);
  });

  it("starts the next day of a calendar quota at midnight, in the middle of the run", () => {
    const settings = { ...EDGE, quota: 10 };
    const traffic = toTraffic(settings, []);
    const { attempts } = simulate("quota", settings, traffic);
    const passed = attempts.filter(({ decision }) => decision.allowed).map(({ atMs }) => atMs);
    expect(passed.filter((atMs) => atMs < traffic.durationMs / 2)).toHaveLength(10);
    expect(passed.filter((atMs) => atMs >= traffic.durationMs / 2)).toHaveLength(10);
  });
});

describe("the share of a limit in use, with bursts on both sides of the second 60", () => {
  /** At the end of each of these seconds; a step is five seconds. */
  const usedAt = (algorithm: (typeof ALGORITHMS)[number], ...seconds: number[]) => {
    const { used } = simulate(algorithm, EDGE, toTraffic(EDGE, []));
    return seconds.map((second) => Number(used[second / 5 - 1]?.toFixed(2)));
  };

  it("is full in both windows of a fixed window, and empty when the second one ends", () => {
    expect(usedAt("fixedWindow", 55, 60, 65, 120, 125)).toEqual([0, 1, 1, 1, 0]);
  });

  it("is full in a log until its entries are a window old", () => {
    expect(usedAt("slidingWindowLog", 55, 60, 65, 115, 120)).toEqual([0, 1, 1, 1, 0]);
  });

  it("falls evenly in a bucket, by one unit every six seconds", () => {
    expect(usedAt("tokenBucket", 55, 60, 70, 90, 100, 115, 120)).toEqual([
      0, 1, 0.9, 0.5, 0.4, 0.1, 0,
    ]);
  });
});

describe("a retry storm", () => {
  it("needs fewer requests of clients that wait for Retry-After", () => {
    const [soon, after] = (["soon", "after"] as const).map(
      (retry) => toResults({ ...withShape(DEFAULTS, "storm"), retry }, []).algorithms[0]?.findings,
    );
    expect(after?.refused).toBeLessThan((soon?.refused ?? 0) / 2);
  });
});

describe("many clients", () => {
  it("are served more evenly if each has its own counter", () => {
    const own = withShape(DEFAULTS, "clients");
    const shared = { ...own, keying: "shared" as const };
    const [fair, unfair] = [own, shared].map(
      (settings) => findingsOf("slidingWindowLog", settings).fairness ?? 0,
    );
    expect(fair).toBeGreaterThan((unfair ?? 1) + 0.1);
  });
});

describe("permits", () => {
  it("are held for the hold time and no longer", () => {
    const settings = { ...EDGE, limit: 3, holdMs: 2_000 };
    const { inFlightMax, admitted } = findingsOf("concurrency", settings);
    expect(inFlightMax).toBe(3);
    expect(admitted).toBe(9);
  });
});

describe("what a client sees", () => {
  it("comes from the library: status, RateLimit, RateLimit-Policy, Retry-After", () => {
    const { algorithms, startAtMs } = toResults(EDGE, []);
    const seen = algorithms.map(({ run }) => {
      const attempt = attemptAt(run, startAtMs);
      if (attempt === undefined) throw new Error("no attempt");
      return toSeen(run.algorithm, EDGE, attempt);
    });
    expect(seen[0]).toEqual({
      status: 200,
      headers: [
        ["RateLimit-Policy", '"api";q=10;w=60'],
        ["RateLimit", '"api";r=0;t=60'],
      ],
    });
    expect(seen[1]?.status).toBe(429);
    expect(seen[1]?.headers.map(([name]) => name)).toEqual([
      "RateLimit-Policy",
      "RateLimit",
      "Retry-After",
    ]);
  });
});

describe("memory for each key", () => {
  it("is what the store reports: constant for buckets and windows, by the limit for logs", () => {
    const bytes = (algorithm: (typeof ALGORITHMS)[number], limit: number) =>
      memoryOf(algorithm, { ...DEFAULTS, limit }).bytes;
    expect(bytes("tokenBucket", 10)).toBe(20);
    expect(bytes("fixedWindow", 100)).toBe(20);
    expect(bytes("slidingWindowCounter", 10)).toBe(30);
    expect(bytes("slidingWindowLog", 10)).toBe(230);
    expect(bytes("slidingWindowLog", 100)).toBe(2_030);
  });
});
