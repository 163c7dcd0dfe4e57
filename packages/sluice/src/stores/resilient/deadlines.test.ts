import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Clock } from "../../base/clock.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { type Deadline, Deadlines, PENDING_MAX } from "./deadlines.js";

function setup(timeoutMs = 50) {
  const clock = new ManualClock(5_000_000);
  let timers = 0;
  let cancelled = 0;
  const counted: Clock = {
    now: () => clock.now(),
    after: (delayMs, task) => {
      timers++;
      const cancel = clock.after(delayMs, task);
      return () => {
        cancelled++;
        cancel();
      };
    },
  };
  const deadlines = new Deadlines(counted, timeoutMs, (seen) => seen);
  return { clock, deadlines, timers: () => timers, cancelled: () => cancelled };
}

describe("deadlines", () => {
  it("expire exactly when their time is over, and say what they waited for", () => {
    const { clock, deadlines } = setup();
    const seen: unknown[] = [];
    deadlines.add((failure) => seen.push(failure));
    clock.advance(49);
    expect(seen).toEqual([]);
    clock.advance(1);
    expect(seen).toEqual(["no answer within 50 ms"]);
  });

  it("each expire at their own time, in the order they came, unless they were ended", () => {
    // At the very instant either may come first.
    const endings = fc.nat(80).filter((endMs) => endMs !== 50);
    const waits = fc.array(fc.record({ afterMs: fc.nat(30), endMs: fc.option(endings) }));
    fc.assert(
      fc.property(waits, (requests) => {
        const { clock, deadlines } = setup();
        const startMs = clock.now();
        const expired: [number, number][] = [];
        const expected: [number, number][] = [];
        let atMs = 0;
        for (const [i, { afterMs, endMs }] of requests.entries()) {
          atMs += afterMs;
          let deadline: Deadline;
          clock.after(atMs, () => {
            deadline = deadlines.add(() => expired.push([i, clock.now() - startMs]));
          });
          if (endMs !== null) {
            clock.after(atMs + endMs, () => expect(deadlines.end(deadline)).toBe(endMs < 50));
          }
          if (endMs === null || endMs >= 50) expected.push([i, atMs + 50]);
        }
        clock.advance(10_000);
        expect(expired).toEqual(expected);
      }),
    );
  });

  it("need one timer for all, not one each", () => {
    const { clock, deadlines, timers } = setup();
    for (let i = 0; i < 1_000; i++) {
      deadlines.end(deadlines.add(() => {}));
      deadlines.add(() => {});
    }
    clock.advance(50);
    expect(timers()).toBe(1);
  });

  it("run no timer while no request waits", () => {
    const { clock, deadlines, timers } = setup();
    deadlines.end(deadlines.add(() => {}));
    clock.advance(10_000);
    expect(timers()).toBe(1);
  });

  it("can be ended once, and not after they expired", () => {
    const { clock, deadlines } = setup();
    const [one, other] = [deadlines.add(() => {}), deadlines.add(() => {})];
    expect(deadlines.end(one)).toBe(true);
    expect(deadlines.end(one)).toBe(false);
    clock.advance(50);
    expect(deadlines.end(other)).toBe(false);
  });

  it("let answers in first that came while the process was busy", async () => {
    const ran: string[] = [];
    let nowMs = 1_000;
    let fire = () => {};
    const clock: Clock = {
      now: () => nowMs,
      after: (_delayMs, task) => {
        fire = task;
        return () => {};
      },
    };
    const deadlines = new Deadlines(clock, 50, (seen) => seen);
    const answered = deadlines.add(() => ran.push("answered in time"));
    deadlines.add(() => ran.push("never answered"));
    nowMs += 200;
    fire();
    const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));
    // What was asked for in the busy turn goes out as it ends, and is answered in the next one.
    await endOfTurn();
    expect(ran).toEqual([]);
    deadlines.end(answered);
    await endOfTurn();
    expect(ran).toEqual(["never answered"]);
  });

  it("expire by their timer where the clock lags behind it", () => {
    let fire = () => {};
    const clock: Clock = {
      now: () => 1_000,
      after: (_delayMs, task) => {
        fire = task;
        return () => {};
      },
    };
    let expired = 0;
    new Deadlines(clock, 50, (seen) => seen).add(() => expired++);
    fire();
    expect(expired).toBe(1);
  });

  it("all expire together when asked, and what is added meanwhile waits its own time", () => {
    const { clock, deadlines } = setup();
    const seen: unknown[] = [];
    deadlines.add((failure) => {
      seen.push(failure);
      deadlines.add((next) => seen.push(next));
    });
    deadlines.expireAll("over");
    expect(seen).toEqual(["over"]);
    clock.advance(50);
    expect(seen).toEqual(["over", "no answer within 50 ms"]);
  });

  it("leave no timer behind when all are expired", () => {
    const { deadlines, cancelled } = setup();
    deadlines.add(() => {});
    deadlines.expireAll("over");
    expect(cancelled()).toBe(1);
  });

  it("are bounded in number", () => {
    const { deadlines } = setup();
    for (let i = 0; i < PENDING_MAX - 1; i++) deadlines.add(() => {});
    expect(deadlines.isFull).toBe(false);
    const last = deadlines.add(() => {});
    expect(deadlines.isFull).toBe(true);
    deadlines.end(last);
    expect(deadlines.isFull).toBe(false);
  });
});
