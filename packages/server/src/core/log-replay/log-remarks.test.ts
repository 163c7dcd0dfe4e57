import { describe, expect, it } from "vitest";
import type { ReadSummary } from "../../access-logs/reading/read-logs.js";
import { remarksOnLog } from "./log-remarks.js";

function remarksOn(summary: Partial<ReadSummary>): string[] {
  const nothing = { late: 0, lateForRoom: 0, farAhead: 0, isWholeSeconds: false };
  const log = { files: [], lines: 9_000, malformed: 0, malformedLines: [], ...nothing };
  return [...remarksOnLog({ ...log, ...summary }, undefined)];
}

describe("remarks on a log", () => {
  it("say of each late line why it is late, and advise to merge logs only if that helps", () => {
    expect(remarksOn({ late: 1, farAhead: 1 })).toEqual([
      "1 line had a time far ahead of the lines after it, and got the time of the newest line so far",
    ]);
    expect(remarksOn({ late: 3_007, lateForRoom: 4, farAhead: 2 })).toEqual([
      "3,001 lines came later than the window of --reorder, and got the time of the newest line so far; logs of several servers have to be merged first",
      "4 lines came within the window of --reorder, but got the time of the newest line so far, because only 65,536 lines can wait for older ones",
      "2 lines had times far ahead of the lines after them, and got the time of the newest line so far",
    ]);
  });

  it("say nothing of a log in order", () => {
    expect(remarksOn({})).toEqual([]);
  });
});
