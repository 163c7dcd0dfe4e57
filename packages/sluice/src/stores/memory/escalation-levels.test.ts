// Levels of escalated callers in bounded memory: what a flood of blocked keys can push out, and what it can't.

import { describe, expect, it } from "vitest";
import type { EscalationTerms } from "../../algorithms/escalation.js";
import { type MemoryStore, memoryStore } from "./memory-store.js";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const TERMS: EscalationTerms = {
  refusals: 2,
  windowMs: MINUTE_MS,
  blocksMs: [MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS],
  forgetMs: DAY_MS,
};
const BLOCKS_MAX = 100;
const START_MS = 1_000_000;

/** Reports enough refusals of a key to raise its level, and returns that. */
function raise(store: MemoryStore, key: string, nowMs: number, terms = TERMS): number {
  const counted = { refusals: terms.refusals, ageMs: 0, nowMs };
  const [{ level }] = store.escalate([{ scope: "s", key, blockScopes: ["s"], terms, ...counted }]);
  return level;
}

describe("a flood of keys that are blocked", () => {
  it("pushes out no caller that was blocked more often, also when it has not been refused since", () => {
    const store = memoryStore({ blocksMax: BLOCKS_MAX });
    expect(raise(store, "offender", START_MS)).toBe(1);
    expect(raise(store, "offender", START_MS + MINUTE_MS)).toBe(2);
    const floodMs = START_MS + 2 * MINUTE_MS;
    for (let i = 0; i < 100 * BLOCKS_MAX; i++) raise(store, `flood ${i}`, floodMs);
    expect(raise(store, "offender", START_MS + 11 * MINUTE_MS)).toBe(3);
  });

  it("takes the room of levels that are forgotten in any case", () => {
    const store = memoryStore({ blocksMax: BLOCKS_MAX });
    const short = { ...TERMS, forgetMs: MINUTE_MS };
    for (let i = 0; i < 2 * BLOCKS_MAX; i++) {
      raise(store, `early ${i}`, START_MS, short);
      raise(store, `early ${i}`, START_MS + MINUTE_MS, short);
    }
    // Blocks of ten minutes have ended, and what `forget` is rounded up to has passed.
    const laterMs = START_MS + 20 * MINUTE_MS;
    const later = Array.from({ length: BLOCKS_MAX / 2 }, (_, i) => `later ${i}`);
    for (const key of later) raise(store, key, laterMs, short);
    const levels = later.map((key) => raise(store, key, laterMs + MINUTE_MS, short));
    expect(levels.filter((level) => level === 2)).toHaveLength(later.length);
  });

  it("sets aside a fixed amount of memory, which shows in the figures", () => {
    const store = memoryStore({ blocksMax: BLOCKS_MAX });
    store.block("s", "blocked", { untilMs: START_MS + MINUTE_MS, nowMs: START_MS });
    const { bytes: withoutLevels } = store.stats;
    raise(store, "first", START_MS);
    const { bytes } = store.stats;
    expect(bytes).toBeGreaterThan(withoutLevels);
    for (let i = 0; i < 10 * BLOCKS_MAX; i++) raise(store, `flood ${i}`, START_MS);
    expect(store.stats.bytes).toBe(bytes);
  });
});
