import { describe, expect, it } from "vitest";
import { sayCoverage } from "./coverage.js";

const ALONE = { inAll: 1, covered: 1, silent: [], elsewhere: 0 };

describe("the sentence about nodes", () => {
  it.each([
    [ALONE, undefined],
    [{ ...ALONE, inAll: 3, covered: 3 }, "Decisions of all 3 nodes."],
    [
      { ...ALONE, inAll: 3, covered: 2, silent: ["edge-1"] },
      "Decisions of 2 of 3 nodes. edge-1 did not answer in time.",
    ],
    [
      { ...ALONE, inAll: 80, covered: 51 },
      "Decisions of 51 of 80 nodes. 29 nodes could not be asked.",
    ],
    [
      { ...ALONE, elsewhere: 4 },
      "Decisions of this node. 4 nodes at other control nodes are not among them.",
    ],
  ])("says of %j: %s", (nodes, sentence) => {
    expect(sayCoverage(nodes, "Decisions")).toBe(sentence);
  });
});
