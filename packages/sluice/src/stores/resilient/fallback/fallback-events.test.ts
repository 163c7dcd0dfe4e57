import { afterEach, describe, expect, it, vi } from "vitest";
import { MoodyStore, standOn, toCharge, toCounter } from "../../../../test/resilient-stand.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { memoryStore } from "../../memory/memory-store.js";
import { resilient } from "../resilient.js";

const charge = toCharge(toCounter());
afterEach(() => {
  vi.restoreAllMocks();
});

describe("events of a fallback", () => {
  it("repeat every fallbackMsMax while it lasts, with the latest reason, and stop when it is over", async () => {
    const { store, inner, clock, events, breakDown } = standOn({ fallbackMsMax: 60_000 });
    await breakDown();
    clock.advance(59_999);
    expect(events).toHaveLength(1);
    inner.error = new Error("still gone");
    inner.mood = "failing";
    await store.decide([charge]);
    clock.advance(60_001);
    const sinceMs = 5_000_000;
    expect(events.slice(1)).toEqual([
      { kind: "lasting", reason: "still gone", atMs: sinceMs + 60_000, sinceMs },
      { kind: "lasting", reason: "still gone", atMs: sinceMs + 120_000, sinceMs },
    ]);
    expect(store.stats.sinceMs).toBe(sinceMs);
    inner.mood = "later";
    await store.decide([charge]);
    expect(events[3]).toMatchObject({ kind: "left", atMs: sinceMs + 120_000, sinceMs });
    clock.advance(600_000);
    expect(events).toHaveLength(4);
    expect(store.stats.sinceMs).toBeUndefined();
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("bad listener");
      },
    ],
    ["rejects", () => Promise.reject(new Error("bad listener"))],
  ])("break nothing where the listener %s", async (_how, onEvent) => {
    const { store, breakDown, settled } = standOn({ onEvent });
    await breakDown();
    expect(await store.decide([charge])).toMatchObject({ allowed: true });
    await settled();
  });

  it("end with the store", async () => {
    const { store, clock, events, breakDown } = standOn({ fallbackMsMax: 60_000 });
    await breakDown();
    await store.close();
    clock.advance(600_000);
    expect(events).toHaveLength(1);
  });

  it("leave one warning where there is no listener", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const clock = new ManualClock(5_000_000);
    const inner = new MoodyStore(memoryStore({ keysMax: 10 }));
    const store = resilient(inner, { clock, breaker: { failuresMax: 1 } });
    for (let i = 0; i < 3; i++) {
      inner.mood = "failing";
      await store.decide([charge]);
      clock.advance(1_000);
      inner.mood = "later";
      await store.decide([charge]);
    }
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.calls[0][0]).toContain("without the store: connection refused");
  });
});
