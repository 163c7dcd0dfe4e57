// The deadline, the breaker and what becomes of answers that come too late.

import { describe, expect, it, vi } from "vitest";
import {
  type ResilientStand,
  standOn,
  toCharge,
  toCounter,
} from "../../../test/resilient-stand.js";
import { SluiceError } from "../../base/errors.js";
import type { FailurePolicy, Outcome } from "../store.js";
import { resilient } from "./resilient.js";

const counter = toCounter();
const charge = toCharge(counter);

function usedIn({ memory }: ResilientStand, from = counter): number {
  return 10 - memory.peek([toCharge(from, { cost: 0 })])[0].remaining;
}

describe("a store that answers in time", () => {
  it.each(["later", "prompt"] as const)("is passed on untouched if it answers %s", async (mood) => {
    const stand = standOn();
    stand.inner.mood = mood;
    const verdict = stand.store.decideOne(counter, "k", 3, charge.nowMs);
    expect(verdict instanceof Promise).toBe(mood === "later");
    expect(await verdict).toMatchObject({ allowed: true, remaining: 7, source: "memory" });
    const outcome = await stand.store.decide([charge], { hold: true });
    expect(outcome).toMatchObject({ allowed: true, receipts: [{ cost: 1 }] });
    expect(await stand.store.peek([charge])).toMatchObject([{ remaining: 6, source: "memory" }]);
    expect(stand.store.stats).toMatchObject({ state: "closed", failures: 0, fallbackDecisions: 0 });
  });

  it("is asked for receipts that the caller does not see unless it asked", async () => {
    const { store, inner } = standOn();
    expect((await store.decide([charge])).receipts).toEqual([]);
    expect(inner.last.args[1]).toMatchObject({ hold: "briefly" });
    await store.decide([charge], { hold: true });
    expect(inner.last.args[1]).toMatchObject({ hold: true });
  });

  it("may take all of its time", async () => {
    const { store, inner, clock } = standOn();
    inner.mood = "silent";
    const verdict = store.decideOne(counter, "k", 1, charge.nowMs);
    clock.advance(49);
    inner.last.answer();
    expect(await verdict).toMatchObject({ source: "memory" });
    clock.advance(1_000);
    expect(store.stats.failures).toBe(0);
  });

  it("keeps its fast path if it answers synchronously, and loses it once it did not", async () => {
    const { store, memory, inner } = standOn({ isRemote: false });
    const short = vi.spyOn(memory, "decideOne");
    store.decideOne(counter, "k", 1, charge.nowMs);
    expect(short).toHaveBeenCalledTimes(1);
    expect(inner.verbs()).toEqual([]);
    short.mockReturnValue(Promise.resolve({}) as never);
    await store.decideOne(counter, "k", 1, charge.nowMs);
    await store.decideOne(counter, "k", 1, charge.nowMs);
    expect(inner.verbs()).toEqual(["decide"]);
  });
});

describe("a store that does not answer in time", () => {
  it("is answered for at the deadline, not a millisecond earlier", async () => {
    const { store, inner, clock, settled } = standOn();
    inner.mood = "silent";
    const seen = vi.fn();
    const verdict = Promise.resolve(store.decideOne(counter, "k", 1, charge.nowMs)).then(seen);
    clock.advance(49);
    await settled();
    expect(seen).not.toHaveBeenCalled();
    clock.advance(1);
    await verdict;
    expect(seen.mock.calls[0][0]).toMatchObject({ allowed: true, limit: 5, source: "fallback" });
    expect(store.stats).toMatchObject({ failures: 1, fallbackDecisions: 1 });
  });

  it("is notified that the caller no longer waits", async () => {
    const { store, inner, clock } = standOn();
    inner.mood = "silent";
    const isCallerGone = vi.fn(() => false);
    const outcome = store.decide([charge], { isAbandoned: isCallerGone });
    const { isAbandoned } = inner.last.args[1] as { isAbandoned: () => boolean };
    expect(isAbandoned()).toBe(false);
    isCallerGone.mockReturnValue(true);
    expect(isAbandoned()).toBe(true);
    isCallerGone.mockReturnValue(false);
    clock.advance(50);
    await outcome;
    expect(isAbandoned()).toBe(true);
  });

  it("may fail late without notice", async () => {
    const { store, inner, clock, settled } = standOn();
    inner.mood = "silent";
    const verdict = store.decideOne(counter, "k", 1, charge.nowMs);
    clock.advance(50);
    await verdict;
    inner.last.fail(new Error("too late"));
    // An unhandled rejection would fail the run.
    await settled();
    expect(store.stats.failures).toBe(1);
  });

  it("may refuse to refund a late admission without notice", async () => {
    const { store, inner, clock, settled } = standOn({ onStoreFailure: "closed" });
    inner.mood = "silent";
    const outcome = store.decide([charge]);
    clock.advance(50);
    await outcome;
    inner.mood = "failing";
    inner.error = new SluiceError("SLUICE_CLOSED", "this store");
    inner.calls[0].answer();
    // An unhandled rejection would fail the run.
    await settled();
    expect(inner.verbs()).toEqual(["decide", "settle"]);
  });

  const cases: [policy: FailurePolicy, hold: boolean, isRefunded: boolean, why: string][] = [
    ["closed", false, true, "the request was refused"],
    ["throw", false, true, "the request saw an error"],
    ["open", false, false, "the request did run"],
    ["local", false, false, "the request did run"],
    ["open", true, true, "the caller holds another receipt"],
    ["local", true, true, "the caller holds another receipt"],
    ["closed", true, true, "the request was refused"],
  ];

  it.each(cases)(
    "%s, held %s: a late admission is refunded: %s (%s)",
    async (policy, hold, isRefunded) => {
      const stand = standOn({ onStoreFailure: policy });
      const { store, inner, clock, settled } = stand;
      inner.mood = "silent";
      const outcome = Promise.resolve(store.decide([charge], { hold })).catch(() => {});
      clock.advance(50);
      await outcome;
      inner.mood = "later";
      inner.calls[0].answer();
      await settled();
      expect(usedIn(stand)).toBe(isRefunded ? 0 : 1);
      expect(store.stats.lateRefunded).toBe(isRefunded ? 1 : 0);
    },
  );

  it("refunds a late admission that the local limit had refused", async () => {
    const stand = standOn();
    const { store, inner, clock, settled } = stand;
    inner.mood = "silent";
    const verdict = store.decideOne(counter, "k", 6, charge.nowMs);
    clock.advance(50);
    expect(await verdict).toMatchObject({ allowed: false, source: "fallback" });
    inner.mood = "later";
    inner.calls[0].answer();
    await settled();
    expect(usedIn(stand)).toBe(0);
  });

  it("refunds at the time that has passed by the charge's own clock", async () => {
    const { store, inner, clock, settled } = standOn({ onStoreFailure: "closed" });
    inner.mood = "silent";
    const verdict = store.decideOne(counter, "k", 6, 777_000);
    clock.advance(80);
    await verdict;
    inner.calls[0].answer();
    await settled();
    expect(inner.last).toMatchObject({ verb: "settle", args: [[{ kept: 0, nowMs: 777_080 }]] });
  });

  it("keeps a late admission that the same request, sent again, was answered out of", async () => {
    const stand = standOn({ onStoreFailure: "closed" });
    const { store, inner, clock, settled } = stand;
    inner.mood = "silent";
    const first = store.decide([charge], { requestId: "r" });
    clock.advance(50);
    await first;
    const second = store.decide([charge], { requestId: "r" });
    for (const call of [...inner.calls]) call.answer();
    inner.mood = "later";
    expect(await second).toMatchObject({ allowed: true });
    await settled();
    expect(usedIn(stand)).toBe(1);
    expect(store.stats.lateRefunded).toBe(0);
  });

  it("gives a late admission with a request id back if it was not sent again", async () => {
    const stand = standOn({ onStoreFailure: "closed" });
    const { store, inner, clock, settled } = stand;
    inner.mood = "silent";
    const first = store.decide([charge], { requestId: "r" });
    clock.advance(50);
    await first;
    inner.mood = "later";
    inner.calls[0].answer();
    await settled();
    expect(usedIn(stand)).toBe(0);
  });
});

describe("a store that fails", () => {
  it.each(["failing", "throwing"] as const)(
    "gets the fallback's answer immediately (%s)",
    async (mood) => {
      const { store, inner } = standOn();
      inner.mood = mood;
      expect(await store.decide([charge])).toMatchObject({
        allowed: true,
        verdicts: [{ source: "fallback" }],
      });
      expect(await store.peek([charge])).toMatchObject([{ remaining: 4, source: "fallback" }]);
      expect(store.stats).toMatchObject({ failures: 2, fallbackDecisions: 1 });
    },
  );

  it.each(["failing", "throwing"] as const)("says under throw what was seen (%s)", async (mood) => {
    const { store, inner } = standOn({ onStoreFailure: "throw" });
    inner.mood = mood;
    const seen = await Promise.resolve(store.decide([charge])).catch((error: unknown) => error);
    expect(seen).toBeInstanceOf(SluiceError);
    expect(seen).toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE", cause: inner.error });
    expect((seen as Error).message).toMatch(/did not answer: connection refused$/);
  });

  it("says of a deadline how long it was", async () => {
    const { store, inner, clock } = standOn({ onStoreFailure: "throw", timeoutMs: 70 });
    inner.mood = "silent";
    const outcome = store.decide([charge]);
    clock.advance(70);
    await expect(outcome).rejects.toThrow(/did not answer: no answer within 70 ms$/);
  });

  it("passes misuse on as it is, and counts no failure", async () => {
    const { store, inner } = standOn({ breaker: { failuresMax: 1 } });
    inner.error = new SluiceError("SLUICE_REQUEST_ID_REUSED", "got r");
    inner.mood = "failing";
    await expect(store.decide([charge])).rejects.toBe(inner.error);
    inner.mood = "throwing";
    expect(() => store.decide([charge])).toThrow(inner.error as Error);
    expect(() => store.settle([])).toThrow(inner.error as Error);
    expect(store.stats).toMatchObject({ state: "closed", failures: 0, fallbackDecisions: 0 });
  });

  it("counts a SLUICE_STORE_UNAVAILABLE of its own as a failure, and says its text once", async () => {
    const { store, inner } = standOn({ onStoreFailure: "throw" });
    inner.error = new SluiceError("SLUICE_STORE_UNAVAILABLE", "LOADING");
    inner.mood = "failing";
    await expect(store.decide([charge])).rejects.toThrow("the store did not answer: LOADING");
    expect(store.stats.failures).toBe(1);
  });

  it.each(["later", "prompt"] as const)("may answer nonsense (%s)", async (mood) => {
    const { store, inner, memory, clock, settled } = standOn();
    inner.mood = mood;
    vi.spyOn(memory, "decide").mockReturnValue(undefined as never);
    for (let i = 0; i < 5; i++) {
      expect(await store.decideOne(counter, "k", 1, charge.nowMs)).toMatchObject({
        source: "fallback",
      });
    }
    expect(store.stats.state).toBe("open");
    clock.advance(1_000);
    expect(await store.decideOne(counter, "x", 1, charge.nowMs)).toMatchObject({ allowed: true });
    expect(store.stats.state).toBe("open");
    inner.mood = "silent";
    clock.advance(2_000);
    const late = store.decideOne(counter, "y", 1, charge.nowMs);
    clock.advance(50);
    await late;
    inner.last.answer();
    await settled();
  });

  it.each(["a text", undefined, null, { odd: true }])("may fail with %s", async (error) => {
    const { store, inner } = standOn({ onStoreFailure: "throw" });
    inner.error = error;
    inner.mood = "failing";
    await expect(store.decide([charge])).rejects.toMatchObject({ cause: error });
  });
});

describe("the breaker", () => {
  it("opens the circuit breaker after five failures in a row, and answers immediately", async () => {
    const { store, inner, breakDown } = standOn();
    await breakDown();
    expect(inner.calls).toHaveLength(5);
    inner.mood = "later";
    expect(store.decideOne(counter, "k", 1, charge.nowMs)).toMatchObject({ source: "fallback" });
    expect(store.peek([charge])).toMatchObject([{ source: "fallback" }]);
    await expect(store.debit([charge])).rejects.toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
    expect(inner.calls).toHaveLength(5);
  });

  it("opens by deadlines too, and the reason is the deadline", async () => {
    const { store, inner, clock, events } = standOn();
    inner.mood = "silent";
    for (let round = 0; round < 5; round++) {
      expect(store.stats.state).toBe("closed");
      // What was sent before a failure was known adds nothing to it.
      const late = [0, 1, 2].map((ms) => {
        clock.advance(ms);
        return store.decide([charge]);
      });
      clock.advance(50);
      await Promise.all(late);
    }
    expect(store.stats).toMatchObject({ state: "open", failures: 15 });
    expect(events).toMatchObject([{ kind: "entered", reason: "no answer within 50 ms" }]);
  });

  it("takes requests that fail together for one failure", async () => {
    const { store, inner, clock } = standOn({ onStoreFailure: "closed" });
    inner.mood = "silent";
    const late = Array.from({ length: 100 }, () => store.decide([charge]));
    clock.advance(50);
    await Promise.all(late);
    inner.mood = "failing";
    inner.error = new Error("the connection was lost");
    await Promise.all(Array.from({ length: 100 }, () => store.decide([charge])));
    const cause = new Error("reset by peer");
    const many = Array.from({ length: 100 }, () => {
      inner.error = new Error("the connection was lost", { cause });
      return store.decide([charge]);
    });
    await Promise.all(many);
    expect(store.stats).toMatchObject({ state: "closed", failures: 300 });
  });

  it("opens for a store that reports only one error, too", async () => {
    const { store, inner, clock } = standOn();
    inner.mood = "failing";
    inner.error = new Error("always the same");
    for (let n = 0; n < 5; n++) {
      await store.decide([charge]);
      clock.advance(10);
    }
    expect(store.stats.state).toBe("open");
  });

  it("lets exactly one request try after openMs, and closes when it was answered", async () => {
    const { store, inner, clock, events, breakDown } = standOn();
    await breakDown();
    clock.advance(1_000);
    inner.mood = "silent";
    const trial = store.decide([charge]);
    const others = Array.from({ length: 3 }, () => store.decide([charge]) as Outcome);
    expect(others.map(({ verdicts }) => verdicts[0].source)).toEqual(Array(3).fill("fallback"));
    expect(inner.calls).toHaveLength(6);
    expect(store.stats.state).toBe("half-open");
    inner.last.answer();
    expect(await trial).toMatchObject({ verdicts: [{ source: "memory" }] });
    expect(store.stats.state).toBe("closed");
    const sinceMs = 5_000_000;
    expect(events).toEqual([
      { kind: "entered", reason: "connection refused", atMs: sinceMs, sinceMs },
      { kind: "left", reason: "the store answers", atMs: 5_001_000, sinceMs },
    ]);
  });

  it("stays open when the trial misses its deadline, whose request gets the policy's answer", async () => {
    const { store, inner, clock, events, breakDown } = standOn({ onStoreFailure: "closed" });
    await breakDown();
    clock.advance(1_000);
    inner.mood = "silent";
    const trial = store.decide([charge]);
    clock.advance(50);
    expect(await trial).toMatchObject({ allowed: false, verdicts: [{ retryAfterMs: 2_000 }] });
    expect(store.stats.state).toBe("open");
    expect(events).toHaveLength(1);
  });

  it("stays open when the trial was misused, and lets the next request try", async () => {
    const { store, inner, clock, breakDown } = standOn();
    await breakDown();
    clock.advance(1_000);
    inner.error = new SluiceError("SLUICE_REQUEST_ID_REUSED", "got r");
    inner.mood = "failing";
    await expect(store.decide([charge])).rejects.toBe(inner.error);
    inner.mood = "later";
    expect(await store.decide([charge])).toMatchObject({ verdicts: [{ source: "memory" }] });
    expect(store.stats.state).toBe("closed");
  });

  it("says under throw why it is open, with the failure that opened it", async () => {
    const { store, breakDown, inner } = standOn({ onStoreFailure: "throw" });
    await breakDown();
    const answer = store.decideOne(counter, "k", 1, charge.nowMs);
    await expect(answer).rejects.toMatchObject({ cause: inner.error });
  });
});

describe("close", () => {
  it("answers who still waits by the policy, closes the store, and ends all timers", async () => {
    const { store, inner, clock, events } = standOn();
    inner.mood = "silent";
    const decided = Array.from({ length: 9 }, () => store.decide([charge]));
    const blocked = store.block("test", "k", { untilMs: 6_000_000, nowMs: 5_000_000 });
    const rejected = expect(blocked).rejects.toThrow(/it was closed$/);
    inner.mood = "later";
    const closed = store.close();
    const outcomes = await Promise.all(decided);
    expect(outcomes.every(({ verdicts }) => verdicts[0].source === "fallback")).toBe(true);
    await rejected;
    await closed;
    expect(inner.last.verb).toBe("close");
    // It is not the store's fault.
    expect(store.stats).toMatchObject({ state: "closed", failures: 0, fallbackDecisions: 9 });
    const after = vi.fn();
    clock.after = after;
    clock.advance(10_000_000);
    expect(after).not.toHaveBeenCalled();
    expect(events).toEqual([]);
  });

  it("ends every verb with SLUICE_CLOSED, and may be called again", async () => {
    const { store, inner } = standOn({ onStoreFailure: "open" });
    await store.close();
    await store.close();
    expect(inner.verbs()).toEqual(["close"]);
    for (const use of [
      () => store.decide([charge]),
      () => store.decideOne(counter, "k", 1, 0),
      () => store.peek([charge]),
      () => store.settle([]),
      () => store.debit([charge]),
      () => store.refund([charge]),
      () => store.reset([charge]),
      () => store.block("test", "k", { untilMs: 1, nowMs: 0 }),
      () => store.unblock("test", "k"),
    ]) {
      expect(use).toThrow(expect.objectContaining({ code: "SLUICE_CLOSED" }));
    }
  });

  it("passes on that the store could not be closed", async () => {
    const { store, inner } = standOn();
    inner.mood = "failing";
    inner.error = new Error("busy");
    await expect(store.close()).rejects.toBe(inner.error);
  });

  it("lets answers that come later come to nothing", async () => {
    const stand = standOn({ onStoreFailure: "closed" });
    stand.inner.mood = "silent";
    const outcome = stand.store.decide([charge]);
    const closed = stand.store.close();
    stand.inner.calls[0].answer();
    stand.inner.last.answer();
    expect(await outcome).toMatchObject({ allowed: false });
    await closed;
    await stand.settled();
    expect(stand.inner.verbs()).toEqual(["decide", "close"]);
  });
});

describe("options", () => {
  it.each([
    [{ timeoutMs: 0 }, "timeoutMs must be a whole number from 1 to 60000, got 0"],
    [{ timeoutMs: "50" }, 'got "50"'],
    [{ onStoreFailure: "ignore" }, "one of open, closed, local, throw"],
    [{ localShare: 0 }, "localShare must be a number above 0 and at most 1, got 0"],
    [{ localShare: 1.1 }, "got 1.1"],
    [{ keysMax: 0 }, "keysMax"],
    [{ breaker: { failuresMax: 0 } }, "resilient: breaker.failuresMax"],
    [{ breaker: { openMs: 0.5 } }, "resilient: breaker.openMs"],
    [{ breaker: { opensMs: 5 } }, 'unknown option "opensMs"'],
    [{ fallbackMsMax: -1 }, "fallbackMsMax"],
    [{ settlingsMax: 0 }, "settlingsMax"],
    [{ onEvent: "log" }, 'onEvent must be a function, got "log"'],
    [{ clock: {} }, "clock must have a function now(), and optionally wall(), got {}"],
    [{ timeout: 50 }, 'unknown option "timeout"'],
    [null, "needs an object of options, got null"],
  ])("%j are refused", (options, words) => {
    const make = () => resilient(standOn().memory, options as never);
    expect(make).toThrow(expect.objectContaining({ code: "SLUICE_OPTION_INVALID" }));
    expect(make).toThrow(words);
  });

  it("take the system's time with a clock that has no timers, so that both agree", async () => {
    const { store, inner } = standOn({ clock: { now: () => 7 }, breaker: { failuresMax: 1 } });
    inner.mood = "failing";
    await store.decide([charge]);
    expect(store.stats.sinceMs).toBeGreaterThan(7);
    inner.mood = "later";
    await store.close();
  });

  it("say that the store is not remote: an answer always comes", () => {
    expect(standOn().store.isRemote).toBe(false);
  });
});
