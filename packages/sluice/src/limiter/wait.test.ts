import { describe, expect, it, vi } from "vitest";
import type { Decision } from "../base/decision.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  tokenBucket,
} from "../limits/limits.js";
import { ForwardingStore } from "../stores/forwarding-store.js";
import { memoryStore } from "../stores/memory/memory-store.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createLimiter } from "./limiter.js";
import type { WaitOptions } from "./wait.js";

/** One unit every 100 ms, and one in store. */
const limit = tokenBucket({ capacity: 1, refillPerSecond: 10 });

/** Lets everything run that waits for nothing but promises. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

function setUp(of: Limit = limit, clock = new ManualClock(1_000)) {
  const limiter = createLimiter({ limit: of, clock });
  const passed: string[] = [];
  const wait = (name: string, options?: WaitOptions, key = "key") => {
    const answer = limiter.wait(key, options);
    answer.then(
      ({ allowed }) => passed.push(`${name} ${allowed ? "passed" : "refused"} at ${clock.now()}`),
      () => passed.push(`${name} failed at ${clock.now()}`),
    );
    return answer;
  };
  const advance = async (ms: number) => {
    await settle();
    for (let passedMs = 0; passedMs < ms; passedMs += 50) {
      clock.advance(50);
      await settle();
    }
  };
  return { clock, limiter, passed, wait, advance };
}

/** A store that answers when it is let. */
class HeldStore extends ForwardingStore {
  readonly #held: (() => void)[] = [];
  asked = 0;

  override async decideOne(...asked: Parameters<ForwardingStore["decideOne"]>) {
    await this.#hold();
    return super.decideOne(...asked);
  }

  override async decide(...asked: Parameters<ForwardingStore["decide"]>) {
    await this.#hold();
    return super.decide(...asked);
  }

  async answer(): Promise<void> {
    for (const go of this.#held.splice(0)) go();
    await settle();
  }

  #hold(): Promise<void> {
    this.asked++;
    return new Promise((resolve) => this.#held.push(resolve));
  }
}

function setUpOver(store: HeldStore) {
  const clock = new ManualClock(1_000);
  return { clock, limiter: createLimiter({ limit, store, clock, onStoreFailure: "throw" }) };
}

describe("wait", () => {
  it("resolves without waiting while there is room, with what check answers", async () => {
    const { wait } = setUp();
    expect(await wait("a")).toMatchObject({ allowed: true, remaining: 0, resetMs: 100 });
  });

  it("lets callers of one key pass in the order in which they came, whatever their costs", async () => {
    const { wait, passed, advance } = setUp(tokenBucket({ capacity: 3, refillPerSecond: 10 }));
    wait("a", { cost: 3 });
    wait("b", { cost: 3 });
    wait("c", { cost: 1 });
    wait("d", { cost: 2 });
    await advance(600);
    expect(passed).toEqual([
      "a passed at 1000",
      "b passed at 1300",
      "c passed at 1400",
      "d passed at 1600",
    ]);
  });

  it("does not make keys wait for each other", async () => {
    const { wait, passed, advance } = setUp();
    wait("a");
    wait("b");
    wait("c", undefined, "other");
    await advance(100);
    expect(passed).toEqual(["a passed at 1000", "c passed at 1000", "b passed at 1100"]);
  });

  it("refuses immediately if it is certain that the time is too short", async () => {
    const { wait, passed, advance } = setUp();
    wait("a");
    expect(await wait("b", { timeoutMs: 99 })).toMatchObject({ allowed: false, retryAfterMs: 100 });
    wait("c", { timeoutMs: 100 });
    await advance(100);
    expect(passed).toContain("c passed at 1100");
  });

  it("asks once with a time of 0", async () => {
    const { wait } = setUp();
    expect((await wait("a", { timeoutMs: 0 })).allowed).toBe(true);
    expect((await wait("b", { timeoutMs: 0 })).allowed).toBe(false);
  });

  it("passes though the store took longer to answer than there was time", async () => {
    const store = new HeldStore(memoryStore());
    const { limiter, clock } = setUpOver(store);
    const waiting = limiter.wait("key", { timeoutMs: 0 });
    await settle();
    clock.advance(5);
    await store.answer();
    expect(await waiting).toMatchObject({ allowed: true, remaining: 0 });
    expect((await limiter.peek("key")).remaining).toBe(0);
  });

  it("refuses at the end of its time one whose turn has not come", async () => {
    const { wait, passed, advance } = setUp();
    wait("a");
    wait("b");
    wait("c");
    const d = wait("d", { timeoutMs: 150 });
    await advance(200);
    expect(passed).toEqual([
      "a passed at 1000",
      "b passed at 1100",
      "d refused at 1150",
      "c passed at 1200",
    ]);
    expect(await d).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 50 });
  });

  it("refuses at the end of its time even if timers fire a little early, as the system's do", async () => {
    class EarlyClock extends ManualClock {
      override after(delayMs: number, task: () => void) {
        return super.after(Math.max(1, delayMs - 1), task);
      }
    }
    const hourly = fixedWindow({ limit: 1, windowMs: 3_600_000 });
    const { wait, passed, clock } = setUp(hourly, new EarlyClock(1_000));
    wait("a");
    wait("b");
    wait("c", { timeoutMs: 150 });
    for (const ms of [0, 149, 1, 50]) {
      clock.advance(ms);
      await settle();
    }
    expect(passed).toEqual(["a passed at 1000", "c refused at 1150"]);
  });

  it("sleeps through a wait that is longer than the system's timers reach", async () => {
    const delays: number[] = [];
    class WatchedClock extends ManualClock {
      override after(delayMs: number, task: () => void) {
        delays.push(delayMs);
        return super.after(delayMs, task);
      }
    }
    // One place in the queue in some 28 hours.
    const shaper = leakyBucket({ ratePerSecond: 0.00001, queueSize: 100 });
    const { wait, limiter } = setUp(shaper, new WatchedClock(1_000));
    for (let i = 0; i < 50; i++) limiter.check("key");
    wait("a");
    await settle();
    expect(delays).toEqual([2 ** 31 - 1]);
  });

  it("refuses immediately what can never pass", async () => {
    const { wait, limiter } = setUp();
    expect((await wait("a", { cost: 2 })).allowed).toBe(false);
    await wait("c");
    wait("d");
    // Also behind others.
    expect((await wait("e", { cost: 2 })).retryAfterMs).toBe(Number.POSITIVE_INFINITY);
    limiter.block("other", Number.POSITIVE_INFINITY);
    expect((await wait("b", undefined, "other")).retryAfterMs).toBe(Number.POSITIVE_INFINITY);
  });

  it("rejects with the reason of its signal, charges nothing and lets the next one pass", async () => {
    const { wait, passed, advance } = setUp();
    wait("a");
    const stop = new AbortController();
    const b = wait("b", { signal: stop.signal });
    wait("c");
    await advance(50);
    stop.abort(new Error("changed my mind"));
    await expect(b).rejects.toThrow("changed my mind");
    await advance(50);
    expect(passed).toEqual(["a passed at 1000", "b failed at 1050", "c passed at 1100"]);
  });

  it("rejects immediately if its signal was aborted before", async () => {
    const { wait, limiter } = setUp();
    await expect(wait("a", { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
    expect(limiter.peek("key").remaining).toBe(1);
  });

  it("refunds what is admitted after its signal was aborted", async () => {
    let answer: (() => void) | undefined;
    class SlowStore extends ForwardingStore {
      override async decideOne(...asked: Parameters<ForwardingStore["decideOne"]>) {
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return super.decideOne(...asked);
      }
    }
    const clock = new ManualClock(1_000);
    const limiter = createLimiter({ limit, store: new SlowStore(memoryStore()), clock });
    const stop = new AbortController();
    const waiting = limiter.wait("key", { signal: stop.signal });
    await settle();
    stop.abort(new Error("gone"));
    answer?.();
    await expect(waiting).rejects.toThrow("gone");
    await settle();
    expect((await limiter.peek("key")).remaining).toBe(1);
  });

  it("rejects when its signal is aborted even if the store never answers", async () => {
    const { limiter } = setUpOver(new HeldStore(memoryStore()));
    const stop = new AbortController();
    const waiting = limiter.wait("key", { signal: stop.signal });
    const next = limiter.wait("key", { signal: stop.signal });
    await settle();
    stop.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    await expect(next).rejects.toThrow("gone");
  });

  it("forgets the requestId of what was refunded, so that the same request is charged later", async () => {
    const store = new HeldStore(memoryStore());
    const { limiter } = setUpOver(store);
    const stop = new AbortController();
    const waiting = limiter.wait("key", { signal: stop.signal, requestId: "r1" });
    await settle();
    stop.abort(new Error("gone"));
    await store.answer();
    await expect(waiting).rejects.toThrow("gone");
    expect((await limiter.peek("key")).remaining).toBe(1);
    const again = limiter.wait("key", { requestId: "r1" });
    await settle();
    await store.answer();
    expect((await again).allowed).toBe(true);
    expect((await limiter.peek("key")).remaining).toBe(0);
  });

  it("passes with a requestId that was refused before, and is charged once", async () => {
    const { wait, passed, advance, limiter } = setUp(
      fixedWindow({ limit: 2, windowMs: 1_000, align: "first" }),
    );
    await wait("a", { cost: 2 });
    wait("b", { requestId: "r1" });
    await advance(1_000);
    expect(passed).toEqual(["a passed at 1000", "b passed at 2000"]);
    expect((await wait("b again", { requestId: "r1" })).allowed).toBe(true);
    expect(limiter.peek("key").remaining).toBe(1);
  });

  it("refunds nothing to a window that began after the charge", async () => {
    const shaper = leakyBucket({ ratePerSecond: 1, queueSize: 5 });
    const window = fixedWindow({ limit: 2, windowMs: 500 });
    const clock = new ManualClock(1_000);
    const limiter = createLimiter({ limit: [shaper, window], clock });
    limiter.check("key");
    const stop = new AbortController();
    const waiting = limiter.wait("key", { signal: stop.signal });
    await settle();
    clock.advance(600);
    limiter.check("key");
    stop.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    // Two of the window of 1500 to 2000 in all: one has passed, so one is left.
    expect(limiter.check("key").allowed).toBe(true);
    expect(limiter.check("key").allowed).toBe(false);
  });

  it("adds one listener to a signal that many share, and removes it", async () => {
    const { limiter, wait } = setUp();
    await wait("a");
    const stop = new AbortController();
    const added = vi.spyOn(stop.signal, "addEventListener");
    const removed = vi.spyOn(stop.signal, "removeEventListener");
    const { signal } = stop;
    const rest = Array.from({ length: 50 }, (_, i) =>
      limiter.wait(`key${i % 5 === 0 ? "" : i}`, { signal, timeoutMs: 10 }),
    );
    await settle();
    // Those of other keys have passed, and the last of all removes it.
    const last = limiter.wait("key", { signal });
    stop.abort(new Error("gone"));
    await expect(last).rejects.toThrow("gone");
    await Promise.allSettled(rest);
    expect(added).toHaveBeenCalledTimes(1);
    expect(removed).toHaveBeenCalledTimes(1);
  });

  it("asks the store no more often because others give up", async () => {
    const store = new HeldStore(memoryStore());
    const { limiter, clock } = setUpOver(store);
    limiter.check("key");
    await store.answer();
    const first = limiter.wait("key");
    const stop = new AbortController();
    const rest = Array.from({ length: 100 }, (_, i) =>
      limiter.wait("key", i % 2 === 0 ? { signal: stop.signal } : { timeoutMs: 40 }),
    );
    await settle();
    await store.answer();
    stop.abort();
    clock.advance(50);
    await Promise.allSettled(rest);
    expect(store.asked).toBe(2);
    clock.advance(50);
    await settle();
    await store.answer();
    expect((await first).allowed).toBe(true);
    expect(store.asked).toBe(3);
  });

  it("notices within five seconds that a refund made room", async () => {
    const { wait, limiter, passed, advance } = setUp(
      fixedWindow({ limit: 1, windowMs: 3_600_000 }),
    );
    wait("a");
    wait("b");
    await advance(1_000);
    limiter.refund("key");
    await advance(4_000);
    expect(passed).toEqual(["a passed at 1000", "b passed at 6000"]);
  });

  it("waits in the queue of a shaper, and gives up its place if that is too late", async () => {
    const shaper = leakyBucket({ ratePerSecond: 10, queueSize: 5 });
    const { wait, passed, advance, limiter } = setUp(shaper);
    wait("a");
    wait("b");
    await settle();
    expect(limiter.peek("key").remaining).toBe(4);
    const c = wait("c", { timeoutMs: 150 });
    await advance(200);
    expect(passed).toEqual(["a passed at 1000", "b passed at 1100", "c refused at 1100"]);
    expect((await c).allowed).toBe(false);
    wait("d");
    await settle();
    expect(await wait("e", { timeoutMs: 50 })).toMatchObject({ allowed: false });
  });

  it("rejects callers that wait when the limiter is closed", async () => {
    const { wait, limiter } = setUp();
    await wait("a");
    const rest = [wait("b"), wait("c")];
    await settle();
    limiter.close();
    for (const one of rest) await expect(one).rejects.toMatchObject({ code: "SLUICE_CLOSED" });
  });

  it("rejects immediately if the limiter is closed while the store is asked", async () => {
    const store = new HeldStore(memoryStore());
    const { limiter, clock } = setUpOver(store);
    limiter.check("key", { nowMs: 1_000 });
    await store.answer();
    const waiting = limiter.wait("key");
    await settle();
    limiter.close();
    await store.answer();
    await expect(waiting).rejects.toMatchObject({ code: "SLUICE_CLOSED" });
    expect(clock.now()).toBe(1_000);
  });

  it("rejects those in line when the limiter is closed, but not one with a place in a shaper's queue", async () => {
    const { wait, limiter, passed, advance } = setUp(
      leakyBucket({ ratePerSecond: 10, queueSize: 5 }),
    );
    wait("a");
    wait("b");
    wait("c");
    await settle();
    limiter.close();
    await advance(100);
    expect(passed).toEqual(["a passed at 1000", "c failed at 1000", "b passed at 1100"]);
  });

  it("is an error for the 10,001st that waits, and for no other", async () => {
    const { wait, limiter } = setUp();
    await wait("a");
    const stop = new AbortController();
    const rest = Array.from({ length: 10_000 }, () => limiter.wait("key", { signal: stop.signal }));
    await expect(wait("b")).rejects.toMatchObject({ code: "SLUICE_TOO_MANY_WAITING" });
    stop.abort();
    const ends: readonly PromiseSettledResult<Decision>[] = await Promise.allSettled(rest);
    expect(ends.every(({ status }) => status === "rejected")).toBe(true);
    const waiting = limiter.wait("key", { timeoutMs: 0 });
    expect((await waiting).allowed).toBe(false);
  });

  it.each([
    [
      { timeoutMs: -1 },
      "timeoutMs must be a whole number of milliseconds from 0, or Infinity, got -1",
    ],
    [{ timeoutMs: "1s" }, 'got "1s"'],
    [{ signal: {} }, "signal must be an AbortSignal"],
    [{ timeout: 5 }, 'unknown option "timeout"'],
    [{ timeoutMs: Number.NaN }, "got NaN"],
    [{ timeoutMs: Number.NEGATIVE_INFINITY }, "got -Infinity"],
    [{ timeoutMs: 0.5 }, "got 0.5"],
    [{ cost: 0.5 }, "cost must be a whole number"],
    [{ requestId: "" }, "requestId"],
    [{ caller: 7 }, "as caller"],
  ])(
    "rejects %j immediately, also behind others, and says what was seen",
    async (options, message) => {
      const { wait } = setUp();
      wait("b");
      wait("c");
      await expect(wait("a", options as WaitOptions)).rejects.toThrow(message);
    },
  );

  it("rejects under a concurrency limit, which only acquire can take", async () => {
    const limiter = createLimiter({ limit: concurrency({ limit: 1, permitMs: 1_000 }) });
    await expect(limiter.wait("key")).rejects.toMatchObject({ code: "SLUICE_ACQUIRE_ONLY" });
  });
});
