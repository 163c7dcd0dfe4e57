import { spreadHash } from "sluice/internals";
import { describe, expect, it } from "vitest";
import { SampledKeys } from "./sampled-keys.js";

const SALT = 7;

describe("sampled keys", () => {
  it("are all there, with their numbers, while there is room", () => {
    const keys = new SampledKeys(1_000, SALT, 1);
    for (let round = 0; round < 3; round++) {
      for (let at = 0; at < 1_000; at++) {
        const place = keys.placeOf(`ip:10.0.${at >> 8}.${at & 255}`);
        keys.column(0)[place] += at;
      }
    }
    expect({ count: keys.count, share: keys.share, estimate: keys.estimate }).toEqual({
      count: 1_000,
      share: 1,
      estimate: 1_000,
    });
    const sum = [...keys.places()].reduce((total, place) => total + keys.column(0)[place], 0);
    expect(sum).toBe((3 * 1_000 * 999) / 2);
  });

  it("are a sample beyond it: each with all of its numbers, and their number estimated", () => {
    const keys = new SampledKeys(4_096, SALT, 1);
    const total = 100_000;
    for (let round = 0; round < 2; round++) {
      for (let at = 0; at < total; at++) {
        const place = keys.placeOf(`user:${at}`);
        if (place >= 0) keys.column(0)[place]++;
      }
    }
    expect(keys.count).toBeLessThanOrEqual(4_096);
    expect(keys.count).toBeGreaterThan(1_000);
    expect([...keys.places()].every((place) => keys.column(0)[place] === 2)).toBe(true);
    expect(Math.abs(keys.estimate / total - 1)).toBeLessThan(0.1);
  });

  it("can't be chosen by a client that knows the hash, but not the salt", () => {
    // All of them are in the first sixteenth of hashes without a salt: they would count as sixteen times as many.
    const chosen: string[] = [];
    for (let at = 0; chosen.length < 10_000; at++)
      if (spreadHash(`user:${at}`) < 2 ** 28) chosen.push(`user:${at}`);
    const keys = new SampledKeys(4_096, SALT);
    for (const key of chosen) keys.placeOf(key);
    expect(Math.abs(keys.estimate / chosen.length - 1)).toBeLessThan(0.1);
  });
});
