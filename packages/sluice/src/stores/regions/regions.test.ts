import { describe, expect, it } from "vitest";
import { memoryStore } from "../memory/memory-store.js";
import { type RegionsOptions, toRegions } from "./regions.js";

const stores = { eu: memoryStore(), us: memoryStore() };
const good: RegionsOptions = { self: "us", home: "eu", stores };

describe("regions", () => {
  it("have the same weight unless it is given", () => {
    expect([...toRegions(good).weights]).toEqual([
      ["eu", 1],
      ["us", 1],
    ]);
    const { weights } = toRegions({ ...good, weights: { eu: 3, us: 1 } });
    expect(weights.get("eu")).toBe(3);
  });

  it("may have weights without a store: those are never asked", () => {
    const { weights } = toRegions({ ...good, weights: { eu: 1, us: 1, ap: 2 } });
    expect(weights.get("ap")).toBe(2);
  });

  it.each<[string, object, string]>([
    [
      "self without a store",
      { self: "uss" },
      'self names "uss", which has no store, did you mean us?',
    ],
    [
      "home without a store",
      { home: "mars" },
      'home names "mars", which has no store; known: eu, us',
    ],
    ["a region without a weight", { weights: { eu: 1 } }, 'no weight for "us"'],
    ["a weight of 0", { weights: { eu: 0, us: 1 } }, "weights.eu must be a whole number from 1 to"],
    ["no stores", { stores: {} }, "regions.stores must have 1 to 32 entries, got 0"],
    ["a store that is not one", { stores: { eu: {}, us: stores.us } }, "stores.eu must be a store"],
    ["an unknown option", { hom: "eu" }, "unknown option"],
    [
      "a standby that is the home region",
      { standby: "eu" },
      "standby is the home region eu itself",
    ],
    [
      "a standby with the home region's store",
      { standby: "ap", stores: { ...stores, ap: stores.eu } },
      "regions.standby ap has the same store as the home region eu",
    ],
    ["a name with a space", { self: "a b" }, "regions.self must be 1 to 64 letters"],
  ])("refuse %s", (_, part, message) => {
    expect(() => toRegions({ ...good, ...part } as RegionsOptions)).toThrow(message);
  });
});
