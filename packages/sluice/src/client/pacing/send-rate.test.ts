import { describe, expect, it } from "vitest";
import { SendRate } from "./send-rate.js";

/** Sends as fast as the rate allows, up to `wanted` a second, and refuses beyond `admitted` a second. */
function simulate(rate: SendRate, wanted: number, admitted: number, seconds: number) {
  let sent = 0;
  let refused = 0;
  let tokens = admitted;
  let nextMs = 0;
  for (let nowMs = 0; nowMs < seconds * 1_000; nowMs++) {
    tokens = Math.min(admitted, tokens + admitted / 1_000);
    if (nowMs < nextMs || rate.waitMs(nowMs) > 0) continue;
    nextMs = nowMs + 1_000 / wanted;
    rate.sent(nowMs);
    if (tokens >= 1) {
      tokens--;
      sent++;
    } else {
      refused++;
      rate.refused(nowMs, nowMs);
    }
  }
  return { sent, refused };
}

describe("a rate", () => {
  it("delays nothing before the first refusal", () => {
    const rate = new SendRate();
    for (let i = 0; i < 1_000; i++) {
      expect(rate.waitMs(i)).toBe(0);
      rate.sent(i);
    }
  });

  it("finds what a server admits that says nothing about it", () => {
    const { sent, refused } = simulate(new SendRate(), 100, 10, 60);
    expect(sent).toBeGreaterThan(0.8 * 10 * 60);
    expect(refused).toBeLessThan(0.15 * sent);
  });

  it("falls once for all requests that were sent before it fell", () => {
    const rate = new SendRate();
    for (let i = 0; i < 100; i++) rate.sent(i);
    for (let i = 0; i < 100; i++) rate.refused(i, 200);
    expect(rate.perSecond(200)).toBeCloseTo(70);
  });

  it("grows again, and is forgotten when it has delayed nothing for a while", () => {
    const rate = new SendRate();
    for (let i = 0; i < 100; i++) rate.sent(i);
    rate.refused(99, 100);
    expect(rate.perSecond(5_100)).toBeCloseTo(105.5);
    expect(rate.perSecond(40_000)).toBe(Number.POSITIVE_INFINITY);
    expect(rate.waitMs(40_000)).toBe(0);
  });

  it("never falls so low that a server which is back is not noticed", () => {
    const rate = new SendRate();
    let nowMs = 0;
    for (let i = 0; i < 100; i++) {
      nowMs += rate.waitMs(nowMs);
      rate.sent(nowMs);
      rate.refused(nowMs, nowMs);
    }
    expect(rate.waitMs(nowMs)).toBeLessThanOrEqual(5_000);
  });
});
