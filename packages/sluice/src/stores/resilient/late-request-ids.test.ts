import { expect, it } from "vitest";
import { LateIds } from "./late-request-ids.js";

it("reports once that an id was dropped", () => {
  const ids = new LateIds();
  ids.add("a");
  expect(ids.delete("a")).toBe(true);
  expect(ids.delete("a")).toBe(false);
  expect(ids.delete("b")).toBe(false);
});

it("remembers the latest 10,000 ids", () => {
  const ids = new LateIds();
  for (let i = 0; i < 10_005; i++) ids.add(`${i}`);
  expect(["3", "4", "5", "10004"].map((id) => ids.delete(id))).toEqual([false, false, true, true]);
});
