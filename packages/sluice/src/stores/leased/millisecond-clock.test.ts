import { expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.js";
import { Reading } from "./millisecond-clock.js";

it("reads the clock whenever the limiter's time has changed", () => {
  const clock = new ManualClock();
  const reading = new Reading(clock);
  for (const limiterMs of [5, 6, 5, 1_000]) {
    clock.advance(1);
    expect(reading.at(limiterMs)).toBe(clock.now());
  }
});

it("is held by one and the same time for 256 decisions at most", () => {
  const clock = new ManualClock();
  const reading = new Reading(clock);
  const first = reading.at(5);
  clock.advance(1);
  for (let n = 1; n < 256; n++) expect(reading.at(5)).toBe(first);
  expect(reading.at(5)).toBe(clock.now());
});

it("is not held beyond its end", () => {
  const clock = new ManualClock();
  const reading = new Reading(clock);
  reading.at(5);
  clock.advance(1);
  reading.end();
  expect(reading.at(5)).toBe(clock.now());
});
