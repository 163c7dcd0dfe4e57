// What a core is made of, and that nothing starts without its limits.

import { afterEach, describe, expect, it } from "vitest";
import { toTestConfig } from "../../test/test-config.js";
import { createCore, type OwnedCore } from "./create-core.js";

const cores: OwnedCore[] = [];
afterEach(async () => {
  for (const core of cores.splice(0)) await core.close();
});

function coreOf(...args: Parameters<typeof createCore>): OwnedCore {
  const core = createCore(...args);
  cores.push(core);
  return core;
}

const facts = { ip: "203.0.113.10", method: "GET", path: "/" };

describe("a core", () => {
  it("decides by the rules of its configuration", async () => {
    const { policy, blindPolicy } = coreOf(toTestConfig());
    expect(await policy.admit(facts)).toMatchObject({ allowed: true });
    expect(blindPolicy).toBeUndefined();
  });

  it("has a second policy over the same counters where a door sees no responses", async () => {
    const listen = { host: "127.0.0.1", port: 0 };
    const decision = { listen, tokens: [], forwardAuth: true, bodyBytesMax: 1_024 };
    const { policy, blindPolicy } = coreOf(toTestConfig({ decision }));
    const before = await policy.admit(facts);
    const after = await blindPolicy?.admit(facts);
    expect(after?.remaining).toBe(before.remaining - 1);
  });
});
