import { describe, expect, it } from "vitest";
import { OtherUsers } from "./other-users.js";

const LIMIT = 10;

describe("other users of a quota", () => {
  it.each<
    [string, readonly (readonly [remaining: number, sent: number, countedMin: number])[], boolean]
  >([
    ["are seen if less is left at first than was sent", [[7, 2, 1]], true],
    ["are not seen if all that is missing was sent", [[8, 2, 1]], false],
    [
      "are seen if more is missing than was sent since",
      [
        [9, 1, 1],
        [6, 3, 2],
      ],
      true,
    ],
    [
      "are not seen if responses arrive in another order",
      [
        [8, 3, 1],
        [9, 3, 1],
        [7, 3, 1],
      ],
      false,
    ],
    [
      "are not seen if requests in flight were counted late",
      [
        [9, 4, 1],
        [6, 4, 1],
      ],
      false,
    ],
    [
      "are not seen after a reset",
      [
        [1, 9, 9],
        [9, 10, 10],
        [8, 11, 11],
      ],
      false,
    ],
  ])("%s", (_name, reports, areThere) => {
    const others = new OtherUsers();
    for (const [remaining, sent, countedMin] of reports)
      others.reported(remaining, LIMIT, { sent, countedMin }, 0);
    expect(others.areThere(0)).toBe(areThere);
  });

  it("are not suspected while the limit is not known", () => {
    const others = new OtherUsers();
    others.reported(3, undefined, { sent: 1, countedMin: 1 }, 0);
    expect(others.areThere(0)).toBe(false);
  });

  it("are forgotten half a minute after the last sign of them", () => {
    const others = new OtherUsers();
    others.reported(3, LIMIT, { sent: 1, countedMin: 1 }, 1_000);
    expect(others.areThere(31_000)).toBe(true);
    expect(others.areThere(31_001)).toBe(false);
  });
});
