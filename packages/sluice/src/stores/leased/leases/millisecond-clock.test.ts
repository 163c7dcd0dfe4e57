import { expect, it } from "vitest";
import { ManualClock } from "../../../testing/manual-clock.js";
import { MillisecondClock } from "./millisecond-clock.js";

it("reads the clock whenever the limiter's time has changed", () => {
  const clock = new ManualClock();
  const millisecondClock = new MillisecondClock(clock);
  for (const limiterMs of [5, 6, 5, 1_000]) {
    clock.advance(1);
    expect(millisecondClock.at(limiterMs)).toBe(clock.now());
  }
});

it("is held by one and the same time for 256 decisions at most", () => {
  const clock = new ManualClock();
  const millisecondClock = new MillisecondClock(clock);
  const first = millisecondClock.at(5);
  clock.advance(1);
  for (let n = 1; n < 256; n++) expect(millisecondClock.at(5)).toBe(first);
  expect(millisecondClock.at(5)).toBe(clock.now());
});

it("is not held beyond its end", () => {
  const clock = new ManualClock();
  const millisecondClock = new MillisecondClock(clock);
  millisecondClock.at(5);
  clock.advance(1);
  millisecondClock.end();
  expect(millisecondClock.at(5)).toBe(clock.now());
});
