import { expect, it } from "vitest";
import { splitRows } from "./row-lists.js";

const SQL = "INSERT INTO t SELECT s.column1, s.column2, $1 FROM (VALUES :rows[(?, ?)]) s";

it("splits rows into lists whose lengths are powers of two, with all rows in their order", () => {
  for (const length of [0, 1, 2, 3, 63, 64, 65, 100, 511]) {
    const rows = Array.from({ length }, (_, n) => [n, `row ${n}`]);
    const made = splitRows(SQL, rows, ["a"]);
    expect(made.flatMap(({ values }) => values.slice(1))).toEqual(rows.flat());
    for (const { values, count } of made) {
      expect([1, 2, 4, 8, 16, 32, 64]).toContain(count);
      expect([values[0], values.length]).toEqual(["a", 1 + 2 * count]);
    }
  }
});

it("numbers the values of rows after those before them, in the same text for the same count", () => {
  const [two, one] = splitRows(
    SQL,
    [
      [1, 2],
      [3, 4],
      [5, 6],
    ],
    ["a"],
  );
  expect(two?.sql).toContain("VALUES ($2, $3), ($4, $5))");
  expect(one?.sql).toContain("VALUES ($2, $3))");
  expect(splitRows(SQL, [[7, 8]], ["b"])[0]?.sql).toBe(one?.sql);
});
