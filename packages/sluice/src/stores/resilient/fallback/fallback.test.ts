// The policies: what each answers in a store's place, what several together answer, and how much
// they can admit.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { standOn, toCharge, toCounter } from "../../../../test/resilient-stand.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../../limits/limits.js";
import type { Charge, Counter, FailurePolicy, Outcome } from "../../store.js";
import { Fallback, type FallbackOptions, isOfFallback } from "./fallback.js";

const absence = { failure: new Error("gone"), retryAfterMs: 700 };

function make(options: Partial<FallbackOptions> = {}): Fallback {
  return new Fallback({ onStoreFailure: "local", localShare: 0.5, keysMax: 1_000, ...options });
}

function decide(fallback: Fallback, charges: Charge[], hold = false): Outcome {
  return fallback.decide(charges, { hold }, absence);
}

function under(onStoreFailure: FailurePolicy, scope: string = onStoreFailure): Counter {
  return toCounter({ scope, onStoreFailure });
}

describe("a policy alone", () => {
  it("open admits, whatever the cost, and shows all of the limit", () => {
    expect(decide(make(), [toCharge(under("open"), { cost: 1_000 })])).toEqual({
      allowed: true,
      verdicts: [
        {
          allowed: true,
          limit: 10,
          remaining: 10,
          retryAfterMs: 0,
          resetMs: 0,
          delayMs: 0,
          source: "fallback",
        },
      ],
      receipts: [],
    });
  });

  it("closed refuses until the store may be asked again", () => {
    expect(decide(make(), [toCharge(under("closed"))])).toEqual({
      allowed: false,
      verdicts: [
        {
          allowed: false,
          limit: 10,
          remaining: 0,
          retryAfterMs: 700,
          resetMs: 700,
          delayMs: 0,
          source: "fallback",
        },
      ],
      receipts: [],
    });
  });

  it("local decides under a share of the limit", () => {
    const fallback = make({ localShare: 0.3 });
    const passed = Array.from({ length: 10 }, () => decide(fallback, [toCharge(under("local"))]));
    expect(passed.filter(({ allowed }) => allowed)).toHaveLength(3);
    expect(passed[0].verdicts[0]).toMatchObject({ limit: 3, remaining: 2, source: "fallback" });
  });

  it("throw throws what was seen", () => {
    expect(() => decide(make(), [toCharge(under("throw"))])).toThrow(/did not answer: gone$/);
  });

  it("is the decorator's where the limit has none", () => {
    expect(decide(make({ onStoreFailure: "closed" }), [toCharge(toCounter())]).allowed).toBe(false);
  });

  it.each(["open", "closed", "local", "throw"] as const)(
    "%s answers peek and the fast path as it answers decide",
    (policy) => {
      const charge = toCharge(under(policy), { cost: 2 });
      const seen = (use: () => unknown) => {
        try {
          return use();
        } catch (error) {
          return String(error);
        }
      };
      const decided = seen(() => decide(make(), [charge]).verdicts[0]);
      expect(seen(() => make().decideOne(charge, {}, absence))).toEqual(decided);
      const peeked = seen(() => make().peek([charge], {}, absence)[0]);
      // As ever, peek shows what is left before the charge.
      const asLeft = policy === "local" ? { remaining: 5, resetMs: expect.any(Number) } : {};
      expect(peeked).toEqual(
        typeof decided === "string" ? decided : { ...(decided as object), ...asLeft },
      );
    },
  );
});

describe("several policies in one request", () => {
  const combinations: [string[], string][] = [
    [["open", "open"], "admitted"],
    [["open", "local"], "admitted"],
    [["local", "closed"], "refused"],
    [["open", "closed"], "refused"],
    [["closed", "throw"], "error"],
    [["throw", "open"], "error"],
    [["local", "throw"], "error"],
  ];

  it.each(combinations)("%j: the strictest counts: %s", (policies, expected) => {
    const charges = policies.map((policy) => toCharge(under(policy as FailurePolicy)));
    const seen = () => (decide(make(), charges).allowed ? "admitted" : "refused");
    if (expected === "error") expect(seen).toThrow();
    else expect(seen()).toBe(expected);
  });

  it("charge nothing if any refuses, and keep the verdicts in their order", () => {
    const fallback = make();
    const [open, local, closed] = [under("open"), under("local"), under("closed")];
    const refused = decide(fallback, [toCharge(open), toCharge(local), toCharge(closed)]);
    expect(refused.verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    const other = under("local", "other");
    const tooMuch = [toCharge(local, { cost: 2 }), toCharge(open), toCharge(other, { cost: 6 })];
    expect(decide(fallback, tooMuch)).toMatchObject({
      allowed: false,
      verdicts: [{ allowed: true, remaining: 5 }, { limit: 10 }, { allowed: false, remaining: 5 }],
    });
    expect(decide(fallback, [toCharge(local, { cost: 5 })]).allowed).toBe(true);
  });

  it("a shadow charge neither refuses nor throws, and is counted where it is local", () => {
    const fallback = make();
    const local = under("local");
    const shadows = [under("closed"), under("throw")].map((of) => toCharge(of, { shadow: true }));
    const shadow = toCharge(local, { cost: 5, shadow: true });
    const outcome = decide(fallback, [...shadows, shadow, toCharge(under("open"))]);
    expect(outcome.allowed).toBe(true);
    expect(outcome.verdicts.map(({ allowed }) => allowed)).toEqual([false, false, true, true]);
    expect(decide(fallback, [toCharge(local)]).allowed).toBe(false);
    expect(decide(fallback, [toCharge(local, { shadow: true })]).allowed).toBe(true);
  });
});

describe("what the fallback admitted", () => {
  it("is settled in it, under the counter that the caller knows", () => {
    const fallback = make();
    const [local, open] = [under("local"), under("open")];
    const { receipts } = decide(fallback, [toCharge(local, { cost: 5 }), toCharge(open)], true);
    expect(receipts.map(({ counter }) => counter)).toEqual([local, open]);
    const settlings = receipts.map((receipt) => ({ receipt, kept: 2, nowMs: 5_000_000 }));
    expect(settlings.every(isOfFallback)).toBe(true);
    fallback.settle(settlings);
    fallback.settle(settlings);
    expect(fallback.peek([toCharge(local)], {}, absence)[0].remaining).toBe(3);
  });

  it("is not held unless asked, and not at all if refused", () => {
    expect(decide(make(), [toCharge(under("local"))]).receipts).toEqual([]);
    expect(decide(make(), [toCharge(under("closed"))], true).receipts).toEqual([]);
    expect(decide(make(), [toCharge(under("local"), { cost: 6 })], true).receipts).toEqual([]);
  });

  it("counts once under a request id", () => {
    const fallback = make();
    const charges = [toCharge(under("local"), { cost: 5 })];
    for (let i = 0; i < 3; i++) {
      expect(fallback.decide(charges, { requestId: "r" }, absence).allowed).toBe(true);
    }
  });
});

describe("an operator's word", () => {
  const until = { untilMs: 5_001_000, nowMs: 5_000_000 };

  it.each(["open", "local", "closed"] as const)(
    "a block refuses under %s too, until it ends",
    (policy) => {
      const fallback = make();
      fallback.block(policy, "k", until);
      const at = (nowMs: number, key = "k") =>
        decide(fallback, [toCharge(under(policy), { nowMs, key })]);
      expect(at(5_000_999)).toMatchObject({
        allowed: false,
        verdicts: [{ source: "fallback" }],
      });
      if (policy === "closed") return;
      expect(at(5_000_999, "other").allowed).toBe(true);
      expect(at(5_001_000).allowed).toBe(true);
    },
  );

  it("a block of one charge refuses them all, and charges none", () => {
    const fallback = make();
    fallback.block("open", "k", until);
    const local = under("local");
    expect(decide(fallback, [toCharge(local, { cost: 5 }), toCharge(under("open"))]).allowed).toBe(
      false,
    );
    fallback.unblock("open", "k");
    expect(decide(fallback, [toCharge(local, { cost: 5 }), toCharge(under("open"))]).allowed).toBe(
      true,
    );
  });

  it("a reset forgets what was used here, a refund grants it", () => {
    const fallback = make();
    const charge = toCharge(under("local"), { cost: 5 });
    decide(fallback, [charge]);
    fallback.refund([toCharge(charge.counter, { cost: 2 })]);
    expect(fallback.peek([charge], {}, absence)[0].remaining).toBe(2);
    fallback.reset([charge]);
    expect(fallback.peek([charge], {}, absence)[0].remaining).toBe(5);
  });
});

describe("the declared bound", () => {
  const limits: [string, (units: number) => Limit][] = [
    ["tokenBucket", (n) => tokenBucket({ capacity: n, refillPerSecond: n / 60 })],
    ["leakyBucket", (n) => leakyBucket({ ratePerSecond: n / 60, queueSize: n - 1 })],
    ["fixedWindow", (n) => fixedWindow({ limit: n, windowMs: 60_000 })],
    ["slidingWindowCounter", (n) => slidingWindowCounter({ limit: n, windowMs: 60_000 })],
    ["slidingWindowLog", (n) => slidingWindowLog({ limit: n, windowMs: 60_000 })],
    ["concurrency", (n) => concurrency({ limit: n, permitMs: 60_000 })],
    ["quota", (n) => quota({ limit: n, period: "day" })],
  ];

  it.each(limits)("of %s holds for any share and number of processes", (_name, toLimit) => {
    const numbers = fc.record({
      processes: fc.integer({ min: 1, max: 8 }),
      units: fc.integer({ min: 1, max: 200 }),
      share: fc.double({ min: 1e-3, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(numbers, ({ processes, units, share }) => {
        const counter = toCounter({ limit: toLimit(units) });
        let admitted = 0;
        for (let i = 0; i < processes; i++) {
          const fallback = make({ localShare: share });
          for (let tries = 0; tries <= units; tries++) {
            if (decide(fallback, [toCharge(counter)]).allowed) admitted++;
          }
        }
        expect(admitted).toBe(processes * Math.max(1, Math.floor(units * share + 1e-9)));
      }),
      { numRuns: 30 },
    );
  });

  it("holds for a rate whose share can't be counted exactly", () => {
    const limit = tokenBucket({ capacity: 1e6, refillPerSecond: 1e-6 });
    const fallback = make({ localShare: 0.123456789 });
    const charge = toCharge(toCounter({ limit }), { cost: 123_456 });
    expect(decide(fallback, [charge]).allowed).toBe(true);
    expect(decide(fallback, [toCharge(charge.counter)]).allowed).toBe(false);
  });

  it("holds for four processes that lose their store at the same time", async () => {
    const stands = Array.from({ length: 4 }, () => standOn({ localShare: 0.25 }));
    const counter = toCounter({ limit: fixedWindow({ limit: 100, windowMs: 60_000 }) });
    let admitted = 0;
    for (const { store, breakDown } of stands) {
      await breakDown();
      for (let i = 0; i < 100; i++) {
        if ((await store.decideOne(counter, "k", 1, 5_000_000)).allowed) admitted++;
      }
    }
    expect(admitted).toBe(100);
  });
});
