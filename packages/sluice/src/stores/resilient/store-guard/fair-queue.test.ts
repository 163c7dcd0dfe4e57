import { describe, expect, it } from "vitest";
import { FairQueue } from "./fair-queue.js";

function drain(queue: FairQueue<string>, countMax = Number.POSITIVE_INFINITY): string[] {
  const items: string[] = [];
  for (let item = queue.first; item !== undefined && items.length < countMax; item = queue.first) {
    items.push(item);
    queue.shift();
  }
  return items;
}

describe("a fair queue", () => {
  it("serves callers in turns, and each caller in the order in which it asked", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) queue.push(item[0], item);
    expect(drain(queue)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
    expect(queue.first).toBeUndefined();
  });

  it("has a newcomer wait for one turn of each caller, however much these have waiting", () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 10_000; i++) queue.push("flood", `f${i}`);
    drain(queue, 3);
    queue.push("late", "late");
    expect(drain(queue, 2)).toEqual(["f3", "late"]);
  });

  it("starts again after it was empty", () => {
    const queue = new FairQueue<string>();
    queue.shift();
    queue.push("a", "a1");
    expect(drain(queue)).toEqual(["a1"]);
    queue.push("a", "a2");
    queue.push("b", "b1");
    expect(drain(queue)).toEqual(["a2", "b1"]);
  });
});
