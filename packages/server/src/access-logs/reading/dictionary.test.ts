import { describe, expect, it } from "vitest";
import { Dictionary, PLACES_MAX } from "./dictionary.js";

/** Addresses whose products with what spreads them have the same upper bits, so that all fall into one slot. */
function addressesOfOneSlot(count: number): number[] {
  // The inverse of 0x9e3779b1 modulo 2^32, by Newton's iteration.
  let inverse = 1;
  for (let step = 0; step < 5; step++)
    inverse = Math.imul(inverse, 2 - Math.imul(0x9e3779b1, inverse));
  return Array.from({ length: count }, (_, i) => Math.imul(inverse, 0x12340000 | i));
}

/** Looks all up, twice; returns how many were added. Every place has to stand for the address that got it. */
function lookUp(dictionary: Dictionary<string | number>, addresses: readonly number[]): number {
  const places: number[] = [];
  const twice = [...addresses, ...addresses];
  for (const address of twice) places.push(dictionary.placeOfAddress(address));
  const { added } = dictionary.endBatch();
  expect(places.map((place) => added[place - 1])).toEqual(twice);
  return added.length;
}

describe("a dictionary", () => {
  it("gives each address one place", () => {
    const addresses = Array.from({ length: 20_000 }, (_, i) => (0x0a000000 + i * 7) | 0);
    expect(lookUp(new Dictionary(), [0, -1, ...addresses])).toBe(20_002);
  });

  it("stands for the right addresses when a client chose them to fall into the same slots", () => {
    const addresses = addressesOfOneSlot(1_000);
    expect(new Set(addresses).size).toBe(1_000);
    // Some are forgotten and added again.
    expect(lookUp(new Dictionary(), addresses)).toBeGreaterThan(1_000);
  });

  it("has places for strings and addresses side by side", () => {
    const dictionary = new Dictionary<string | number>();
    expect(dictionary.placeOfAddress(7)).toBe(1);
    expect(dictionary.placeOf("2001:db8::1")).toBe(2);
    expect(dictionary.placeOfAddress(7)).toBe(1);
    expect(dictionary.placeOf("2001:db8::1")).toBe(2);
    expect(dictionary.endBatch()).toEqual({ dictionary: 0, added: [7, "2001:db8::1"] });
  });

  it("starts again when it is full, and knows nothing of what it had before", () => {
    const dictionary = new Dictionary<string | number>();
    for (let i = 0; i < PLACES_MAX; i++) dictionary.placeOfAddress(i);
    expect(dictionary.endBatch().added).toHaveLength(PLACES_MAX);
    expect(dictionary.placeOfAddress(5)).toBe(1);
    expect(dictionary.endBatch()).toEqual({ dictionary: 1, added: [5] });
  });
});
