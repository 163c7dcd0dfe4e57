import { describe, expect, it } from "vitest";
import { RemoteStore } from "../../test/remote-store.js";
import { concurrency, fixedWindow } from "../limits/limits.js";
import { memoryStore } from "../stores/memory/memory-store.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createLimiter } from "./limiter.js";
import type { EscalationEvent } from "./limiter-options.js";

const START_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const ESCALATE = { after: "3 refusals in 1m", blocks: ["1m", "10m"], forget: "1h" };
const HOURLY = fixedWindow({ limit: 1, windowMs: 60 * MINUTE_MS });

function setUp(options: object = {}) {
  const clock = new ManualClock(START_MS);
  const events: EscalationEvent[] = [];
  const onEscalation = (event: EscalationEvent) => events.push(event);
  const limiter = createLimiter({
    limit: HOURLY,
    clock,
    escalate: ESCALATE,
    onEscalation,
    ...options,
  });
  const ask = (count: number, key = "k") => {
    let latest = limiter.check(key);
    for (let i = 1; i < count; i++) latest = limiter.check(key);
    return latest;
  };
  return { clock, events, limiter, ask };
}

describe("a limiter with escalate", () => {
  it("blocks a key at the last refusal that its terms allow, for longer each time", () => {
    const { ask, clock, events, limiter } = setUp();
    expect(ask(3).blockedMs).toBeUndefined();
    expect(events).toEqual([]);
    ask(1);
    expect(events).toEqual([{ kind: "escalated", key: "k", level: 1, blockMs: MINUTE_MS }]);
    expect(ask(20)).toMatchObject({ allowed: false, blockedMs: MINUTE_MS });
    expect(limiter.check("other").allowed).toBe(true);
    clock.advance(MINUTE_MS);
    ask(3);
    expect(ask(1)).toMatchObject({ blockedMs: 10 * MINUTE_MS });
    expect(events).toHaveLength(2);
  });

  it("forgets the level when an operator ends the block, and not when the key is reset", () => {
    const { ask, clock, events, limiter } = setUp();
    ask(4);
    limiter.reset("k");
    expect(limiter.check("k")).toMatchObject({ allowed: false, blockedMs: MINUTE_MS });
    expect(limiter.unblock("k")).toBe(true);
    ask(4);
    expect(events.at(-1)).toMatchObject({ level: 1 });
    clock.advance(MINUTE_MS);
    ask(3);
    expect(events.at(-1)).toMatchObject({ level: 2 });
  });

  it("counts refusals of reserve and acquire", () => {
    const { limiter, events } = setUp();
    for (let i = 0; i < 4; i++) limiter.reserve("k");
    expect(events).toMatchObject([{ kind: "escalated", level: 1 }]);
    const { limiter: places, events: others } = setUp({
      limit: concurrency({ limit: 1, permitMs: MINUTE_MS }),
    });
    for (let i = 0; i < 4; i++) places.acquire("k");
    expect(others).toMatchObject([{ kind: "escalated", level: 1 }]);
  });

  it("does not block a key whose refusals don't come within the window", () => {
    const { ask, clock, events } = setUp();
    ask(3);
    clock.advance(MINUTE_MS);
    ask(2);
    expect(events).toEqual([]);
  });

  it("shares levels and blocks with limiters of its name over one store", () => {
    const store = memoryStore();
    const [one, other] = [setUp({ store, name: "login" }), setUp({ store, name: "login" })];
    one.ask(4);
    expect(other.ask(1)).toMatchObject({ blockedMs: MINUTE_MS });
    one.limiter.close();
    other.limiter.close();
  });

  it("does not count what peek and wait meet, nor a cost that is refused by a fallback", async () => {
    const { limiter, events, ask, clock } = setUp();
    ask(1);
    for (let i = 0; i < 10; i++) {
      limiter.peek("k");
      expect(await limiter.wait("k", { timeoutMs: 10 })).toMatchObject({ allowed: false });
    }
    const store = new RemoteStore();
    const remote = createLimiter({
      limit: HOURLY,
      store,
      clock,
      escalate: ESCALATE,
      onStoreFailure: "closed",
      onEscalation: (event) => events.push(event),
    });
    store.failing.add("decide");
    for (let i = 0; i < 10; i++) expect((await remote.check("k")).source).toBe("fallback");
    await remote.close();
    expect(events).toEqual([]);
  });

  it("reports that its store took no report, and goes on", async () => {
    const failing = () => Promise.reject(new Error("the network is down"));
    const store = Object.assign(new RemoteStore(), { escalate: failing });
    const { limiter, events } = setUp({ store });
    for (let i = 0; i < 5; i++) expect((await limiter.check("k")).allowed).toBe(i === 0);
    await expect.poll(() => events).toMatchObject([{ kind: "escalate-failed" }]);
    await limiter.close();
  });

  it.each([
    [{ escalate: { after: "often", blocks: ["1m"] } }, "escalate.after must be a phrase such as"],
    [{ escalate: { after: "2 refusals in 1m", blocks: ["2m", "1m"] } }, "shorter than the block"],
    [
      { store: Object.assign(memoryStore(), { escalate: undefined }) },
      "needs a store with escalate()",
    ],
  ])("refuses %j", (options, problem) => {
    expect(() => setUp(options)).toThrow(problem);
  });
});
