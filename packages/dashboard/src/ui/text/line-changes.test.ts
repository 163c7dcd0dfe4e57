import { expect, it } from "vitest";
import { cutAround, lineChanges } from "./line-changes.js";

it("shows the lines that differ, with a few around them", () => {
  const lines = (...changed: string[]) =>
    ["a", "b", "c", "d", ...changed, "e", "f", "g", "h"].join("\n");
  const shown = lineChanges(lines("old"), lines("new", "newer"));
  expect(shown.map(({ mark, line }) => mark + line)).toEqual([
    " b",
    " c",
    " d",
    "-old",
    "+new",
    "+newer",
    " e",
    " f",
    " g",
  ]);
  expect(lineChanges("", "a\nb").map(({ mark }) => mark)).toEqual(["+", "+"]);
});

it("shows the part of a long value around a place, and says how much it leaves out", () => {
  const long = `${"a".repeat(5_000)}b${"c".repeat(4_999)}`;
  expect(cutAround("short", 3)).toBe("short");
  expect(cutAround(long, 5_000)).toMatch(
    /^… 4800 more characters … a{200}bc+ … 3200 more characters …$/,
  );
  expect(cutAround(long, 0)).toMatch(/^a{2000} … 8000 more characters …$/);
  expect(cutAround(long, 9_999)).toMatch(/^… 8000 more characters … c{2000}$/);
});
