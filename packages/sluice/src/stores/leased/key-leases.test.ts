import { describe, expect, it } from "vitest";
import { Holding, LEAVING_MAX } from "./key-leases.js";
import { type Block, newBlock } from "./lease.js";

const LIFE_MS = 100;

function blockAt(atMs: number): Block {
  return newBlock({
    receipt: undefined,
    units: 10,
    sentAtMs: atMs,
    expiresAtMs: atMs + LIFE_MS,
    endNowMs: atMs + LIFE_MS,
    endsForGood: false,
  });
}

/** Takes some of a block for requests of which nothing is heard, and lets it expire. */
function expireOne(holding: Holding, atMs: number, retired: Block[]): void {
  holding.add(blockAt(atMs));
  holding.spendBriefly(3);
  holding.advance(atMs + LIFE_MS, atMs + LIFE_MS, (block) => retired.push(block));
}

describe("blocks of which something is out when they end", () => {
  it("are returned as they are beyond half of the most that wait, the oldest first", () => {
    const holding = new Holding(1, 0);
    const retired: Block[] = [];
    for (let n = 0; n < LEAVING_MAX; n++) expireOne(holding, n, retired);
    const returned = holding.takeLeaving(LEAVING_MAX);
    expect(returned.map(({ sentAtMs }) => sentAtMs)).toEqual([...Array(LEAVING_MAX / 2).keys()]);
    expect(returned.every(({ left }) => left === 7)).toBe(true);
    expect(holding.leaving.length).toBe(LEAVING_MAX / 2);
    expect(retired).toEqual([]);
  });

  it("are no more than the bound, however long nobody comes by to return them", () => {
    const holding = new Holding(1, 0);
    const retired: Block[] = [];
    for (let n = 0; n < 1000; n++) expireOne(holding, n, retired);
    expect(holding.leaving.length).toBe(LEAVING_MAX);
    expect(retired.length).toBe(1000 - LEAVING_MAX);
  });
});
