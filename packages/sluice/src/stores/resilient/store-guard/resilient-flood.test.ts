// A store that works but is asked more than it can answer in time: the flood of one caller must
// neither open the breaker nor delay other callers.

import { describe, expect, it } from "vitest";
import { standOn, toCharge, toCounter } from "../../../../test/resilient-stand.js";
import { fixedWindow } from "../../../limits/limits.js";
import { CHARGES_MAX } from "./store-guard.js";

const counter = toCounter({ limit: fixedWindow({ limit: 1_000_000, windowMs: 1_000_000_000 }) });
const of = (key: string) => [toCharge(counter, { key })];
const many = (count: number, key = "flood") =>
  Array.from({ length: count }, () => toCharge(counter, { key }));

/** A stand over a store that answers `perMs` calls each millisecond, the oldest first. */
function slowStand(perMs: number) {
  const stand = standOn();
  stand.inner.mood = "silent";
  let answered = 0;
  const pass = async (ms: number) => {
    for (let i = 0; i < ms; i++) {
      stand.clock.advance(1);
      for (const end = answered + perMs; answered < end; answered++) {
        stand.inner.calls[answered]?.answer();
        if (stand.inner.calls[answered] === undefined) break;
      }
      await stand.settled();
    }
  };
  return { ...stand, pass };
}

describe("a flood of one caller", () => {
  it("sends the store only what it can answer in time", () => {
    const { inner, store } = slowStand(0);
    for (let i = 0; i < 20_000; i++) void store.decide(of("flood"));
    for (let i = 0; i < 100; i++) void store.peek(many(100));
    expect(inner.calls).toHaveLength(CHARGES_MAX);
  });

  it("never opens the breaker of a store that answers", async () => {
    const { store, pass } = slowStand(100);
    for (let second = 0; second < 4; second++) {
      for (let i = 0; i < 10_000; i++) void store.decide(of("flood"));
      await pass(60);
      expect(store.stats.state).toBe("closed");
    }
    expect(store.stats.fallbackDecisions).toBeGreaterThan(10_000);
  });

  it("counts once with all that a single stall of the store fails", async () => {
    const { store, clock, settled, pass } = slowStand(100);
    for (let ms = 0; ms < 90; ms++) {
      for (let i = 0; i < 10; i++) void store.decide(of(`caller ${i}`));
      clock.advance(1);
      await settled();
    }
    expect(store.stats).toMatchObject({ state: "closed", failures: 410 });
    await pass(20);
    const decided = store.decide(of("other"));
    await pass(1);
    expect((await decided).verdicts[0].source).toBe("memory");
  });

  it("does not delay other callers: callers take turns", async () => {
    const { store, pass } = slowStand(100);
    for (let i = 0; i < 50_000; i++) void store.decide(of("flood"));
    const others = ["a", "b", "c"].map((key) => store.decide(of(key)));
    await pass(30);
    for (const outcome of await Promise.all(others)) {
      expect(outcome.verdicts[0]).toMatchObject({ allowed: true, source: "memory" });
    }
  });

  it("is answered by the policy within the deadline, waiting included", async () => {
    const { store, pass, inner } = slowStand(10);
    const answers = Array.from({ length: 3_000 }, () => store.decide(of("flood")));
    await pass(51);
    const sources = (await Promise.all(answers)).map(({ verdicts }) => verdicts[0].source);
    expect(sources.filter((source) => source === "memory").length).toBeLessThan(600);
    expect(sources.filter((source) => source === "fallback").length).toBeGreaterThan(2_400);
    // What expired while it waited was never sent.
    expect(inner.calls.length).toBeLessThan(CHARGES_MAX + 600);
  });

  it("is not admitted for being a flood, even under the policy open", async () => {
    const { store, pass } = slowStand(100);
    const open = toCounter({ onStoreFailure: "open" });
    const answers = Array.from({ length: 20_000 }, () => store.decide([toCharge(open)]));
    await pass(51);
    const admitted = (await Promise.all(answers)).filter(({ allowed }) => allowed);
    // Ten by the limit, five by the share of this process.
    expect(admitted).toHaveLength(15);
  });

  it("by peeks of many counters at a time lets decisions pass between", async () => {
    const { store, pass } = slowStand(1);
    const looked = store.peek(many(1_000));
    const decided = store.decide(of("other"));
    await pass(20);
    expect(await looked).toHaveLength(1_000);
    expect((await decided).verdicts[0].source).toBe("memory");
  });
});

describe("a request that waits for room", () => {
  it("is not overtaken by later ones that would fit before it", async () => {
    const { store, pass } = slowStand(100);
    for (let i = 0; i < CHARGES_MAX; i++) void store.decide(of("flood"));
    const large = store.decide(many(500, "large"));
    const behind = store.decide(of("behind"));
    for (let ms = 0; ms < 40; ms++) {
      await pass(1);
      for (let i = 0; i < 100; i++) void store.decide(of(`newcomer ${i}`));
    }
    await pass(20);
    for (const { verdicts } of await Promise.all([large, behind])) {
      expect(verdicts[0].source).toBe("memory");
    }
  });
});

describe("a request of more charges than the store is given at a time", () => {
  it("is sent alone, and does not count as a failure of the store when it is late", async () => {
    const { store, inner, pass } = slowStand(0);
    for (let i = 0; i < 10; i++) {
      const late = store.decide(many(CHARGES_MAX + 1));
      expect(inner.calls).toHaveLength(i + 1);
      await pass(51);
      expect((await late).verdicts[0].source).toBe("fallback");
    }
    expect(store.stats).toMatchObject({ state: "closed", failures: 10 });
  });
});

describe("a store that is gone", () => {
  it("opens the breaker under a flood too, and waiting requests are answered", async () => {
    const { store, clock, settled, inner } = standOn();
    inner.mood = "silent";
    const answers = [];
    for (let i = 0; i < 10; i++) {
      for (let n = 0; n < 1_000; n++) answers.push(store.decide(of(`caller ${n}`)));
      clock.advance(5);
      await settled();
    }
    clock.advance(50);
    await settled();
    await Promise.all(answers);
    for (let i = 0; i < 5 && store.stats.state === "closed"; i++) {
      for (let n = 0; n < 1_000; n++) void store.decide(of(`caller ${n}`));
      clock.advance(50);
      await settled();
    }
    expect(store.stats.state).toBe("open");
  });

  it("is noticed as soon if each request waits for the one before to expire", async () => {
    const { store, clock, settled, inner } = standOn();
    const startMs = clock.now();
    inner.mood = "silent";
    // Only one of these is under way at a time: each is sent because the one before has failed.
    for (let ms = 0; store.stats.state === "closed"; ms++) {
      if (ms % 48 === 0) void store.decide(many(1_000));
      clock.advance(1);
      await settled();
    }
    // Five deadlines of 50 ms.
    expect(clock.now() - startMs).toBeLessThanOrEqual(250);
  });
});
