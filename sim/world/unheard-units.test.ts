import { expect, it } from "vitest";
import { UnheardUnits } from "./unheard-units.js";

/** Two regions with a process each, which says that it lags by 100 ms. */
function make() {
  const unheard = new UnheardUnits({ regions: 2, extraMs: 50, windowMs: 10_000 });
  for (const node of [0, 1]) unheard.start(node, node);
  const sample = (lagMs: number, untilMs: number) => {
    for (let atMs = 0; atMs <= untilMs; atMs += 5) {
      unheard.note(0, 1, lagMs, atMs);
      unheard.note(1, 0, lagMs, atMs);
    }
  };
  return { unheard, sample };
}

it("counts what others admitted within the lag and the time between announcements", () => {
  const { unheard, sample } = make();
  sample(100, 2_000);
  for (const atMs of [100, 1_000, 1_100, 1_190]) unheard.admit(7, atMs, 1, 0);
  unheard.admit(7, 1_200, 0, 3);
  expect([unheard.unitsMax, unheard.beyondMax]).toEqual([2, 1]);
});

it("forgets with the window, and grows with the lag", () => {
  const { unheard, sample } = make();
  sample(12_000, 13_000);
  for (const atMs of [9_000, 10_500, 11_000]) unheard.admit(7, atMs, 1, 0);
  unheard.admit(7, 12_500, 0, 1);
  expect([unheard.unitsMax, unheard.beyondMax]).toEqual([2, 0]);
});

it("counts what a process that ended had not announced, for the rest of the window", () => {
  const { unheard, sample } = make();
  sample(100, 9_000);
  for (const atMs of [500, 980, 990]) unheard.admit(7, atMs, 1, 0);
  unheard.end(1, 1_000);
  unheard.admit(7, 8_000, 0, 2);
  expect([unheard.unitsMax, unheard.beyondMax]).toEqual([2, 0]);
});

it("judges what happened before a process ended as if it lived", () => {
  const { unheard, sample } = make();
  sample(100, 9_000);
  for (const atMs of [500, 900, 950]) unheard.admit(7, atMs, 1, 0);
  unheard.end(1, 4_000);
  unheard.admit(7, 1_000, 0, 2);
  expect([unheard.unitsMax, unheard.beyondMax]).toEqual([2, 0]);
});
