import { describe, expect, it } from "vitest";
import { pathByIndent } from "./path-at.js";

describe("the path by indentation", () => {
  it.each([
    ["", []],
    ["version: 1\n", []],
    ["version: 1\nrules:\n  - ", ["rules", null]],
    ["version: 1\nrules:\n  - id: login\n    ", ["rules", null]],
    ["rules:\n- id: login\n  ", ["rules", null]],
    ["rules:\n  - id: login\n    match:\n      ", ["rules", null, "match"]],
    ["rules:\n  - id: a\n    match:\n      path: /x\n      # why\n\n    ", ["rules", null]],
    [
      "rules:\n  - id: a\n    limit:\n      - tokenBucket:\n          ",
      ["rules", null, "limit", null, "tokenBucket"],
    ],
    ["rules:\n  - id: a\n    limit: 5/minute\nexempt:\n  ", ["exempt"]],
  ])("of %j", (text, path) => {
    expect(pathByIndent(text)).toEqual(path);
  });
});
