import { describe, expect, it } from "vitest";
import type { QuotaReport } from "../headers/quota-report.js";
import { Quota } from "./quota.js";

const NOW_MS = 1_000_000;
const NO_OWN_USE = { sent: 0, countedMin: 0 };

function reported(report: Partial<QuotaReport>, random = 0): Quota {
  const quota = new Quota("a");
  quota.report(
    { name: "a", limit: 100, remaining: 100, resetMs: 60_000, isOfRequests: true, ...report },
    NOW_MS,
    random,
    NO_OWN_USE,
  );
  return quota;
}

/** How long the next request waits after one that was sent now. */
function gapMsOf(quota: Quota): number {
  quota.sent(NOW_MS);
  return quota.wait(NOW_MS).shouldMs;
}

describe("a quota", () => {
  it("delays nothing while half of it is left, so that a burst stays quick", () => {
    const quota = reported({ remaining: 100 });
    for (let i = 0; i < 50; i++) {
      expect(quota.wait(NOW_MS)).toEqual({ mustMs: 0, shouldMs: 0 });
      quota.sent(NOW_MS);
    }
    expect(quota.wait(NOW_MS)).toEqual({ mustMs: 0, shouldMs: 0 });
  });

  it("spaces requests below that, ever more, and evenly until the reset from a tenth on", () => {
    const gaps = [50, 40, 30, 20, 11, 6, 2].map((left) => gapMsOf(reported({ remaining: left })));
    expect(gaps).toEqual(gaps.toSorted((a, b) => a - b));
    expect(gaps[0]).toBeLessThan(60);
    // 10 left, a tenth: all of the minute that is left is divided among them.
    expect(gapMsOf(reported({ remaining: 11 }))).toBe(6_000);
    expect(gapMsOf(reported({ remaining: 6 }))).toBe(12_000);
  });

  it("that is used up and reports no reset is back after a window at the latest", () => {
    const usedUp = { remaining: 0, resetMs: undefined };
    expect(reported({ ...usedUp, windowMs: 60_000 }).wait(NOW_MS).mustMs).toBe(60_000);
    expect(reported(usedUp).wait(NOW_MS).mustMs).toBe(0);
    const left = { remaining: 1, resetMs: undefined, windowMs: 60_000 };
    expect(reported(left).wait(NOW_MS).mustMs).toBe(0);
  });

  it("that is spent at its own pace lasts until the reset", () => {
    const quota = reported({ remaining: 30 });
    let nowMs = NOW_MS;
    for (let sent = 0; sent < 30; sent++) {
      const { mustMs, shouldMs } = quota.wait(nowMs);
      expect(mustMs).toBe(0);
      nowMs += shouldMs;
      quota.sent(nowMs);
    }
    expect(nowMs).toBeGreaterThan(NOW_MS + 30_000);
    expect(nowMs).toBeLessThanOrEqual(NOW_MS + 60_000);
  });

  it("that is used up makes requests wait for the reset, and a random time more, never less", () => {
    for (const random of [0, 0.5, 0.999]) {
      const { mustMs, shouldMs } = reported({ remaining: 0 }, random).wait(NOW_MS);
      expect(mustMs).toBeGreaterThanOrEqual(60_000);
      expect(mustMs).toBeLessThanOrEqual(66_000);
      expect(shouldMs).toBe(mustMs);
    }
    const waits = [0, 0.5, 0.999].map((random) => reported({ remaining: 0 }, random).wait(NOW_MS));
    expect(new Set(waits.map(({ mustMs }) => mustMs)).size).toBe(3);
  });

  it("that was used up lets a single request find out, since a bucket has one unit then", () => {
    const quota = reported({ remaining: 0 });
    expect(quota.wait(NOW_MS + 59_999).mustMs).toBe(1);
    expect(quota.wait(NOW_MS + 60_000).mustMs).toBe(0);
    quota.sent(NOW_MS + 60_000);
    expect(quota.wait(NOW_MS + 60_000).mustMs).toBeGreaterThan(0);
  });

  it("that was used up lets requests find out one after the other, until a response says something", () => {
    const quota = reported({ remaining: 0 });
    for (let nowMs = NOW_MS + 60_000; nowMs < NOW_MS + 60_010; nowMs++) {
      expect(quota.wait(nowMs).mustMs).toBe(0);
      quota.sent(nowMs);
      expect(quota.wait(nowMs).mustMs).toBeGreaterThan(0);
      quota.answered();
    }
    expect(quota.wait(NOW_MS + 120_000).mustMs).toBe(0);
    for (let i = 0; i < 50; i++) quota.sent(NOW_MS + 120_000);
    expect(quota.wait(NOW_MS + 120_000).mustMs).toBe(0);
  });

  it("is not used up by requests whose responses don't report it", () => {
    const quota = reported({ remaining: 3 });
    for (let i = 0; i < 2; i++) quota.sent(NOW_MS);
    expect(quota.remaining).toBe(1);
    for (let i = 0; i < 2; i++) quota.answered();
    expect(quota.remaining).toBe(3);
    for (let i = 0; i < 5; i++) quota.sent(NOW_MS);
    for (let i = 0; i < 5; i++) quota.answered();
    expect(quota.remaining).toBe(3);
  });

  it("has after its reset what it has as a whole by now, not what it once had", () => {
    const quota = reported({ limit: 1_000, remaining: 1_000 });
    const less = { name: "a", limit: 10, remaining: 5, resetMs: 60_000, isOfRequests: true };
    quota.report(less, NOW_MS, 0, NO_OWN_USE);
    expect(quota.wait(NOW_MS + 60_000).mustMs).toBe(0);
    expect(quota.remaining).toBe(10);
  });

  it("that was not used up is full after its reset", () => {
    const quota = reported({ remaining: 5 });
    expect(quota.wait(NOW_MS + 60_000)).toEqual({ mustMs: 0, shouldMs: 0 });
    for (let i = 0; i < 40; i++) quota.sent(NOW_MS + 60_000);
    expect(quota.wait(NOW_MS + 60_000)).toEqual({ mustMs: 0, shouldMs: 0 });
  });

  it("takes off requests that were sent and not answered when it was reported", () => {
    const quota = reported({ remaining: 100 });
    for (let i = 0; i < 4; i++) quota.sent(NOW_MS);
    quota.answered();
    const report = { name: "a", limit: 100, remaining: 3, resetMs: 60_000, isOfRequests: true };
    quota.report(report, NOW_MS, 0, NO_OWN_USE);
    expect(quota.remaining).toBe(0);
    for (let i = 0; i < 3; i++) quota.answered();
    quota.report(report, NOW_MS, 0, NO_OWN_USE);
    expect(quota.remaining).toBe(3);
  });

  it("whose limit is not known goes by the most that was ever left", () => {
    const quota = reported({ limit: undefined, remaining: 20 });
    expect(gapMsOf(quota)).toBe(0);
    const less = { name: "a", limit: undefined, resetMs: 60_000, isOfRequests: true };
    quota.answered();
    quota.report({ ...less, remaining: 3 }, NOW_MS, 0, NO_OWN_USE);
    expect(gapMsOf(quota)).toBe(30_000);
  });

  it("without a time to wait for delays nothing", () => {
    expect(reported({ remaining: 0, resetMs: undefined }).wait(NOW_MS).mustMs).toBe(0);
  });

  it("of tokens delays nothing until it is used up, since the cost of a request is not known", () => {
    const quota = reported({ remaining: 1, isOfRequests: false });
    for (let i = 0; i < 10; i++) quota.sent(NOW_MS);
    expect(quota.wait(NOW_MS)).toEqual({ mustMs: 0, shouldMs: 0 });
    const none = reported({ remaining: 0, isOfRequests: false });
    expect(none.wait(NOW_MS).mustMs).toBe(60_000);
  });

  it("of zero, with nothing left, does not divide by zero", () => {
    const quota = reported({ limit: 0, remaining: 0 });
    expect(quota.wait(NOW_MS).mustMs).toBe(60_000);
    expect(quota.wait(NOW_MS + 60_000).mustMs).toBe(0);
  });
});
