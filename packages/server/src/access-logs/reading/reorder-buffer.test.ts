import { describe, expect, it } from "vitest";
import type { OpenBatch } from "./batch-reader.js";
import { REORDER_BOUNDS, ReorderBuffer } from "./reorder-buffer.js";

const ROWS = 2_048;

function batchOf(timesMs: Float64Array): OpenBatch {
  const nothing = { dictionary: 0, added: [] };
  return {
    rows: timesMs.length,
    lineBytes: 100,
    timesMs,
    bodyBytes: new Float64Array(0),
    words: new Int32Array(0),
    extras: undefined,
    names: { headers: [], attributes: [] },
    lines: nothing,
    clients: nothing,
    strings: nothing,
    lineList: { lines: [], notes: [] },
    clientList: { addresses: [], notes: new Int32Array(0) },
    stringOf: [],
  };
}

describe("requests that wait for older ones", () => {
  it("keep a bounded number of batches, also where one request of each waits longer than the others", () => {
    const waiting = new Map<OpenBatch, number>();
    const buffer = new ReorderBuffer(REORDER_BOUNDS, (batch) => {
      const left = (waiting.get(batch) ?? 0) - 1;
      if (left > 0) waiting.set(batch, left);
      else waiting.delete(batch);
    });
    let most = 0;
    for (let at = 0; at < 1_000; at++) {
      // A thousand batches in a second, and a request of each from nine seconds later.
      const timesMs = new Float64Array(ROWS).fill(1_000_000 + at);
      timesMs[ROWS - 1] += 9_000;
      const batch = batchOf(timesMs);
      waiting.set(batch, ROWS);
      buffer.add(batch);
      most = Math.max(most, waiting.size);
    }
    expect(most).toBeLessThanOrEqual(256);
    buffer.flush();
    expect(waiting.size).toBe(0);
  });
});
