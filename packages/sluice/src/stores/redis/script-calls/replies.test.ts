import { describe, expect, it } from "vitest";
import { tokenBucket } from "../../../limits/limits.js";
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
