// When a service says that it should be sent requests.

import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { Readiness, STORE_AWAY_MS_MAX } from "./readiness.js";

function setUpOn(failsWithStore: boolean) {
  const clock = new ManualClock(1_000_000);
  let awaySinceMs: number | undefined;
  const readiness = new Readiness({
    clock,
    failsWithStore,
    storeAwaySinceMs: () => awaySinceMs,
    storeProblems: () => [],
  });
  const leave = () => {
    awaySinceMs = clock.now();
  };
  const comeBack = () => {
    awaySinceMs = undefined;
  };
  return { clock, readiness, leave, comeBack };
}

describe("readiness", () => {
  it("says why not while it starts and while it drains", () => {
    const { readiness } = setUpOn(false);
    expect([readiness.isReady, readiness.reasons]).toEqual([false, ["starting"]]);
    readiness.open();
    expect([readiness.isReady, readiness.reasons]).toEqual([true, []]);
    readiness.shut();
    expect([readiness.isReady, readiness.reasons]).toEqual([false, ["draining"]]);
  });

  it("fails after five minutes without a store, and not a millisecond before", () => {
    const { clock, readiness, leave, comeBack } = setUpOn(true);
    readiness.open();
    leave();
    clock.advance(STORE_AWAY_MS_MAX - 1);
    expect(readiness.isReady).toBe(true);
    clock.advance(1);
    expect(readiness.isReady).toBe(false);
    comeBack();
    expect(readiness.isReady).toBe(true);
  });

  it("does not fail with the store unless it is configured to", () => {
    const { clock, readiness, leave } = setUpOn(false);
    readiness.open();
    leave();
    clock.advance(10 * STORE_AWAY_MS_MAX);
    expect(readiness.isReady).toBe(true);
  });
});
