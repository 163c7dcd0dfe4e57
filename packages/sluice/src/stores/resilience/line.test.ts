import { describe, expect, it } from "vitest";
import { Line } from "./line.js";

function drain(line: Line<string>, countMax = Number.POSITIVE_INFINITY): string[] {
  const items: string[] = [];
  for (let item = line.first; item !== undefined && items.length < countMax; item = line.first) {
    items.push(item);
    line.shift();
  }
  return items;
}

describe("a line", () => {
  it("serves callers in turns, and each caller in the order in which it asked", () => {
    const line = new Line<string>();
    for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) line.push(item[0], item);
    expect(drain(line)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
    expect(line.first).toBeUndefined();
  });

  it("has a newcomer wait for one turn of each caller, however much these have waiting", () => {
    const line = new Line<string>();
    for (let i = 0; i < 10_000; i++) line.push("flood", `f${i}`);
    drain(line, 3);
    line.push("late", "late");
    expect(drain(line, 2)).toEqual(["f3", "late"]);
  });

  it("starts again after it was empty", () => {
    const line = new Line<string>();
    line.shift();
    line.push("a", "a1");
    expect(drain(line)).toEqual(["a1"]);
    line.push("a", "a2");
    line.push("b", "b1");
    expect(drain(line)).toEqual(["a2", "b1"]);
  });
});
