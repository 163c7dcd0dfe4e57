// What the constructor of sketches accepts, and what it refuses.

import { describe, expect, it } from "vitest";
import { isLimit, scaleLimit } from "./limits.js";
import { sketch } from "./sketch.js";

describe("sketch", () => {
  const good = { limit: 100, windowMs: 60_000 };

  it("is a frozen limit with its defaults filled in", () => {
    const limit = sketch(good);
    expect(isLimit(limit) && Object.isFrozen(limit)).toBe(true);
    expect(limit).toMatchObject({
      algorithm: "sketch",
      capacity: 100,
      errorShare: 1e-5,
      confidence: 0.99,
      exactKeysMax: 10_000,
      cellBits: 8,
    });
  });

  it.each([
    [{ limit: 0 }, "limit must be a whole number from 1 to 2147483648, got 0"],
    [{ limit: 2 ** 32 }, "limit must be a whole number from 1 to 2147483648"],
    [{ windowMs: 0.5 }, "windowMs must be a whole number"],
    [{ errorShare: 0 }, "errorShare must be a number from 1e-9 to 0.1, got 0"],
    [{ errorShare: Number.NaN }, "errorShare must be a number"],
    [{ errorShare: "1%" }, "errorShare must be a number"],
    [{ confidence: 1 }, "confidence must be a number from 0.5 to 0.999999, got 1"],
    [{ exactKeysMax: -1 }, "exactKeysMax must be a whole number from 0 to 10000000, got -1"],
    [{ errorshare: 1 }, "unknown option"],
    [
      { errorShare: 1e-9 },
      "needs 18173 MB, more than 1074, for errorShare 1e-9 with confidence 0.99",
    ],
  ])("refuses %j", (bad, message) => {
    expect(() => sketch({ ...good, ...(bad as object) })).toThrow(message);
  });

  it("can be made stricter", () => {
    expect(scaleLimit(sketch(good), 0.5)).toMatchObject({ algorithm: "sketch", capacity: 50 });
  });
});
