// Verbs other than decisions: settlings are never lost in silence, and an operator always learns
// whether the request reached the store.

import { describe, expect, it } from "vitest";
import { standOn, toCharge, toCounter } from "../../../test/resilient-stand.js";
import { createLimiter } from "../../limiter/limiter.js";
import { concurrency, fixedWindow } from "../../limits/limits.js";
import type { Settling } from "../store.js";

const counter = toCounter();
const charge = toCharge(counter, { cost: 4 });

async function holding(options = {}) {
  const stand = standOn(options);
  const { receipts } = await stand.store.decide([charge], { hold: true });
  const cancel: Settling[] = receipts.map((receipt) => ({ receipt, kept: 0, nowMs: charge.nowMs }));
  const used = () => 10 - stand.memory.peek([toCharge(counter, { cost: 0 })])[0].remaining;
  return { ...stand, cancel, used };
}

describe("settling", () => {
  it("goes to the store, synchronously if the store answers synchronously", async () => {
    const { store, inner, cancel, used } = await holding();
    expect(await store.settle(cancel)).toBeUndefined();
    expect(used()).toBe(0);
    inner.mood = "prompt";
    expect(store.settle(cancel)).toBeUndefined();
  });

  it.each(["failing", "throwing", "silent"] as const)(
    "never fails with a %s store, and is made up for with its next answer",
    async (mood) => {
      const { store, inner, clock, cancel, used, settled } = await holding();
      inner.mood = mood;
      const settling = store.settle(cancel);
      clock.advance(50);
      expect(await settling).toBeUndefined();
      expect(used()).toBe(4);
      expect(store.stats).toMatchObject({ settlingsWaiting: 1, unsettled: 0, failures: 1 });
      inner.mood = "later";
      await store.peek([charge]);
      await settled();
      expect(used()).toBe(0);
      expect(store.stats).toMatchObject({ settlingsWaiting: 0, unsettled: 0 });
    },
  );

  it("has as much time as the decision that it settles", async () => {
    const far = { ...toCounter(), timeoutMs: 1_000 };
    const { store, inner, clock, settled } = standOn();
    const { receipts } = await store.decide([toCharge(far, { cost: 4 })], { hold: true });
    inner.mood = "silent";
    store.settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs: charge.nowMs })));
    clock.advance(999);
    await settled();
    expect(store.stats).toMatchObject({ settlingsWaiting: 0, failures: 0 });
    clock.advance(1);
    await settled();
    expect(store.stats).toMatchObject({ settlingsWaiting: 1, failures: 1 });
  });

  it("waits without touching the store while the circuit breaker is open, and goes when it is back", async () => {
    const { store, inner, clock, cancel, used, breakDown, settled } = await holding();
    await breakDown();
    const before = inner.calls.length;
    expect(store.settle(cancel)).toBeUndefined();
    expect(inner.calls).toHaveLength(before);
    clock.advance(1_000);
    await store.peek([charge]);
    await settled();
    expect(used()).toBe(0);
  });

  it("drops and counts the oldest beyond settlingsMax", async () => {
    const { store, cancel, breakDown } = await holding({ settlingsMax: 3 });
    await breakDown();
    for (let i = 0; i < 5; i++) store.settle(cancel);
    expect(store.stats).toMatchObject({ settlingsWaiting: 3, unsettled: 2 });
  });

  it("is tried once more by close, and counted as dropped if that fails too", async () => {
    for (const mood of ["later", "failing", "silent"] as const) {
      const { store, inner, clock, cancel, settled } = await holding();
      inner.mood = "failing";
      await store.settle(cancel);
      inner.mood = mood;
      Promise.resolve(store.close()).catch(() => {});
      await settled();
      clock.advance(50);
      await settled();
      expect(inner.verbs()).toEqual(["decide", "settle", "settle", "close"]);
      expect(inner.calls[2].args[0]).toEqual(cancel);
      expect(store.stats.unsettled).toBe(mood === "later" ? 0 : 1);
    }
  });

  it("sends each receipt to where it came from", async () => {
    const { store, inner, clock, cancel, used, breakDown } = await holding();
    await breakDown();
    const { receipts } = await store.decide([charge], { hold: true });
    const ofFallback = receipts.map((receipt) => ({ receipt, kept: 0, nowMs: charge.nowMs }));
    expect(store.peek([charge])).toMatchObject([{ remaining: 1 }]);
    clock.advance(1_000);
    inner.mood = "later";
    await store.settle([...ofFallback, ...cancel]);
    expect(inner.last.args[0]).toEqual(cancel);
    expect(used()).toBe(0);
    const calls = inner.calls.length;
    store.settle(ofFallback);
    expect(inner.calls).toHaveLength(calls);
    await breakDown();
    expect(store.peek([charge])).toMatchObject([{ remaining: 5 }]);
  });
});

describe("permits and reservations of a limiter", () => {
  it.each([
    ["open", 10],
    ["local", 5],
  ] as const)(
    "work in fallback under %s, and are released where they were acquired",
    async (policy, most) => {
      const { store, clock, breakDown } = standOn();
      await breakDown();
      const limit = concurrency({ limit: 10, permitMs: 60_000 });
      const limiter = createLimiter({ limit, store, clock, onStoreFailure: policy });
      const permits = await Promise.all(Array.from({ length: 10 }, () => limiter.acquire("k")));
      expect(permits.filter(({ allowed }) => allowed)).toHaveLength(most);
      for (const permit of permits) await permit.release();
      expect(await limiter.acquire("k")).toMatchObject({ allowed: true, source: "fallback" });
      const rate = createLimiter({
        limit: fixedWindow({ limit: 10, windowMs: 60_000 }),
        store,
        clock,
        name: "rate",
        onStoreFailure: policy,
      });
      const reservation = await rate.reserve("k", { cost: 5 });
      await reservation.commit(1);
      expect(await rate.peek("k")).toMatchObject({ remaining: policy === "open" ? 10 : 4 });
    },
  );
});

describe("an operator's call", () => {
  const until = { untilMs: 5_100_000, nowMs: 5_000_000 };

  it("has a second, whatever decisions have, then says that the store did not answer", async () => {
    const { store, inner, clock, settled } = standOn();
    inner.mood = "silent";
    let seen: unknown;
    Promise.resolve(store.reset([charge])).catch((error: unknown) => {
      seen = error;
    });
    clock.advance(999);
    await settled();
    expect(seen).toBeUndefined();
    clock.advance(1);
    await settled();
    expect(seen).toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
    expect(String(seen)).toMatch(/no answer within 1000 ms$/);
  });

  it("reports that it failed, whichever it is", async () => {
    const { store, inner } = standOn({ breaker: { failuresMax: 100 } });
    inner.mood = "failing";
    for (const call of [
      store.debit([charge]),
      store.refund([charge]),
      store.reset([charge]),
      store.block("test", "k", until),
      store.unblock("test", "k"),
    ]) {
      await expect(call).rejects.toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
    }
  });

  it("blocks in fallback, whether the store heard of the block or not", async () => {
    for (const mood of ["later", "failing"] as const) {
      const { store, inner, breakDown } = standOn();
      inner.mood = mood;
      await Promise.resolve(store.block("test", "k", until)).catch(() => {});
      await breakDown();
      expect(await store.decide([charge])).toMatchObject({
        allowed: false,
        verdicts: [{ retryAfterMs: 100_000, source: "fallback" }],
      });
      await Promise.resolve(store.unblock("test", "k")).catch(() => {});
      expect(await store.decide([charge])).toMatchObject({ allowed: true });
    }
  });

  it("has as long as a decision where that has more than a second", async () => {
    const { store, inner, clock, settled } = standOn({ timeoutMs: 3_000 });
    inner.mood = "silent";
    const reset = store.reset([charge]);
    clock.advance(2_999);
    inner.last.answer();
    await expect(reset).resolves.toBeUndefined();
    await settled();
  });

  it("grants and forgets in fallback, though it says that the store did not", async () => {
    const { store, breakDown } = standOn();
    await breakDown();
    await store.decide([toCharge(counter, { cost: 5 })]);
    await expect(store.refund([toCharge(counter, { cost: 2 })])).rejects.toThrow();
    expect(await store.peek([charge])).toMatchObject([{ remaining: 2 }]);
    await expect(store.reset([charge])).rejects.toThrow();
    expect(await store.peek([charge])).toMatchObject([{ remaining: 5 }]);
  });

  it("may be the trial that shows that the store is back", async () => {
    const { store, clock, breakDown } = standOn();
    await breakDown();
    clock.advance(1_000);
    await store.debit([charge]);
    expect(store.stats.state).toBe("closed");
  });
});
