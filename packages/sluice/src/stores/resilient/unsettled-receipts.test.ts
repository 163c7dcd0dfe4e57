import { describe, expect, it } from "vitest";
import type { Settling } from "../store.js";
import { Unsettled } from "./unsettled-receipts.js";

/** Settlings that are distinguished by what they keep. */
function settlings(from: number, to: number): Settling[] {
  return Array.from({ length: to - from }, (_, i) => ({
    receipt: {} as Settling["receipt"],
    kept: from + i,
    nowMs: 0,
  }));
}

describe("what a store did not take", () => {
  it("is kept up to a bound, the oldest dropped first and counted", () => {
    const unsettled = new Unsettled(5);
    unsettled.add(settlings(0, 3));
    expect([unsettled.size, unsettled.dropped]).toEqual([3, 0]);
    unsettled.add(settlings(3, 8));
    expect([unsettled.size, unsettled.dropped]).toEqual([5, 3]);
    expect(unsettled.takeAll().map(({ kept }) => kept)).toEqual([3, 4, 5, 6, 7]);
  });

  it.each(["synchronously", "later"])(
    "is sent on in batches, each once, by a store that takes it %s",
    async (when) => {
      const unsettled = new Unsettled(1_000);
      unsettled.add(settlings(0, 250));
      const batches: number[][] = [];
      unsettled.resend(0, (batch) => {
        batches.push(batch.map(({ kept }) => kept));
        return when === "later" ? Promise.resolve(true) : true;
      });
      await new Promise((resolve) => setImmediate(resolve));
      expect(batches.map((batch) => batch.length)).toEqual([100, 100, 50]);
      expect(batches.flat()).toEqual(settlings(0, 250).map(({ kept }) => kept));
      expect([unsettled.size, unsettled.dropped]).toEqual([0, 0]);
    },
  );

  it("rests for a second after a batch that failed, and goes on with the others", () => {
    const unsettled = new Unsettled(1_000);
    unsettled.add(settlings(0, 150));
    const first: number[] = [];
    const refuse = (batch: readonly Settling[]) => {
      first.push(batch[0].kept);
      unsettled.add(batch);
      return false;
    };
    unsettled.resend(0, refuse);
    unsettled.resend(999, refuse);
    expect(first).toEqual([0]);
    unsettled.resend(1_000, refuse);
    expect(first).toEqual([0, 100]);
    expect(unsettled.size).toBe(150);
  });

  it("is not sent twice at the same time", async () => {
    const unsettled = new Unsettled(1_000);
    unsettled.add(settlings(0, 150));
    let calls = 0;
    const hang = () => {
      calls++;
      return new Promise<boolean>(() => {});
    };
    unsettled.resend(0, hang);
    unsettled.resend(5_000, hang);
    expect(calls).toBe(1);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("misuse");
      },
    ],
    ["rejects", () => Promise.reject(new Error("misuse"))],
  ])("is dropped and counted where sending it %s", async (_how, send) => {
    const unsettled = new Unsettled(1_000);
    unsettled.add(settlings(0, 5));
    unsettled.resend(0, send);
    await new Promise((resolve) => setImmediate(resolve));
    expect([unsettled.size, unsettled.dropped]).toEqual([0, 5]);
    unsettled.add(settlings(5, 6));
    unsettled.resend(1_000, () => true);
    expect(unsettled.size).toBe(0);
  });
});
