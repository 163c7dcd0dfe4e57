import { describe, expect, it } from "vitest";
import type { Result } from "./bench.js";
import { writeResults } from "./page.js";

const ids = ["a/one", "a/two", "b/three", "memory/floor"];
const here = { machine: "this machine", commit: "c0ffee1", ids };
const empty = ["machine", "results", "algorithms", "floor"]
  .map((name) => `${name}\n<!-- bench:${name} -->\n<!-- /bench:${name} -->`)
  .join("\n");
const full = writeResults(
  empty,
  ids.map((id) => resultOf(id, 1)),
  here,
);

describe("writing results into the page", () => {
  it("a run of all fills every table, in the order of the catalogue", () => {
    const shuffled = [resultOf("b/three", 1), resultOf("a/two", 1), resultOf("a/one", 1)];
    const page = writeResults(empty, [...shuffled, resultOf("memory/floor", 1)], here);
    expect(page).toBe(full);
    expect(rowsOf(page)).toEqual([
      "a/one 1.00× c0ffee1",
      "a/two 1.00× c0ffee1",
      "b/three 1.00× c0ffee1",
    ]);
    expect(page).toContain("<!-- bench:machine -->\nthis machine\n<!-- /bench:machine -->");
    expect(page).toMatch(/bench:floor -->\n\| step .*\n.*\n\| subject \| 1 \|/);
  });

  it("a run of some replaces their rows, all of them, and leaves the others", () => {
    const two = [resultOf("a/two", 2), resultOf("a/two", 3)];
    const page = writeResults(full, two, { ...here, commit: "decade1" });
    const rows = [
      "a/one 1.00× c0ffee1",
      "a/two 2.00× decade1",
      "a/two 3.00× decade1",
      "b/three 1.00× c0ffee1",
    ];
    expect(rowsOf(page)).toEqual(rows);
    const again = writeResults(page, [resultOf("a/two", 4)], here);
    expect(rowsOf(again)).toEqual([
      "a/one 1.00× c0ffee1",
      "a/two 4.00× c0ffee1",
      "b/three 1.00× c0ffee1",
    ]);
    expect(again.slice(again.indexOf("algorithms"))).toBe(full.slice(full.indexOf("algorithms")));
  });

  it("drops rows of benchmarks that are gone", () => {
    const page = writeResults(full, [resultOf("b/three", 2)], { ...here, ids: ["b/three"] });
    expect(rowsOf(page)).toEqual(["b/three 2.00× c0ffee1"]);
  });

  it("refuses to put figures of two machines into one table", () => {
    const elsewhere = { ...here, machine: "another machine" };
    expect(() => writeResults(full, [resultOf("a/one", 1)], elsewhere)).toThrow(
      "the page has figures of this machine, this is another machine: run all benchmarks",
    );
    const all = ids.map((id) => resultOf(id, 1));
    expect(writeResults(full, all, elsewhere)).toContain("another machine");
  });
});

function resultOf(bench: string, value: number): Result {
  return { bench, unit: "ratio", subject: "subject", value };
}

function rowsOf(page: string): readonly string[] {
  return page.split("\n").flatMap((line) => {
    const cells = line.split(" | ");
    return line.startsWith("| `")
      ? [`${cells[0]?.slice(3, -1)} ${cells[1]?.slice(2, -2)} ${cells.at(-1)?.slice(0, -2)}`]
      : [];
  });
}
