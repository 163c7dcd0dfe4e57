import { adaptiveConcurrency, circuitBreaker } from "sluice/adaptive";
import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { GatePass, UpstreamGate } from "./upstream-gate.js";

const LATENCY_MS = 10;
const UPLOAD_MS = 5_000;

/** A gate whose limit has seen requests that take 10 ms. */
function setUp() {
  const clock = new ManualClock(1_700_000_000_000);
  const limit = adaptiveConcurrency({ clock, initial: 50 });
  const gate = new UpstreamGate([limit], undefined);
  const enter = () => {
    const passed = gate.enter("critical");
    if (!(passed instanceof GatePass)) throw new Error("shed");
    return passed;
  };
  for (let i = 0; i < 50; i++) {
    const pass = enter();
    clock.advance(LATENCY_MS);
    pass.answered(200);
  }
  return { clock, limit, enter };
}

describe("a request whose client is still sending its body", () => {
  it("does not lower the limit when its client leaves, however late", () => {
    const { clock, limit, enter } = setUp();
    const before = limit.limit;
    for (let round = 0; round < 10; round++) {
      const passes = Array.from({ length: Math.min(10, limit.limit) }, enter);
      for (const pass of passes) pass.awaitBody();
      clock.advance(UPLOAD_MS);
      for (const pass of passes) pass.left();
    }
    expect(limit.limit).toBe(before);
    expect(limit.inFlight).toBe(0);
  });

  it("counts the backend's time from when the body was sent", () => {
    const { clock, limit, enter } = setUp();
    for (let i = 0; i < 10; i++) {
      const pass = enter();
      pass.awaitBody();
      clock.advance(UPLOAD_MS);
      pass.bodySent();
      clock.advance(LATENCY_MS);
      pass.answered(200);
    }
    expect(limit.stats().latencyMs).toBeCloseTo(LATENCY_MS, 0);
  });

  it("says nothing about latency if it is answered before its body was sent", () => {
    const { clock, limit, enter } = setUp();
    for (let i = 0; i < 10; i++) {
      const pass = enter();
      pass.awaitBody();
      clock.advance(UPLOAD_MS);
      pass.answered(401);
    }
    expect(limit.stats().latencyMs).toBeCloseTo(LATENCY_MS, 0);
  });

  it("lowers the limit if its backend fails", () => {
    const { clock, limit, enter } = setUp();
    const before = limit.limit;
    for (let i = 0; i < 50; i++) {
      const pass = enter();
      pass.awaitBody();
      clock.advance(UPLOAD_MS);
      pass.failed({ kind: "response-timeout", isStale: false });
    }
    expect(limit.limit).toBeLessThan(before);
  });
});

describe("the circuit breaker of a gate", () => {
  function setUpBreaker() {
    const clock = new ManualClock(1_700_000_000_000);
    const breaker = circuitBreaker({ clock, failuresMax: 3 });
    const refused = { critical: 0, high: 0, normal: 0, low: 0 };
    const gate = new UpstreamGate([], { breaker, refused });
    const fail = (failure: Parameters<GatePass["failed"]>[0]) => {
      for (let i = 0; i < 3; i++) (gate.enter("normal") as GatePass).failed(failure);
    };
    return { breaker, fail };
  }

  it.each([
    ["found no free connection, which one client may all hold", { kind: "busy", isStale: false }],
    ["met a connection that the backend had closed", { kind: "closed", isStale: true }],
  ] as const)("is not opened by requests that %s", (_, failure) => {
    const { breaker, fail } = setUpBreaker();
    fail(failure);
    expect(breaker.state).toBe("closed");
    fail({ kind: "closed", isStale: false });
    expect(breaker.state).toBe("open");
  });
});
