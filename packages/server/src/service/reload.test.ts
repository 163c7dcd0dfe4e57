// Reloads that are requested while one runs.

import { describe, expect, it } from "vitest";
import { oneAtATime } from "./reload.js";

describe("oneAtATime", () => {
  it("joins all calls during a run into the one run after it", async () => {
    const ends: (() => void)[] = [];
    const run = oneAtATime(() => new Promise<void>((resolve) => ends.push(resolve)));
    const first = run();
    const [second, third] = [run(), run()];
    expect(ends).toHaveLength(1);
    ends[0]();
    await first;
    await expect.poll(() => ends.length).toBe(2);
    ends[1]();
    await Promise.all([second, third]);
    expect(ends).toHaveLength(2);
  });

  it("runs again after a run that failed", async () => {
    let runs = 0;
    const run = oneAtATime(async () => {
      runs++;
      if (runs === 1) throw new Error("bad file");
    });
    const [first, second] = [run(), run()];
    await expect(first).rejects.toThrow("bad file");
    await second;
    expect(runs).toBe(2);
  });
});
