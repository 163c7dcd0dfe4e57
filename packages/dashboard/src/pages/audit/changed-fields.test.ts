import { expect, it } from "vitest";
import { fieldChanges } from "./changed-fields.js";

it("lists the fields that differ, those of tables by their path", () => {
  const before = { plan: "free", limits: { search: "1/s", list: "2/s" }, status: "active" };
  const after = { plan: "pro", limits: { list: "2/s" }, status: "active", endsAtMs: 0 };
  expect(fieldChanges(before, after)).toEqual([
    { field: "plan", before: "free", after: "pro" },
    { field: "limits.search", before: "1/s", after: undefined },
    { field: "endsAtMs", before: undefined, after: "1970-01-01T00:00:00.000Z" },
  ]);
});
