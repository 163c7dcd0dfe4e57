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

  it("starts where a shared quota is first seen scarce, before anything is refused", () => {
    const rate = new SendRate();
    for (let i = 0; i < 10; i++) rate.sent(i);
    rate.left(0.6, 10);
    expect(rate.waitMs(10)).toBe(0);
    rate.left(0.4, 20);
    expect(rate.perSecond(20)).toBe(5);
    expect(rate.waitMs(20)).toBe(200);
  });

  it("falls with what is missing of a shared quota, and grows with what is left", () => {
    const rate = startedAt(100);
    rate.left(0, 1_000);
    expect(rate.perSecond(1_000)).toBeCloseTo(70);
    for (let i = 0; i < 3; i++) rate.sent(1_000);
    expect(rate.waitMs(1_000)).toBeGreaterThan(0);
    rate.left(1, 2_000);
    expect(rate.perSecond(2_000)).toBeCloseTo(74.1);
  });

  it("does not grow if it has delayed nothing, and so was not tried", () => {
    const rate = startedAt(100);
    rate.left(0.5, 1_000);
    const before = rate.perSecond(1_000);
    rate.left(1, 2_000);
    expect(rate.perSecond(2_000)).toBe(before);
  });

  it("evens out: of two that follow the same quota, the lower one grows more", () => {
    const rates = [startedAt(4), startedAt(40)] as const;
    const shareOf = (nowMs: number) => rates[0].perSecond(nowMs) / rates[1].perSecond(nowMs);
    for (let nowMs = 100; nowMs <= 60_000; nowMs += 100) {
      for (const rate of rates) {
        while (rate.waitMs(nowMs) === 0) rate.sent(nowMs);
        rate.left(0.6, nowMs);
      }
    }
    expect(shareOf(60_000)).toBeGreaterThan(0.8);
  });

  it("grows again by itself if nothing is heard of the quota", () => {
    const rate = startedAt(100);
    rate.left(0.5, 1_000);
    const before = rate.perSecond(1_000);
    expect(rate.perSecond(11_000)).toBe(before);
    expect(rate.perSecond(12_000)).toBeGreaterThan(before * 1.1);
  });
});

/** A rate of so many requests a second, which has left its start behind. */
function startedAt(perSecond: number): SendRate {
  const rate = new SendRate();
  for (let i = 0; i < 2 * perSecond; i++) rate.sent(0);
  rate.left(0, 0);
  rate.left(0, 0);
  return rate;
}
