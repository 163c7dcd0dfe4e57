import { afterEach, describe, expect, it } from "vitest";
import { HOME_START_MS, settled } from "../../../../test/home-rig.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { homeControl } from "../../home-control.js";
import { createPolicy } from "../create-policy.js";
import type { PolicyEvent } from "../policy-events.js";

const facts = { method: "GET", path: "/login", ip: "203.0.113.10" };
const KEY = "ip:203.0.113.10";
const RULE = {
  id: "login",
  key: "ip",
  limit: "2/day",
  escalate: { after: "3 refusals in 1m", blocks: ["10m"], forget: "1h" },
};

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function stand(across: string, rule: object = {}) {
  const clock = new ManualClock(HOME_START_MS);
  const events: PolicyEvent[] = [];
  const stores = { eu: memoryStore(), us: memoryStore(), ap: memoryStore() };
  const regions = { self: "ap", home: "eu", standby: "us", stores };
  const policy = createPolicy({
    rules: { version: 1, rules: [{ ...RULE, across, ...rule }] },
    regions,
    clock,
    onEvent: (event) => events.push(event),
  });
  const control = homeControl(regions, { clock });
  ends.push(
    () => policy.close(),
    () => control.close(),
  );
  await control.show();
  const ask = async (count: number) => {
    for (let i = 1; i < count; i++) await policy.admit(facts);
    return await policy.admit(facts);
  };
  return { control, clock, events, ask };
}

describe.each(["central", "leased"])(
  "a rule that escalates across %s, with a standby",
  (across) => {
    it("blocks callers that keep being refused, also after a promotion", async () => {
      const { control, clock, events, ask } = await stand(across);
      await ask(5);
      await settled();
      expect(events).toMatchObject([{ kind: "escalated", rule: "login", key: KEY, level: 1 }]);
      expect(await ask(1)).toMatchObject({ allowed: false, reason: "blocked" });
      expect(await control.promote("us")).toMatchObject({ isPromoted: true });
      for (let second = 0; second < 10; second++) {
        clock.advance(1_000);
        await settled();
      }
      expect(await control.show()).toMatchObject({ home: "us", isOpen: true });
      expect(await ask(1)).toMatchObject({ allowed: false, reason: "blocked" });
    });

    it("blocks no caller for what it is refused while the limit waits after a promotion", async () => {
      const { control, clock, events, ask } = await stand(across, { limit: "2/30s" });
      const pass = async (seconds: number) => {
        for (let second = 0; second < seconds; second++) {
          await ask(2);
          clock.advance(1_000);
          await settled();
        }
      };
      expect(await control.promote("us")).toMatchObject({ isPromoted: true });
      await pass(20);
      expect(await control.show()).toMatchObject({ home: "us", isOpen: true });
      expect(await ask(1)).toMatchObject({ allowed: false, reason: "limit" });
      expect(events).toEqual([]);
      await pass(30);
      await ask(10);
      await settled();
      expect(events).toMatchObject([{ kind: "escalated", rule: "login", key: KEY, level: 1 }]);
    });
  },
);
