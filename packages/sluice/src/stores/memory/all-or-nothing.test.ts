// Lists of charges against a model that asks for each by itself: first what each would be answered,
// then, if none of the enforced ones is refused, each that passes.

import { describe, expect, it } from "vitest";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { SeededRandom } from "../../testing/conformance/random.js";
import type { Charge, ChargeReceipt, Counter, DecideOptions, Outcome } from "../store.js";
import { type MemoryStore, memoryStore } from "./memory-store.js";

const TRACES = 200;
const STEPS = 60;
const START_MS = Date.UTC(2026, 0, 1);
const KEYS = ["a", "b", "c"];

const limits: readonly Limit[] = [
  tokenBucket({ capacity: 6, refillPerSecond: 10 }),
  // Wide: its numbers need a double each.
  tokenBucket({ capacity: 7, refill: { amount: 999_983, everyMs: 31_000_000_001 } }),
  leakyBucket({ ratePerSecond: 5, queueSize: 4 }),
  fixedWindow({ limit: 5, windowMs: 300 }),
  fixedWindow({ limit: 5, windowMs: 300, align: "key" }),
  slidingWindowCounter({ limit: 8, windowMs: 400 }),
  slidingWindowLog({ limit: 5, windowMs: 250 }),
  quota({ limit: 30, period: "day" }),
];
const counters = limits.map((limit, part): Counter => ({ scope: "rule", part, limit }));

describe("a list of charges", () => {
  it("is answered and counted as its charges one by one, if all enforced ones pass", () => {
    const seen = { admitted: 0, refused: 0 };
    for (let trace = 0; trace < TRACES; trace++) runTrace(new SeededRandom(`list ${trace}`), seen);
    expect(Math.min(seen.admitted, seen.refused)).toBeGreaterThan(TRACES * 5);
  });

  it("leaves every state as it was if it is refused, also those that were taken first", () => {
    const store = memoryStore();
    const before = counters.map((counter) => charge(counter, "a", 2, START_MS));
    expect(store.decide(before).allowed).toBe(true);
    const asked = counters.map((counter) => charge(counter, "a", 1, START_MS + 1));
    const standing = store.peek(asked);
    const refusing = charge({ ...counters[3], scope: "other" }, "a", 6, START_MS + 1);
    const { allowed, verdicts } = store.decide([...asked, refusing]);
    expect(allowed).toBe(false);
    expect(verdicts.slice(0, -1)).toEqual(standing);
    expect(store.peek(asked)).toEqual(standing);
  });

  it("may be longer than the columns that are kept", () => {
    const store = memoryStore();
    const many = Array.from({ length: 200 }, (_, i) => charge(counters[0], `k${i}`, 6, START_MS));
    expect(store.decide(many).allowed).toBe(true);
    const again = store.decide([charge(counters[3], "x", 1, START_MS), ...many]);
    expect(again.verdicts.map(({ allowed }) => allowed)).toEqual([true, ...many.map(() => false)]);
    expect(store.peek([charge(counters[3], "x", 1, START_MS)])[0].remaining).toBe(5);
  });

  it("starts the time of its permit when its longest delay is over", () => {
    const store = memoryStore();
    const permit = { scope: "work", part: 0, limit: concurrency({ limit: 1, permitMs: 100 }) };
    const shaper = {
      scope: "work",
      part: 1,
      limit: leakyBucket({ ratePerSecond: 10, queueSize: 9 }),
    };
    store.decide([charge(shaper, "a", 1, START_MS)]);
    const { verdicts } = store.decide(
      [charge(permit, "a", 1, START_MS), charge(shaper, "a", 1, START_MS)],
      { hold: true },
    );
    expect(verdicts[1].delayMs).toBe(100);
    expect(store.peek([charge(permit, "a", 1, START_MS + 199)])[0].retryAfterMs).toBe(1);
    expect(store.peek([charge(permit, "a", 1, START_MS + 200)])[0].allowed).toBe(true);
  });
});

function charge(counter: Counter, key: string, cost: number, nowMs: number): Charge {
  return { counter, key, cost, nowMs };
}

function runTrace(random: SeededRandom, seen: { admitted: number; refused: number }): void {
  const [store, model] = [memoryStore({ keysMax: 1000 }), memoryStore({ keysMax: 1000 })];
  let nowMs = START_MS;
  for (let step = 0; step < STEPS; step++) {
    nowMs += random.pick([0, 1, 40, 200]);
    if (random.chance(0.05)) blockOne(random, [store, model], nowMs);
    const charges = drawCharges(random, nowMs);
    const hold = random.pick([false, false, "briefly", true] as const);
    const outcome = store.decide(charges, { hold });
    const expected = decideOneByOne(model, charges, hold);
    expect(outcome.verdicts).toEqual(expected.verdicts);
    seen[outcome.allowed ? "admitted" : "refused"]++;
    expect(outcome.receipts.map(toCharged)).toEqual(expected.receipts.map(toCharged));
    const share = random.pick([0, 0.5, 1]);
    for (const [of, { receipts }] of [[store, outcome] as const, [model, expected] as const]) {
      of.settle(
        receipts.map((receipt) => ({ receipt, kept: Math.floor(receipt.cost * share), nowMs })),
      );
    }
    const all = everyCharge(nowMs);
    expect(store.peek(all)).toEqual(model.peek(all));
  }
}

/** What each is answered by itself, all of them taken or none. */
function decideOneByOne(
  store: MemoryStore,
  charges: readonly Charge[],
  hold: NonNullable<DecideOptions["hold"]>,
): Pick<Outcome, "verdicts" | "receipts"> {
  const verdicts = store.peek(charges);
  const isRefused = verdicts.some(({ allowed }, i) => !allowed && charges[i].shadow !== true);
  if (isRefused) return { verdicts, receipts: [] };
  if (hold !== false) {
    const outcomes = charges.map((one) => store.decide([one], { hold }));
    const receipts = outcomes.flatMap((outcome) => outcome.receipts);
    return { verdicts: outcomes.flatMap((outcome) => outcome.verdicts), receipts };
  }
  const decideOne = ({ counter, key, cost, nowMs }: Charge) =>
    store.decideOne(counter, key, cost, nowMs);
  return { verdicts: charges.map(decideOne), receipts: [] };
}

function toCharged({ counter, key, cost }: ChargeReceipt) {
  return { counter, key, cost };
}

function blockOne(random: SeededRandom, stores: readonly MemoryStore[], nowMs: number): void {
  const key = random.pick(KEYS);
  for (const store of stores) store.block("rule", key, { untilMs: nowMs + 50, nowMs });
}

/** Up to five charges on different counters. */
function drawCharges(random: SeededRandom, nowMs: number): readonly Charge[] {
  const drawn = counters.filter(() => random.chance(0.4)).slice(0, 5);
  const chosen = drawn.length === 0 ? [counters[0]] : drawn;
  return chosen.map((counter) => ({
    counter,
    key: random.pick(KEYS),
    cost: random.pick([0, 1, 2, 2, 4]),
    nowMs,
    shadow: random.chance(0.2),
  }));
}

function everyCharge(nowMs: number): readonly Charge[] {
  return counters.flatMap((counter) => KEYS.map((key) => charge(counter, key, 1, nowMs)));
}
