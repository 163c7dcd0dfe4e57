// Receipts that a primary keeps for a worker: each is good once, and there are never too many.

import { type ChargeReceipt, fixedWindow } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { CounterNumbers } from "./counter-numbers.js";
import { WorkerReceipts } from "./worker-receipts.js";

const limit = fixedWindow({ limit: 10, windowMs: 1_000 });
const counter = { scope: "test", part: 0, limit };

function receiptOf(key: string): ChargeReceipt {
  return { counter, key, cost: 1, proof: key };
}

describe("a receipt", () => {
  it("is good once", () => {
    const receipts = new WorkerReceipts(new ManualClock(0));
    for (const isBrief of [true, false]) {
      const number = receipts.add(receiptOf("a"), isBrief);
      expect(receipts.take(number)).toMatchObject({ key: "a" });
      expect(receipts.take(number)).toBeUndefined();
    }
  });

  it("held briefly is forgotten after 15 seconds, held it is not", () => {
    const clock = new ManualClock(0);
    const receipts = new WorkerReceipts(clock);
    const held = receipts.add(receiptOf("held"), false);
    const brief = receipts.add(receiptOf("brief"), true);
    clock.advance(15_000);
    receipts.add(receiptOf("later"), true);
    expect(receipts.take(brief)).toBeUndefined();
    expect(receipts.take(held)).toMatchObject({ key: "held" });
  });

  it("gives way when there are too many, the oldest first", () => {
    const receipts = new WorkerReceipts(new ManualClock(0), { heldMax: 2, briefMax: 2 });
    const numbers = ["a", "b", "c"].flatMap((key) => [
      receipts.add(receiptOf(key), false),
      receipts.add(receiptOf(key), true),
    ]);
    expect(receipts.size).toBe(4);
    expect(numbers.map((number) => receipts.take(number)?.key)).toEqual([
      undefined,
      undefined,
      "b",
      "b",
      "c",
      "c",
    ]);
  });
});

describe("numbers of counters", () => {
  it("are sent once, and start from 1 again when there are too many", () => {
    const numbers = new CounterNumbers(2);
    const [a, b] = [{ ...counter }, { ...counter }];
    expect([numbers.of(a), numbers.of(b), numbers.of(a)]).toEqual([1, 2, 1]);
    expect(numbers.takeNew().map(([number]) => number)).toEqual([1, 2]);
    expect(numbers.takeNew()).toEqual([]);
    expect(numbers.restartIfFull()).toBe(true);
    expect(numbers.of(b)).toBe(1);
    expect(numbers.takeNew()).toHaveLength(1);
    expect(numbers.restartIfFull()).toBe(false);
  });
});
