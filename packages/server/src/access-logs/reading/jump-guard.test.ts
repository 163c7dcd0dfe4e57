import { describe, expect, it } from "vitest";
import { JumpGuard } from "./jump-guard.js";

const WINDOW_MS = 10_000;

/** The lines as they pass, as `number time` in seconds, and how many jumps were refuted. */
function pass(seconds: readonly number[]): { readonly passed: string[]; readonly refuted: number } {
  const passed: string[] = [];
  const guard = new JumpGuard(WINDOW_MS, (place, atMs) => passed.push(`${place} ${atMs / 1_000}`));
  for (const [place, at] of seconds.entries()) guard.pass(place, at * 1_000);
  guard.end();
  return { passed, refuted: guard.refuted };
}

const asTheyAre = (seconds: readonly number[]) => seconds.map((at, place) => `${place} ${at}`);
const count = (length: number, from: number) => Array.from({ length }, (_, at) => from + at);

describe("lines whose times jump forward", () => {
  it("count as they are once a line after them confirms the time", () => {
    for (const seconds of [
      [0, 1, 3_600, 3_601, 3_602],
      [0, 3_600, 7_200, 10_800],
      [0, 1, 3_600, 3_595],
      // Late lines after a pause, which then goes on.
      [0, 3_600, 1, 2, 3_601],
      [0, 3_600],
    ])
      expect(pass(seconds)).toEqual({ passed: asTheyAre(seconds), refuted: 0 });
  });

  it("have the time of the newest line before them if the lines after them stay behind", () => {
    const seconds = [0, 1, 99_999, ...count(20, 2)];
    const { passed, refuted } = pass(seconds);
    expect(refuted).toBe(1);
    expect(passed).toEqual(asTheyAre([0, 1, 1, ...count(20, 2)]));
  });

  it("are also refuted as the first line, near the end, and one after another", () => {
    expect(pass([99_999, ...count(20, 0)])).toEqual({
      passed: asTheyAre([0, ...count(20, 0)]),
      refuted: 1,
    });
    expect(pass([0, 1, 99_999, 2])).toEqual({ passed: asTheyAre([0, 1, 1, 2]), refuted: 1 });
    expect(pass([0, 1, 99_999, 50_000, ...count(20, 2)])).toEqual({
      passed: asTheyAre([0, 1, 1, 1, ...count(20, 2)]),
      refuted: 2,
    });
  });
});
