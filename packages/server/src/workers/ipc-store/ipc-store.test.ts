// A store behind a channel keeps the contract of the store at its other end, and fails as a network does.

import {
  type Charge,
  type Clock,
  type Counter,
  concurrency,
  fixedWindow,
  memoryStore,
  type Store,
} from "sluice";
import { ManualClock, storeConformance } from "sluice/testing";
import { describe, expect, it, vi } from "vitest";
import { channelPair } from "../../../test/channel-pair.js";
import { ipcStore } from "./ipc-store.js";
import { serveStore } from "./serve-store.js";

function setUpOn(clock: Clock = new ManualClock(1_700_000_000_000), inner?: Store) {
  const store = inner ?? memoryStore({ keysMax: 10_000 });
  const { worker, primary, counts, cut } = channelPair<string>();
  serveStore(store, primary, { clock });
  return { store: ipcStore(worker), inner: store, counts, cut };
}

const counter: Counter = {
  scope: "test",
  part: 0,
  limit: fixedWindow({ limit: 10, windowMs: 60_000 }),
};
const charge: Charge = { counter, key: "k", cost: 1, nowMs: 0 };

describe("keeps the contract of a store", () => {
  const createStore = (clock: Clock) => setUpOn(clock).store;
  const cases = storeConformance({ createStore, traces: 20 });
  for (const { name, run } of cases) it(name, run);
});

describe("batches", () => {
  it("sends what is asked in one turn in one message, and its answers in one", async () => {
    const { store, counts } = setUpOn();
    await Promise.all(Array.from({ length: 50 }, () => store.decide([charge])));
    expect(counts).toEqual([1, 1]);
  });

  it("sends nothing for callers that have gone on", async () => {
    const { store, inner } = setUpOn();
    const decision = store.decide([charge], { isAbandoned: () => true });
    await expect(decision).rejects.toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
    await store.peek([charge]);
    expect(await inner.peek([{ ...charge, nowMs: 1_700_000_000_000 }])).toMatchObject([
      { remaining: 10 },
    ]);
  });
});

describe("a primary that is gone", () => {
  it("fails what waits and what is asked later, as a store that does not answer", async () => {
    const { store, cut } = setUpOn();
    const waiting = store.decide([charge]);
    cut();
    await expect(waiting).rejects.toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
    await expect(store.peek([charge])).rejects.toThrow("the primary process has exited");
  });
});

describe("a worker that is gone", () => {
  const slots: Counter = {
    scope: "slots",
    part: 0,
    limit: concurrency({ limit: 2, permitMs: 600_000 }),
  };
  const permit: Charge = { ...charge, counter: slots };
  const leftOf = async (store: Store, each: Charge) => {
    const [{ remaining }] = await store.peek([{ ...each, nowMs: 1_700_000_000_000 }]);
    return remaining;
  };

  it("holds no permits any more; what else it held stays spent", async () => {
    const { store, inner, cut } = setUpOn();
    await store.decide([permit], { hold: true });
    const released = await store.decide([permit], { hold: true });
    await store.settle(released.receipts.map((receipt) => ({ receipt, kept: 0, nowMs: 0 })));
    await store.decide([charge], { hold: true });
    expect([await leftOf(inner, permit), await leftOf(inner, charge)]).toEqual([1, 9]);
    cut();
    expect([await leftOf(inner, permit), await leftOf(inner, charge)]).toEqual([2, 9]);
  });

  it("gets no permit that was decided while it died", async () => {
    const inner = memoryStore({ keysMax: 100 });
    const decide = inner.decide.bind(inner);
    let go = () => {};
    const gone = new Promise<void>((resolve) => {
      go = resolve;
    });
    const asked = vi.spyOn(inner, "decide").mockImplementation((async (
      ...args: Parameters<Store["decide"]>
    ) => {
      await gone;
      return decide(...args);
    }) as never);
    const { store, cut } = setUpOn(undefined, inner);
    const deciding = store.decide([permit], { hold: true });
    await vi.waitUntil(() => asked.mock.calls.length > 0, 20_000);
    cut();
    await expect(deciding).rejects.toThrow("has exited");
    go();
    await asked.mock.results[0].value;
    expect(await leftOf(inner, permit)).toBe(2);
  });
});

describe("errors", () => {
  it("come over with their code and their words", async () => {
    const inner = memoryStore({ keysMax: 100 });
    const { store } = setUpOn(undefined, inner);
    inner.close();
    await expect(store.decide([charge])).rejects.toMatchObject({
      code: "SLUICE_CLOSED",
      message: expect.stringMatching(/^used after it was closed: this memory store$/),
    });
  });

  it("that are no errors of use are failures of the store", async () => {
    const inner = memoryStore({ keysMax: 100 });
    vi.spyOn(inner, "decide").mockImplementation(() => {
      throw new TypeError("broken");
    });
    const { store } = setUpOn(undefined, inner);
    await expect(store.decide([charge])).rejects.toThrow("broken");
  });
});

describe("close", () => {
  it("fails what waits, and leaves the store of the primary open", async () => {
    const { store, inner } = setUpOn();
    const waiting = store.decide([charge]);
    store.close();
    await expect(waiting).rejects.toMatchObject({ code: "SLUICE_CLOSED" });
    expect(inner.decide([{ ...charge, nowMs: 1_700_000_000_000 }])).toMatchObject({
      allowed: true,
    });
  });
});
