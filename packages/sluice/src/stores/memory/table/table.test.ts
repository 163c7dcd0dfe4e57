// The table by itself: what it finds, what it evicts, and that it never holds more than it may.

import { describe, expect, it } from "vitest";
import { Table } from "./table.js";

/** A table whose state is the share of each key, so that a test says what forgetting costs. */
function shareTable(keysMax: number): { table: Table; forgotten: number[] } {
  const forgotten: number[] = [];
  const table: Table = new Table(
    { keysMax, stateDoubles: 1 },
    {
      share: (slot) => table.doubles[table.stateAt(slot)],
      forget: (slot) => forgotten.push(table.doubles[table.stateAt(slot)]),
    },
  );
  return { table, forgotten };
}

// A fixed sequence of well-mixed fingerprints.
function fingerprint(n: number): { low: number; high: number } {
  const mix = (x: number) => {
    const a = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    const b = Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
    return b ^ (b >>> 16);
  };
  return { low: mix(n + 1), high: mix(n + 0x9e3779b9) };
}

function put(table: Table, n: number, share: number): number {
  const { low, high } = fingerprint(n);
  const slot = table.claim(low, high, 1, 0);
  table.doubles[table.stateAt(slot)] = share;
  return slot;
}

function find(table: Table, n: number): number {
  const { low, high } = fingerprint(n);
  return table.find(low, high);
}

describe("Table", () => {
  it("finds every key it holds, with its state, and none it does not hold", () => {
    const { table } = shareTable(1000);
    for (let n = 0; n < 900; n++) put(table, n, n + 1);
    for (let n = 0; n < 900; n++) {
      const slot = find(table, n);
      expect(table.doubles[table.stateAt(slot)]).toBe(n + 1);
    }
    for (let n = 900; n < 5000; n++) expect(find(table, n)).toBe(-1);
  });

  it("holds at most keysMax keys however many come", () => {
    for (const keysMax of [1, 2, 7, 16, 100]) {
      const { table, forgotten } = shareTable(keysMax);
      for (let n = 0; n < 1000; n++) {
        put(table, n, 1);
        expect(find(table, n)).toBeGreaterThanOrEqual(0);
      }
      expect(table.stats.keys).toBeLessThanOrEqual(keysMax);
      expect(forgotten.length).toBe(1000 - table.stats.keys);
    }
  });

  it("finds every key across the growth from the front into the whole table", () => {
    const { table, forgotten } = shareTable(600_000);
    const KEYS = 200_000;
    for (let n = 0; n < KEYS; n++) put(table, n, n + 1);
    expect(forgotten).toEqual([]);
    for (let n = 0; n < KEYS; n++) {
      const slot = find(table, n);
      if (table.doubles[table.stateAt(slot)] !== n + 1) throw new Error(`lost key ${n}`);
    }
    // Back to few keys: those that went behind the front are still found.
    for (let n = 0; n < KEYS; n += 2) table.free(find(table, n));
    expect(table.stats.keys).toBe(KEYS / 2);
    for (let n = 0; n < KEYS; n++) {
      const slot = find(table, n);
      const seen = slot < 0 ? 0 : table.doubles[table.stateAt(slot)];
      if (seen !== (n % 2 === 0 ? 0 : n + 1)) throw new Error(`key ${n} is ${seen}`);
    }
  });

  it("has hardly any keys behind the front while few of those in it are in use", () => {
    let newest = 0;
    const table: Table = new Table(
      { keysMax: 600_000, stateDoubles: 1 },
      {
        // A key is in use until 20,000 others came after it: a sixth of the front.
        share: (slot) => (newest - table.doubles[table.stateAt(slot)] < 20_000 ? 1 : 0),
        forget: () => {},
      },
    );
    for (; newest < 1_000_000; newest++) put(table, newest, newest);
    expect(table.stats.keys).toBeLessThan(131_072 + 500);
    for (let n = newest - 20_000; n < newest; n++)
      if (find(table, n) < 0) throw new Error(`lost key ${n}, which is in use`);
  });

  it("evicts under 0.1% of keysMax distinct keys", () => {
    const { table, forgotten } = shareTable(500_000);
    for (let n = 0; n < 500_000; n++) put(table, n, 1);
    expect(forgotten.length).toBeLessThan(500);
  });

  it("keeps a key of a large share through a flood of small ones", () => {
    const { table } = shareTable(1000);
    for (let n = 0; n < 50; n++) put(table, n, 1);
    for (let n = 50; n < 100_000; n++) put(table, n, 0.1);
    for (let n = 0; n < 50; n++) expect(find(table, n)).toBeGreaterThanOrEqual(0);
  });

  it("evicts the smallest share of both sets", () => {
    const { table, forgotten } = shareTable(8);
    // One set of eight and a second one: with 8 keys at most, all are candidates in turn.
    for (let n = 0; n < 8; n++) put(table, n, 0.5 + n / 100);
    put(table, 8, 0.9);
    expect(forgotten).toEqual([0.5]);
  });

  it("still finds the others after a slot was freed", () => {
    const { table } = shareTable(200);
    for (let n = 0; n < 200; n++) put(table, n, n + 1);
    const held = Array.from({ length: 200 }, (_, n) => n).filter((n) => find(table, n) >= 0);
    for (const n of held.filter((_, i) => i % 3 === 0)) table.free(find(table, n));
    for (const [i, n] of held.entries()) {
      const slot = find(table, n);
      if (i % 3 === 0) expect(slot).toBe(-1);
      else expect(table.doubles[table.stateAt(slot)]).toBe(n + 1);
    }
    expect(table.stats.keys).toBe(held.length - Math.ceil(held.length / 3));
  });

  it("remembers under which id a slot was written", () => {
    const { table } = shareTable(10);
    const { low, high } = fingerprint(1);
    const slot = table.claim(low, high, 65_535, 0);
    expect(table.idOf(slot)).toBe(65_535);
    table.setId(slot, 3);
    expect(table.idOf(table.find(low, high))).toBe(3);
  });

  it("frees what a key left that found no place, together with all others of its limit", () => {
    const { table } = shareTable(1_000);
    const claim = (n: number, id: number) => {
      const { low, high } = fingerprint(n);
      const slot = table.claim(low, high, id, 0);
      table.doubles[table.stateAt(slot)] = 1;
      return slot;
    };
    // Fifty limits with equal parts: a further key of one of them often meets none it may replace.
    for (let n = 0; n < 1_000; n++) claim(n, 1 + (n % 50));
    for (let n = 1_000; claim(n, 1) !== table.slots; n++) expect(n).toBeLessThan(2_000);
    const dropped: number[] = [];
    table.freeAll(new Set([1]), (slot) => dropped.push(slot));
    expect(dropped).toContain(table.slots);
    expect(table.idOf(table.slots)).toBe(0);
  });

  it("sets aside under 20 bytes for a key with one double of state, under 32 with two", () => {
    const owner = { share: () => 0, forget: () => {} };
    const bytes = (stateDoubles: number) =>
      new Table({ keysMax: 100_000, stateDoubles }, owner).stats.bytes / 100_000;
    expect(bytes(1)).toBeLessThan(20);
    expect(bytes(2)).toBeLessThan(32);
  });
});
