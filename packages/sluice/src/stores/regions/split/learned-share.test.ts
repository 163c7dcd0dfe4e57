import { expect, it } from "vitest";
import { ManualClock } from "../../../testing/manual-clock.js";
import { MemoryRecords } from "../../memory/memory-records.js";
import { memoryStore } from "../../memory/memory-store.js";
import { LearnedShare } from "./learned-share.js";
import { NO_SHARE } from "./share-plan.js";

it("lets a request that waits for the first share go on when the policy closes", async () => {
  const clock = new ManualClock(1_000_000);
  const claimedByOther = JSON.stringify({ ...NO_SHARE, claim: 1, claimedUntilMs: 2_000_000 });
  const share = new LearnedShare("api", {
    self: "eu",
    byWeight: new Map([["eu", 100]]),
    clock,
    own: memoryStore(),
    records: {
      read: () => ({ value: claimedByOther, nowMs: clock.now() }),
      change: () => false,
    },
    plans: new MemoryRecords(),
  });
  let isDone = false;
  const waiting = share.ready()?.then(() => {
    isDone = true;
  });
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  expect(isDone).toBe(false);
  share.close();
  await waiting;
  expect(isDone).toBe(true);
});
