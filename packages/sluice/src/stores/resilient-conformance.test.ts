// A resilient store promises of a store that answers what that store promises itself.

import { describe, it } from "vitest";
import { toTest } from "../../test/conformance-test.js";
import type { Clock } from "../base/clock.js";
import { storeConformance } from "../testing/store-conformance.js";
import { ForwardingStore } from "./forwarding-store.js";
import { memoryStore } from "./memory/memory-store.js";
import { resilient } from "./resilient/resilient.js";
import type { Store } from "./store.js";

const smallStore = () => memoryStore({ keysMax: 10_000 });

/** The same store a turn later. */
function later(inner: Store, isRemote: boolean): Store {
  return new Proxy(new ForwardingStore(inner), {
    get(target, name) {
      if (name === "isRemote") return isRemote;
      const verb = Reflect.get(target, name);
      return async (...args: unknown[]) => verb.apply(target, args);
    },
  });
}

describe("around a store that answers synchronously", () => {
  const createStore = (clock: Clock) => resilient(smallStore(), { clock });
  const skip = {
    "a store decides for the epoch under which it is home, and for no other":
      "the failure policy answers in place of a store that is not home",
  };
  for (const each of storeConformance({ createStore, traces: 50, skip })) {
    it(each.name, toTest(each));
  }
});

describe("around a store that answers later", () => {
  const createStore = (clock: Clock) => resilient(later(smallStore(), true), { clock });
  for (const { name, run } of storeConformance({ createStore, traces: 20 })) it(name, run);
});

describe("around a store that answers later and does not say so", () => {
  const createStore = (clock: Clock) => resilient(later(smallStore(), false), { clock });
  for (const { name, run } of storeConformance({ createStore, traces: 5 })) it(name, run);
});
