import { describe, expect, it } from "vitest";
import { fixedWindow, slidingWindowCounter, tokenBucket } from "../../../limits/limits.js";
import type { Charge } from "../../store.js";
import { ReplyReader } from "./replies.js";

const limit = tokenBucket({ capacity: 5, refillPerSecond: 10 });
const charges: readonly Charge[] = ["a", "b"].map((key) => ({
  counter: { scope: "test", part: 0, limit },
  key,
  cost: 1,
  nowMs: 0,
}));
const held = { isWanted: true, keepMs: 1_000, record: "" };

describe("a reply", () => {
  it("is read as one verdict for each charge", () => {
    const reply = new ReplyReader([1_000, 4, 0, 100, 0, 100, 500]);
    expect(reply.outcome(charges)).toMatchObject({
      allowed: false,
      verdicts: [
        { allowed: true, remaining: 4, resetMs: 100 },
        { allowed: false, remaining: 0, retryAfterMs: 100, resetMs: 500 },
      ],
    });
  });

  it("of check.lua has one number for a charge that was decided in one step", () => {
    const windowMs = 60_000;
    const limits = [
      tokenBucket({ capacity: 5, refillPerSecond: 10 }),
      fixedWindow({ limit: 10, windowMs }),
      fixedWindow({ limit: 10, windowMs, align: "first" }),
      slidingWindowCounter({ limit: 10, windowMs }),
      tokenBucket({ capacity: 5, refillPerSecond: 10 }),
    ];
    const asked = limits.map((limit) => ({
      ...charges[0],
      counter: { ...charges[0].counter, limit },
    }));
    const answers = [101, 3, 20_000 * 8192 + 3, 6, -1, 0, 100, 500];
    const { allowed, verdicts } = new ReplyReader([70_000, ...answers]).checkOutcome(asked);
    expect(allowed).toBe(false);
    expect(verdicts.map(({ remaining, resetMs }) => ({ remaining, resetMs }))).toEqual([
      { remaining: 3, resetMs: 101 },
      { remaining: 7, resetMs: 50_000 },
      { remaining: 7, resetMs: 20_000 },
      { remaining: 6, resetMs: 110_000 },
      { remaining: 0, resetMs: 500 },
    ]);
    expect(verdicts.map(({ retryAfterMs }) => retryAfterMs)).toEqual([0, 0, 0, 0, 100]);
  });

  it("of check.lua that is too short is an error", () => {
    const failure = expect.objectContaining({ code: "SLUICE_STORE_UNAVAILABLE" });
    for (const reply of [
      [1_000, 4],
      [1_000, 4, -1, 0, 100],
    ]) {
      expect(() => new ReplyReader(reply).checkOutcome(charges)).toThrow(failure);
    }
  });

  it.each([
    { reply: "OK" },
    { reply: [] },
    { reply: ["1000", 4, 0, 100, 4, 0, 100] },
    { reply: [1_000] },
    { reply: [1_000, 4, 0, 100] },
    { reply: [1_000, 4, 0, 100, 4, 0] },
  ])("that is too short, or not a list of numbers, is an error: $reply", ({ reply }) => {
    const failure = expect.objectContaining({ code: "SLUICE_STORE_UNAVAILABLE" });
    expect(() => new ReplyReader(reply).outcome(charges)).toThrow(failure);
    expect(() => new ReplyReader(reply).heldOutcome(charges, held)).toThrow(failure);
  });
});
