import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ALGORITHMS,
  BASELINE_MS_MAX,
  type LimitState,
  limitInForce,
  nextState,
  toFirstState,
  type WindowCounts,
} from "./limit-state.js";

const BOUNDS = { min: 10, max: 100 };

function windowOf(counts: Partial<WindowCounts> & { latencyMs?: number }): WindowCounts {
  const { latencyMs = 20, oks = 100, failures = 0, shed = 1, inFlightMax = 50 } = counts;
  return { oks, latencyMsSum: oks * latencyMs, failures, shed, inFlightMax };
}

function stateOf(state: Partial<LimitState>): LimitState {
  return { ...toFirstState(50, 0), baselineMs: 20, ...state };
}

describe("the baseline", () => {
  it("is the latency of the first window", () => {
    const state = nextState("gradient", toFirstState(50, 0), windowOf({}), BOUNDS, 100);
    expect(state).toMatchObject({ baselineMs: 20, measuredAtMs: 100, probeShare: 1 });
  });

  it("stays while requests are shed and latency is above it", () => {
    const state = nextState("gradient", stateOf({}), windowOf({ latencyMs: 40 }), BOUNDS, 100);
    expect(state.baselineMs).toBe(20);
  });

  it("follows a lower latency step by step", () => {
    const state = nextState("gradient", stateOf({}), windowOf({ latencyMs: 10 }), BOUNDS, 100);
    expect(state.baselineMs).toBe(18);
  });

  it("follows a higher latency where few requests are in flight and none was shed", () => {
    const quiet = windowOf({ latencyMs: 40, shed: 0, inFlightMax: 25 });
    const state = nextState("gradient", stateOf({}), quiet, BOUNDS, 100);
    expect(state).toMatchObject({ baselineMs: 24, measuredAtMs: 100 });
  });

  it("is not measured by few requests in flight if some were shed, as where only low ones come", () => {
    const low = windowOf({ latencyMs: 40, shed: 1, inFlightMax: 25 });
    expect(nextState("gradient", stateOf({}), low, BOUNDS, 100).baselineMs).toBe(20);
  });
});

describe("a probe", () => {
  it("comes when the baseline is old, halves the limit for one window and leaves it as it was", () => {
    const due = nextState("aimd", stateOf({}), windowOf({}), BOUNDS, BASELINE_MS_MAX);
    expect(due.probeShare).toBe(0.5);
    expect(limitInForce(due, BOUNDS)).toBe(25);
    const after = nextState("aimd", due, windowOf({ latencyMs: 30 }), BOUNDS, 6_000);
    expect(after).toMatchObject({ probeShare: 1, baselineMs: 30, measuredAtMs: 6_000 });
    expect(limitInForce(after, BOUNDS)).toBe(51);
  });

  it("comes when the limit has fallen by a quarter since the last one, and not before", () => {
    const slow = windowOf({ latencyMs: 100 });
    const after = (limit: number) =>
      nextState("aimd", stateOf({ limit, measuredLimit: 60 }), slow, BOUNDS, 100);
    expect(after(50)).toMatchObject({ limit: 45, probeShare: 0.5 });
    expect(after(51)).toMatchObject({ limit: 51 * 0.9, probeShare: 1 });
  });

  it("goes deeper while latency is above the old baseline and falls with the limit", () => {
    const probing = stateOf({ limit: 80, latencyMs: 200, probeShare: 0.5 });
    const deeper = nextState("aimd", probing, windowOf({ latencyMs: 100 }), BOUNDS, 100);
    expect(deeper).toMatchObject({ baselineMs: 20, latencyMs: 100, probeShare: 0.25 });
    const found = nextState("aimd", deeper, windowOf({ latencyMs: 22 }), BOUNDS, 200);
    expect(found).toMatchObject({ baselineMs: 22, limit: 80, probeShare: 1 });
    const slower = nextState("aimd", deeper, windowOf({ latencyMs: 95 }), BOUNDS, 200);
    expect(slower).toMatchObject({ baselineMs: 95, probeShare: 1 });
  });

  it("goes no deeper than min", () => {
    const probing = stateOf({ limit: 20, latencyMs: 200, probeShare: 0.5 });
    const state = nextState("aimd", probing, windowOf({ latencyMs: 100 }), BOUNDS, 100);
    expect(state).toMatchObject({ baselineMs: 100, probeShare: 1 });
  });

  it("keeps the baseline if nothing succeeded in it", () => {
    const probing = stateOf({ probeShare: 0.5 });
    const state = nextState("aimd", probing, windowOf({ oks: 0, failures: 5 }), BOUNDS, 100);
    expect(state).toMatchObject({ baselineMs: 20, probeShare: 1 });
  });

  it("never goes below min", () => {
    expect(limitInForce(stateOf({ limit: 12, probeShare: 0.5 }), BOUNDS)).toBe(10);
  });
});

describe.each(ALGORITHMS)("%s", (algorithm) => {
  it("stays between min and max, whatever happens", () => {
    const anyWindow = fc.record({
      oks: fc.nat(1_000),
      latencyMsSum: fc.nat(1_000_000),
      failures: fc.nat(1_000),
      shed: fc.nat(3),
      inFlightMax: fc.nat(200),
    });
    fc.assert(
      fc.property(fc.array(anyWindow, { maxLength: 50 }), (windows) => {
        let state = toFirstState(20, 0);
        windows.forEach((window, i) => {
          state = nextState(algorithm, state, window, BOUNDS, 100 * i);
          expect(state.limit).toBeGreaterThanOrEqual(BOUNDS.min);
          expect(state.limit).toBeLessThanOrEqual(BOUNDS.max);
          expect(Number.isInteger(limitInForce(state, BOUNDS))).toBe(true);
        });
      }),
      { numRuns: 200 },
    );
  });

  it("settles within the bounds at a limit that leaves a short queue, and returns after a slow time", () => {
    // A backend of 20 workers at 20 ms each: beyond them requests wait in line.
    const latencyAt = (limit: number, workers: number) => Math.max(20, (20 * limit) / workers);
    let state = toFirstState(20, 0);
    let nowMs = 0;
    const run = (seconds: number, workers: number) => {
      for (let i = 0; i < seconds * 10; i++) {
        nowMs += 100;
        const inFlightMax = limitInForce(state, { min: 1, max: 1_000 });
        const latencyMs = latencyAt(inFlightMax, workers);
        const window = windowOf({ latencyMs, inFlightMax });
        state = nextState(algorithm, state, window, { min: 1, max: 1_000 }, nowMs);
      }
      return state.limit;
    };
    expect(run(30, 20)).toBeGreaterThanOrEqual(20);
    expect(state.limit).toBeLessThanOrEqual(50);
    expect(run(30, 10)).toBeGreaterThanOrEqual(10);
    expect(state.limit).toBeLessThanOrEqual(25);
    expect(run(30, 20)).toBeGreaterThanOrEqual(20);
    expect(state.limit).toBeLessThanOrEqual(50);
  });
});
