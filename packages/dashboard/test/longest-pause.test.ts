import { describe, expect, it } from "vitest";
import { processorMs, withLongestPause } from "./longest-pause.js";

const WORK_MS = 60;

function work(): void {
  const endMs = processorMs() + WORK_MS;
  while (processorMs() < endMs);
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 20));

describe("the longest pause", () => {
  it.each([
    ["at the beginning", [work, turn]],
    ["in the middle", [turn, work, turn]],
    ["at the end", [turn, work]],
  ])("is seen %s of a task", async (_, steps) => {
    const { pauseMs } = await withLongestPause(async () => {
      for (const step of steps) await step();
    });
    expect(pauseMs).toBeGreaterThanOrEqual(WORK_MS);
  });
});
