import { expect, it } from "vitest";
import { ManualClock } from "../../../testing/manual-clock.js";
import { Deadlines, PENDING_MAX } from "../deadlines.js";
import { OperatorRequest } from "../store-requests.js";
import { StoreGuard } from "./store-guard.js";

it("sends nothing while too many wait, and learns nothing of the store from that", async () => {
  const clock = new ManualClock(5_000_000);
  const nothing = () => {};
  const breaker = { failuresMax: 1, openMs: 1_000, onOpen: nothing, onClose: nothing };
  const guard = new StoreGuard({ clock, ...breaker, onAnswer: nothing });
  const deadlines = new Deadlines(clock, 50, (seen) => seen);
  for (let i = 0; i < PENDING_MAX; i++) deadlines.add(nothing);
  let calls = 0;
  const ask = () => guard.ask(new OperatorRequest(() => ++calls, 1), deadlines);
  await expect(ask()).rejects.toThrow("did not answer: 100000 requests wait for it already");
  expect([calls, guard.failures, guard.breaker.state]).toEqual([0, 0, "closed"]);
  deadlines.expireAll("make room");
  expect(ask()).toBe(1);
});
