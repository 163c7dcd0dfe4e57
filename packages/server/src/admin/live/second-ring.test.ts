import { expect, it } from "vitest";
import { SecondRing } from "./second-ring.js";

const START_MS = 1_800_000_000_000;
const of = (allowed: number) => ({ allowed, delayed: 0, blocked: 0, shadowBlocked: 0 });

it("keeps five minutes of seconds, and adds up what is of the same", () => {
  const ring = new SecondRing();
  for (let second = 0; second < 400; second++)
    ring.add({ atMs: START_MS + second * 1_000, ...of(1) });
  ring.add({ atMs: START_MS + 399_000, ...of(4) });
  const seconds = ring.read(START_MS + 400_000);
  expect(seconds.length).toBe(300);
  expect(seconds[0].atMs).toBe(START_MS + 100_000);
  expect(seconds.at(-1)).toEqual({ atMs: START_MS + 399_000, ...of(5) });
});

it("gives each report a second of its own, though they come a little early or late", () => {
  const ring = new SecondRing();
  const comeMs = [990, 2_010, 2_980, 4_020, 4_995];
  for (const ms of comeMs) ring.addNext({ atMs: START_MS + ms, ...of(1) });
  expect(ring.read(START_MS + 5_000).map(({ allowed }) => allowed)).toEqual([1, 1, 1, 1, 1]);
});
