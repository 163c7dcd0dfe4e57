// Random lives of a store: answers that come, come late, come to nothing. Whatever happens, every caller
// is answered in time, and in the end the store has counted what was admitted, no more and no less.

import { describe, expect, it } from "vitest";
import { type Mood, standOn, toCharge, toCounter } from "../../../test/resilient-stand.js";
import { fixedWindow } from "../../limits/limits.js";
import { SeededRandom } from "../../testing/conformance/random.js";
import type { Outcome } from "../store.js";

const TRACES = 80;
const STEPS = 80;
const TIMEOUT_MS = 50;
const TICK_MS = 10;
const limit = fixedWindow({ limit: 1_000_000, windowMs: 86_400_000 });
const moods: readonly Mood[] = ["later", "prompt", "silent", "silent", "failing", "throwing"];

async function runTrace(seed: number, policy: "closed" | "open") {
  const random = new SeededRandom(`resilient ${policy} ${seed}`);
  const stand = standOn({ onStoreFailure: policy, timeoutMs: TIMEOUT_MS, settlingsMax: 100_000 });
  const { store, inner, clock, memory, settled } = stand;
  const counter = toCounter({ limit });
  const count = { byStore: 0, byPolicy: 0, waiting: 0 };
  const held: Outcome[] = [];
  const tasks: unknown[] = [];

  const decide = async (cost: number, hold: boolean) => {
    const askedAtMs = clock.now();
    count.waiting++;
    const outcome = await store.decide([toCharge(counter, { cost })], { hold });
    count.waiting--;
    expect(clock.now() - askedAtMs).toBeLessThanOrEqual(TIMEOUT_MS);
    if (!outcome.allowed) return;
    if (outcome.verdicts[0].source === "fallback") count.byPolicy += hold ? 0 : cost;
    else if (hold) held.push(outcome);
    else count.byStore += cost;
  };

  const settle = () => {
    const outcome = held.pop();
    if (outcome === undefined) return;
    const [receipt] = outcome.receipts;
    const kept = random.between(0, receipt.cost + 2);
    count.byStore += kept;
    return store.settle([{ receipt, kept, nowMs: clock.now() }]);
  };

  const hear = (mayFail: boolean) => {
    const waiting = inner.calls.filter(({ isWaiting }) => isWaiting);
    if (waiting.length === 0) return false;
    const call = random.pick(waiting);
    if (mayFail && random.chance(0.3)) call.fail(new Error("cut"));
    else call.answer();
    return true;
  };

  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += TICK_MS) {
      clock.advance(TICK_MS);
      await settled();
    }
  };

  for (let step = 0; step < STEPS; step++) {
    if (random.chance(0.3)) inner.mood = random.pick(moods);
    if (random.chance(0.6)) tasks.push(decide(random.between(1, 5), random.chance(0.3)));
    else if (random.chance(0.5)) tasks.push(settle());
    if (random.chance(0.3)) hear(true);
    await pass(random.pick([0, 0, TICK_MS, 20, 60, 1_500]));
  }

  // Peace: everything is answered, the breaker closes, what waits is sent.
  inner.mood = "later";
  while (hear(false)) await settled();
  await pass(TIMEOUT_MS);
  await Promise.all(tasks);
  for (let i = 0; i < 3; i++) {
    clock.advance(20_000);
    await store.peek([toCharge(counter)]);
    await settled();
  }
  while (held.length > 0) await settle();
  const [{ remaining }] = memory.peek([toCharge(counter, { cost: 0 })]);
  return { count, used: limit.capacity - remaining, stats: store.stats };
}

describe("random traces", () => {
  it("under closed: the store has counted exactly what was admitted", async () => {
    let late = 0;
    for (let seed = 0; seed < TRACES; seed++) {
      const { count, used, stats } = await runTrace(seed, "closed");
      expect({ seed, ...count, used }).toEqual({ seed, ...count, waiting: 0, used: count.byStore });
      expect(stats).toMatchObject({ state: "closed", settlingsWaiting: 0, unsettled: 0 });
      expect(count.byPolicy).toBe(0);
      late += stats.lateRefunded;
    }
    expect(late).toBeGreaterThan(TRACES / 2);
  });

  it("under open: the store has counted all it admitted, and at most what policies let pass", async () => {
    for (let seed = 0; seed < TRACES; seed++) {
      const { count, used } = await runTrace(seed, "open");
      expect(count.waiting).toBe(0);
      expect(used).toBeGreaterThanOrEqual(count.byStore);
      expect(used).toBeLessThanOrEqual(count.byStore + count.byPolicy);
    }
  });
});
