import { describe, expect, it } from "vitest";
import { quota } from "../limits/limits.js";
import { ManualClock } from "../testing/manual-clock.js";
import { memoryStore } from "./memory/memory-store.js";
import { type AdmissionMeter, MeteredStore } from "./metered.js";
import { resilient } from "./resilient/resilient.js";
import type { Charge, DecideOptions, Outcome, Store } from "./store.js";

const nowMs = Date.UTC(2026, 4, 10);
const counter = {
  scope: "exports",
  part: 0,
  limit: quota({ limit: 10, period: "month" }),
  onStoreFailure: "open",
} as const;
const chargeOf = (cost: number): Charge => ({ counter, key: "tenant:acme", cost, nowMs });

class Counted implements AdmissionMeter {
  readonly units: Record<string, number> = {};
  count(source: string, _counter: unknown, key: string, units: number, atMs: number): void {
    expect([key, atMs]).toEqual(["tenant:acme", nowMs]);
    this.units[source] = (this.units[source] ?? 0) + units;
  }
}

describe("a metered store", () => {
  it("counts what is admitted, and nothing that is refused or only looked at", async () => {
    const meter = new Counted();
    const store = new MeteredStore(memoryStore(), meter);
    await store.decideOne(counter, "tenant:acme", 4, nowMs);
    await store.decide([chargeOf(3), chargeOf(2)]);
    await store.decideOne(counter, "tenant:acme", 2, nowMs);
    await store.decide([chargeOf(2)]);
    await store.peek([chargeOf(1)]);
    expect(meter.units).toEqual({ charged: 9 });
  });

  it("counts what a held charge really cost, once", async () => {
    const meter = new Counted();
    const store = new MeteredStore(memoryStore(), meter);
    const outcome = await store.decide([chargeOf(6)], { hold: true });
    const settling = { receipt: outcome.receipts[0], kept: 2, nowMs: nowMs + 86_400_000 * 40 };
    await store.settle([settling]);
    await store.settle([settling]);
    expect(meter.units).toEqual({ charged: 2 });
  });

  it("keeps what the fallback admitted, and what was answered again, apart from what was charged", async () => {
    const meter = new Counted();
    const away: Store = Object.assign(Object.create(memoryStore()) as Store, {
      isRemote: true,
      decide: (_: unknown, { requestId }: DecideOptions): Promise<Outcome> => {
        if (requestId === undefined) return Promise.reject(new Error("away"));
        const verdict = { allowed: true, limit: 10, remaining: 1, retryAfterMs: 0, resetMs: 0 };
        const verdicts = [{ ...verdict, delayMs: 0, source: "store" } as const];
        return Promise.resolve({ allowed: true, verdicts, receipts: [], isRepeated: true });
      },
    });
    const clock = new ManualClock(nowMs);
    const store = new MeteredStore(resilient(away, { clock }), meter);
    await store.decide([chargeOf(5)], { requestId: "again" });
    await store.decideOne(counter, "tenant:acme", 3, nowMs);
    const held = await store.decide([chargeOf(4)], { hold: true });
    await store.settle([{ receipt: held.receipts[0], kept: 1, nowMs }]);
    expect(meter.units).toEqual({ repeated: 5, uncharged: 4 });
  });
});
