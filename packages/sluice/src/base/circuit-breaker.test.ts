import { describe, expect, it } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import { Breaker, NO_TICKET, OPEN_MS_MAX } from "./circuit-breaker.js";

function setup({ failuresMax = 3, openMs = 1_000 } = {}) {
  const clock = new ManualClock(5_000_000);
  const events: string[] = [];
  const breaker = new Breaker({
    clock,
    failuresMax,
    openMs,
    onOpen: (failure) => events.push(`open: ${failure}`),
    onClose: () => events.push("close"),
  });
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) breaker.fail(breaker.ask(), `failure ${i + 1}`);
  };
  return { clock, breaker, events, fail };
}

describe("a closed breaker", () => {
  it("opens after failuresMax failures in a row and reports the last", () => {
    const { breaker, events, fail } = setup();
    fail(2);
    expect(breaker.state).toBe("closed");
    fail(1);
    expect(breaker.state).toBe("open");
    expect(events).toEqual(["open: failure 1"]);
    expect(breaker.failure).toBe("failure 1");
  });

  it("starts counting again after a success", () => {
    const { breaker, fail } = setup();
    fail(2);
    breaker.succeed(breaker.ask());
    fail(2);
    expect(breaker.state).toBe("closed");
  });

  it("learns nothing from a request that was abandoned", () => {
    const { breaker, fail } = setup();
    fail(2);
    breaker.abandon(breaker.ask());
    fail(1);
    expect(breaker.state).toBe("open");
  });
});

describe("an open breaker", () => {
  it("gives no ticket for openMs, then exactly one", () => {
    const { clock, breaker, fail } = setup();
    fail(3);
    clock.advance(999);
    expect(breaker.ask()).toBe(NO_TICKET);
    expect(breaker.retryAfterMs).toBe(1);
    clock.advance(1);
    expect(breaker.ask()).not.toBe(NO_TICKET);
    expect(breaker.state).toBe("half-open");
    for (let i = 0; i < 10; i++) expect(breaker.ask()).toBe(NO_TICKET);
    expect(breaker.retryAfterMs).toBe(1);
  });

  it("is not kept open by a trial that does not end: others follow, each after twice the time", () => {
    const { clock, breaker, events, fail } = setup();
    fail(3);
    clock.advance(1_000);
    const first = breaker.ask();
    for (const waitMs of [1_000, 2_000, 4_000, 8_000, OPEN_MS_MAX, OPEN_MS_MAX]) {
      clock.advance(waitMs - 1);
      expect([breaker.isShut, breaker.ask()]).toEqual([true, NO_TICKET]);
      clock.advance(1);
      expect([breaker.isShut, breaker.ask()]).toEqual([false, first]);
      expect(breaker.ask()).toBe(NO_TICKET);
    }
    expect(events).toHaveLength(1);
    // Late, but an answer.
    breaker.succeed(first);
    expect(breaker.state).toBe("closed");
  });

  it("stays open if the first of several trials to end failed, and trusts the others no more", () => {
    const { clock, breaker, fail } = setup();
    fail(3);
    clock.advance(1_000);
    breaker.ask();
    clock.advance(1_000);
    const ticket = breaker.ask();
    breaker.fail(ticket, "slow");
    expect([breaker.state, breaker.retryAfterMs]).toEqual(["open", 4_000]);
    breaker.succeed(ticket);
    expect(breaker.state).toBe("open");
  });

  it("closes when its trial succeeds, and says so once", () => {
    const { clock, breaker, events, fail } = setup();
    fail(3);
    clock.advance(1_000);
    const ticket = breaker.ask();
    breaker.succeed(ticket);
    breaker.succeed(ticket);
    expect(breaker.state).toBe("closed");
    expect(events).toEqual(["open: failure 3", "close"]);
    fail(2);
    expect(breaker.state).toBe("closed");
  });

  it("waits twice as long after each trial that fails, up to a bound, and as before once it closed", () => {
    const { clock, breaker, events, fail } = setup();
    fail(3);
    const waits: number[] = [];
    for (let i = 0; i < 6; i++) {
      waits.push(breaker.retryAfterMs);
      clock.advance(breaker.retryAfterMs);
      breaker.fail(breaker.ask(), "again");
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, OPEN_MS_MAX, OPEN_MS_MAX]);
    expect(events).toHaveLength(1);
    clock.advance(OPEN_MS_MAX);
    breaker.succeed(breaker.ask());
    fail(3);
    expect(breaker.retryAfterMs).toBe(1_000);
  });

  it("keeps an openMs that is longer than the bound", () => {
    const { clock, breaker, fail } = setup({ openMs: 60_000 });
    fail(3);
    clock.advance(60_000);
    breaker.fail(breaker.ask(), "again");
    expect(breaker.retryAfterMs).toBe(60_000);
  });

  it("lets the next request try when a trial was abandoned", () => {
    const { clock, breaker, fail } = setup();
    fail(3);
    clock.advance(1_000);
    breaker.abandon(breaker.ask());
    expect(breaker.state).toBe("open");
    expect(breaker.ask()).not.toBe(NO_TICKET);
  });

  it("trusts no answer to a question from before it opened", () => {
    const { clock, breaker, events, fail } = setup();
    const old = breaker.ask();
    fail(3);
    breaker.succeed(old);
    expect(breaker.state).toBe("open");
    clock.advance(1_000);
    breaker.ask();
    breaker.succeed(old);
    breaker.fail(old, "old");
    breaker.abandon(old);
    expect(breaker.state).toBe("half-open");
    expect(events).toHaveLength(1);
  });

  it("is not shut for longer by a clock that is set back", () => {
    const { clock, breaker, fail } = setup();
    fail(3);
    clock.advance(-3_600_000);
    expect(breaker.retryAfterMs).toBe(1_000);
    clock.advance(1_000);
    expect(breaker.ask()).not.toBe(NO_TICKET);
  });
});
