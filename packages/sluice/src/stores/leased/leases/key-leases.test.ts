import { describe, expect, it } from "vitest";
import { KeyLeases, LEAVING_MAX } from "./key-leases.js";
import { type Lease, newLease } from "./lease.js";

const LIFE_MS = 100;

function leaseAt(atMs: number): Lease {
  return newLease({
    receipt: undefined,
    units: 10,
    sentAtMs: atMs,
    expiresAtMs: atMs + LIFE_MS,
    endNowMs: atMs + LIFE_MS,
    endsForGood: false,
  });
}

/** Takes some of a lease for requests of which nothing is heard, and lets it expire. */
function expireOne(keyLeases: KeyLeases, atMs: number, retired: Lease[]): void {
  keyLeases.add(leaseAt(atMs));
  keyLeases.spendBriefly(3);
  keyLeases.advance(atMs + LIFE_MS, atMs + LIFE_MS, (lease) => retired.push(lease));
}

describe("leases of which something is out when they end", () => {
  it("are returned as they are beyond half of the most that wait, the oldest first", () => {
    const keyLeases = new KeyLeases(1, 0);
    const retired: Lease[] = [];
    for (let n = 0; n < LEAVING_MAX; n++) expireOne(keyLeases, n, retired);
    const returned = keyLeases.takeLeaving(LEAVING_MAX);
    expect(returned.map(({ sentAtMs }) => sentAtMs)).toEqual([...Array(LEAVING_MAX / 2).keys()]);
    expect(returned.every(({ left }) => left === 7)).toBe(true);
    expect(keyLeases.leaving.length).toBe(LEAVING_MAX / 2);
    expect(retired).toEqual([]);
  });

  it("are no more than the bound, however long no request comes by to return them", () => {
    const keyLeases = new KeyLeases(1, 0);
    const retired: Lease[] = [];
    for (let n = 0; n < 1000; n++) expireOne(keyLeases, n, retired);
    expect(keyLeases.leaving.length).toBe(LEAVING_MAX);
    expect(retired.length).toBe(1000 - LEAVING_MAX);
  });
});
