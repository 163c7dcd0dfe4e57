import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { collectAfterReading } from "./collect-garbage.js";

describe("garbage that reading rules leaves", () => {
  it("is collected once a large text was read", async () => {
    const left = leaveGarbage();
    collectAfterReading("x".repeat(100_000), 1);
    await setTimeout(200);
    expect(left.deref()).toBeUndefined();
  });

  it("is left to V8 after a small one", async () => {
    const left = leaveGarbage();
    collectAfterReading("x".repeat(1_000), 1);
    await setTimeout(200);
    expect(left.deref()).toBeDefined();
  });

  it("leaves no function behind that could stop the process again", () => {
    expect(globalThis.gc).toBeUndefined();
  });
});

/** In the old generation, which a minor collection does not look at. */
function leaveGarbage(): WeakRef<object> {
  const left = new Array(1_000_000).fill(0);
  return new WeakRef(left);
}
